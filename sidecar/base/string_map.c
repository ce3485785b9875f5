/*-------------------------------------------------------------------------
 *
 * string_map.c
 *		Values by name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "base/string_map.h"

typedef struct MapEntry
{
	const char *name;
	void	   *value;
	uint32		hash;
	char		status;			/* 0: empty */
} MapEntry;

#define SH_PREFIX entries
#define SH_ELEMENT_TYPE MapEntry
#define SH_KEY_TYPE const char *
#define SH_KEY name
#define SH_HASH_KEY(tb, key) hash_bytes((const uint8 *) key, strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct StringMap
{
	entries_hash *entries;
};

StringMap *
string_map_new(void)
{
	StringMap  *map = palloc(sizeof(StringMap));

	map->entries = entries_create(16, NULL);
	return map;
}

void
string_map_free(StringMap *map)
{
	entries_destroy(map->entries);
	pfree(map);
}

void *
string_map_get(const StringMap *map, const char *name)
{
	const MapEntry *entry = entries_lookup(map->entries, name);

	return entry == NULL ? NULL : entry->value;
}

void
string_map_add(StringMap *map, const char *name, void *value)
{
	bool		found;

	entries_insert(map->entries, name, &found)->value = value;
	Assert(!found);
}

void
string_map_remove(StringMap *map, const char *name)
{
	entries_delete(map->entries, name);
}

void
string_map_clear(StringMap *map)
{
	entries_reset(map->entries);
}

int
string_map_count(const StringMap *map)
{
	return (int) map->entries->members;
}

void *
string_map_next(const StringMap *map, uint64 *place)
{
	while (*place < map->entries->size)
	{
		const MapEntry *entry = &map->entries->data[(*place)++];

		if (entry->status != 0)
			return entry->value;
	}
	return NULL;
}
