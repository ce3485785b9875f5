/*-------------------------------------------------------------------------
 *
 * string_map.h
 *		Values by name.
 *
 * Names and values belong to the caller.  A name must stay where it is until
 * its value leaves the map.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STRING_MAP_H
#define TWT_STRING_MAP_H

typedef struct StringMap StringMap;

extern StringMap *string_map_new(void);
extern void string_map_free(StringMap *map);

/* NULL: there is none. */
extern void *string_map_get(const StringMap *map, const char *name);

/* The map has no value of that name yet. */
extern void string_map_add(StringMap *map, const char *name, void *value);
extern void string_map_remove(StringMap *map, const char *name);
extern void string_map_clear(StringMap *map);
extern int	string_map_count(const StringMap *map);

/*
 * Walks through all values in no order, from *place = 0 until NULL.  The map
 * must not change meanwhile.
 */
extern void *string_map_next(const StringMap *map, uint64 *place);

#endif							/* TWT_STRING_MAP_H */
