/*-------------------------------------------------------------------------
 *
 * table_cache.h
 *		A session's cache of the configuration tables.
 *
 *		from: policy.c, limit_rules.c, allowed.c
 *
 * A session reads the tables at first use, and again after a change.  A change
 * arrives as an invalidation, like one of a system catalog.  A change of our
 * own counts from the next command on, and one of another session from its
 * commit.  A change that is rolled back is forgotten.
 *
 * The tables are read as their owner, so the caller needs no rights.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_CACHE_H
#define TWT_TABLE_CACHE_H

#include "base/plan.h"

typedef struct CachedTable
{
	const char *name;			/* in schema twtasks */
	PlanId		plan;			/* for plan_read() */

	/*
	 * Takes over the rows, which are in SPI_tuptable.  All that the reader
	 * allocates lives until the tables are read again.
	 */
	void		(*read) (void);
} CachedTable;

typedef struct TableCache TableCache;

/*
 * Makes a cache, for the life of the process; from _PG_init().  Each change of
 * one table makes the cache read all of them, in their order.
 */
extern TableCache *table_cache_new(const char *name, const CachedTable *tables, int n);

/*
 * Reads the tables unless they were read since their last change.  If reading
 * raises an error, the next call reads again.
 */
extern void table_cache_refresh(TableCache *cache);

/* Reads a column of a row.  A null becomes NULL, or unset. */
extern char *cached_text(HeapTuple row, int column);
extern int64 cached_int8(HeapTuple row, int column, int64 unset);

#endif							/* TWT_TABLE_CACHE_H */
