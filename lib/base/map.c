/*-------------------------------------------------------------------------
 *
 * map.c
 *		A map whose keys are names, or byte strings of one length.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "base/map.h"

struct Map
{
	struct entries_hash *entries;
	int			key_len;		/* 0: keys are names */
};

typedef struct MapEntry
{
	const void *key;
	void	   *value;
	uint32		hash;
	char		status;			/* 0: empty */
} MapEntry;

static inline uint32
hash_key(const Map *map, const void *key)
{
	return hash_bytes(key, map->key_len > 0 ? map->key_len : (int) strlen(key));
}

static inline bool
are_equal(const Map *map, const void *a, const void *b)
{
	return map->key_len > 0 ? memcmp(a, b, map->key_len) == 0 : strcmp(a, b) == 0;
}

#define SH_PREFIX entries
#define SH_ELEMENT_TYPE MapEntry
#define SH_KEY_TYPE const void *
#define SH_KEY key
#define SH_HASH_KEY(tb, key) hash_key((tb)->private_data, key)
#define SH_EQUAL(tb, a, b) are_equal((tb)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

Map *
map_new(int key_len)
{
	Map		   *map = palloc(sizeof(Map));

	map->key_len = key_len;
	map->entries = entries_create(16, map);
	return map;
}

void
map_free(Map *map)
{
	entries_destroy(map->entries);
	pfree(map);
}

void *
map_get(const Map *map, const void *key)
{
	const MapEntry *entry = entries_lookup(map->entries, key);

	return entry == NULL ? NULL : entry->value;
}

void
map_set(Map *map, const void *key, void *value)
{
	bool		found;
	MapEntry   *entry = entries_insert(map->entries, key, &found);

	entry->key = key;
	entry->value = value;
}

void
map_remove(Map *map, const void *key)
{
	entries_delete(map->entries, key);
}

void
map_clear(Map *map)
{
	entries_reset(map->entries);
}

int
map_count(const Map *map)
{
	return (int) map->entries->members;
}

void *
map_next(const Map *map, uint64 *place)
{
	while (*place < map->entries->size)
	{
		const MapEntry *entry = &map->entries->data[(*place)++];

		if (entry->status != 0)
			return entry->value;
	}
	return NULL;
}
