/*-------------------------------------------------------------------------
 *
 * table_cache.c
 *		A session's cache of the configuration tables.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/rows.h"
#include "base/table_cache.h"

struct TableCache
{
	const CachedTable *tables;
	int			n;
	MemoryContext context;		/* for the copies of rows */
	bool		is_current;
	uint64		generation;		/* grows with each change */
	Oid			oids[FLEXIBLE_ARRAY_MEMBER];	/* the tables' */
};

/* An invalidation may come at any moment, also while we read. */
static void
on_relation_changed(Datum arg, Oid relation)
{
	TableCache *cache = (TableCache *) DatumGetPointer(arg);
	bool		is_ours = !OidIsValid(relation);

	for (int i = 0; i < cache->n && !is_ours; i++)
		is_ours = relation == cache->oids[i];
	if (!is_ours)
		return;
	cache->is_current = false;
	cache->generation++;
}

TableCache *
table_cache_new(const char *name, const CachedTable *tables, int n)
{
	TableCache *cache = MemoryContextAllocZero(TopMemoryContext,
											   offsetof(TableCache, oids) + n * sizeof(Oid));

	cache->tables = tables;
	cache->n = n;
	cache->context = AllocSetContextCreate(TopMemoryContext, "twtasks table cache",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSetIdentifier(cache->context, name);
	CacheRegisterRelcacheCallback(on_relation_changed, PointerGetDatum(cache));
	return cache;
}

static Oid
owner_of(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

static void
read_tables(TableCache *cache)
{
	plan_begin();
	MemoryContextReset(cache->context);
	for (int i = 0; i < cache->n; i++)
	{
		MemoryContext caller;

		plan_read(cache->tables[i].plan);
		caller = MemoryContextSwitchTo(cache->context);
		cache->tables[i].read();
		MemoryContextSwitchTo(caller);
	}
	SPI_finish();
}

/* Reads the tables as their owner; an error restores the user. */
static void
read_as_owner(TableCache *cache)
{
	Oid			save_user;
	int			save_context;

	for (int i = 0; i < cache->n; i++)
		cache->oids[i] = rows_relation(cache->tables[i].name);
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(owner_of(cache->oids[0]), save_context | SECURITY_LOCAL_USERID_CHANGE);
	read_tables(cache);
	SetUserIdAndSecContext(save_user, save_context);
}

/* Reads again when a change arrived meanwhile, since we may have missed it. */
void
table_cache_refresh(TableCache *cache)
{
	while (unlikely(!cache->is_current))
	{
		uint64		before = cache->generation;

		read_as_owner(cache);
		cache->is_current = cache->generation == before;
	}
}

char *
cached_text(HeapTuple row, int column)
{
	return SPI_getvalue(row, SPI_tuptable->tupdesc, column);
}

int64
cached_int8(HeapTuple row, int column, int64 unset)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? unset : DatumGetInt64(value);
}
