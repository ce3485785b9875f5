/*-------------------------------------------------------------------------
 *
 * table_cache.c
 *		A session's cache of a configuration table.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "access/tableam.h"
#include "executor/spi.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/rows.h"
#include "base/table_cache.h"

struct TableCache
{
	TableCache *next;
	const CachedTable *table;
	MemoryContext context;		/* for what the reader keeps */
	bool		is_current;
	uint64		generation;		/* grows with each change */
	Oid			oid;			/* the table's */
};

static TableCache *caches = NULL;

/* An invalidation may come at any moment, also while we read. */
static void
on_relation_changed(Datum arg, Oid relation)
{
	for (TableCache *cache = caches; cache != NULL; cache = cache->next)
	{
		if (OidIsValid(relation) && relation != cache->oid)
			continue;
		cache->is_current = false;
		cache->generation++;
	}
}

TableCache *
table_cache_new(const CachedTable *table)
{
	TableCache *cache = MemoryContextAllocZero(TopMemoryContext, sizeof(TableCache));

	/* The server has few places for callbacks. */
	if (caches == NULL)
		CacheRegisterRelcacheCallback(on_relation_changed, (Datum) 0);
	cache->table = table;
	cache->context = AllocSetContextCreate(TopMemoryContext, "twtasks table cache",
										   ALLOCSET_SMALL_SIZES);
	MemoryContextSetIdentifier(cache->context, table->shape->name);
	cache->next = caches;
	caches = cache;
	return cache;
}

static void
gather_rows(Relation relation, Snapshot snapshot, CachedRows *rows)
{
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	int			room = 16;

	rows->rows = palloc(room * sizeof(HeapTuple));
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		if (rows->n == room)
			rows->rows = repalloc(rows->rows, (room *= 2) * sizeof(HeapTuple));
		rows->rows[rows->n++] = ExecCopySlotHeapTuple(slot);
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

static void
read_table(TableCache *cache)
{
	MemoryContext gathered = AllocSetContextCreate(CurrentMemoryContext, "twtasks table rows",
												   ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(gathered);
	Snapshot	snapshot;
	Relation	relation;
	CachedRows	rows = {0};

	cache->oid = rows_relation(cache->table->shape->name);
	relation = table_open(cache->oid, AccessShareLock);
	shape_check(cache->table->shape, relation);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	rows.desc = RelationGetDescr(relation);
	gather_rows(relation, snapshot, &rows);
	MemoryContextReset(cache->context);
	MemoryContextSwitchTo(cache->context);
	cache->table->read(&rows);
	MemoryContextSwitchTo(caller);
	table_close(relation, AccessShareLock);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(gathered);
}

/* Reads again when a change arrived meanwhile, since we may have missed it. */
void
table_cache_refresh(TableCache *cache)
{
	while (unlikely(!cache->is_current))
	{
		uint64		before = cache->generation;

		read_table(cache);
		cache->is_current = cache->generation == before;
	}
}

char *
cached_text(const CachedRows *rows, int i, int column)
{
	return SPI_getvalue(rows->rows[i], rows->desc, column);
}

int64
cached_int(const CachedRows *rows, int i, int column, int64 unset)
{
	bool		isnull;
	Datum		value = SPI_getbinval(rows->rows[i], rows->desc, column, &isnull);

	if (isnull)
		return unset;
	switch (TupleDescAttr(rows->desc, column - 1)->attlen)
	{
		case sizeof(int16):
			return DatumGetInt16(value);
		case sizeof(int32):
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

void *
cached_pointer(const CachedRows *rows, int i, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(rows->rows[i], rows->desc, column, &isnull);

	return isnull ? NULL : DatumGetPointer(value);
}
