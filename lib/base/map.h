/*-------------------------------------------------------------------------
 *
 * map.h
 *		A map whose keys are names, or byte strings of one length.
 *
 * Keys and values belong to the caller.  A key must stay where it is until its
 * value leaves the map.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MAP_H
#define TWT_MAP_H

typedef struct Map Map;

/* Keys have key_len bytes; 0: keys are names that end with a NUL. */
extern Map *map_new(int key_len);
extern void map_free(Map *map);

/* Returns NULL if the map does not have the key. */
extern void *map_get(const Map *map, const void *key);

/* Replaces the key and value of an entry with an equal key. */
extern void map_set(Map *map, const void *key, void *value);
extern void map_remove(Map *map, const void *key);
extern void map_clear(Map *map);
extern int	map_count(const Map *map);

/*
 * Iterates over all values in no particular order: start with *place = 0 and
 * stop at NULL.  The map must not change meanwhile.
 */
extern void *map_next(const Map *map, uint64 *place);

#endif							/* TWT_MAP_H */
