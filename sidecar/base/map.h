/*-------------------------------------------------------------------------
 *
 * map.h
 *		Values by key: by a name, or by bytes of one length.
 *
 * Keys and values belong to the caller.  A key must stay where it is until its
 * value leaves the map.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MAP_H
#define TWT_MAP_H

typedef struct Map Map;

/* Keys have so many bytes; 0: they are names, and end with a NUL. */
extern Map *map_new(int key_len);
extern void map_free(Map *map);

/* NULL: there is none. */
extern void *map_get(const Map *map, const void *key);

/* Takes the place of a value and key that are equal. */
extern void map_set(Map *map, const void *key, void *value);
extern void map_remove(Map *map, const void *key);
extern void map_clear(Map *map);
extern int	map_count(const Map *map);

/*
 * Walks through all values in no order, from *place = 0 until NULL.  The map
 * must not change meanwhile.
 */
extern void *map_next(const Map *map, uint64 *place);

#endif							/* TWT_MAP_H */
