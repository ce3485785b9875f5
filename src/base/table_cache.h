/*-------------------------------------------------------------------------
 *
 * table_cache.h
 *		A session's cache of a configuration table.
 *
 *		from: policy.c, limit_rules.c, allowed.c
 *
 * A session reads the table at first use, and again after a change.  A change
 * arrives as an invalidation, like one of a system catalog.  A change of our
 * own counts from the next command on, and one of another session from its
 * commit.  A change that is rolled back is forgotten.
 *
 * Reading is a scan without a statement: it needs no rights of the caller, and
 * the first add_task() of a session plans nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_CACHE_H
#define TWT_TABLE_CACHE_H

#include "access/htup.h"
#include "access/tupdesc.h"

#include "base/shape.h"

typedef struct CachedRows
{
	TupleDesc	desc;
	HeapTuple  *rows;
	int			n;
} CachedRows;

typedef struct CachedTable
{
	const Shape *shape;			/* by number */

	/*
	 * Takes over the rows, in no order.  All that the reader allocates lives
	 * until the table is read again; the rows do not.
	 */
	void		(*read) (const CachedRows *rows);
} CachedTable;

typedef struct TableCache TableCache;

/* Makes a cache, for the life of the process; from _PG_init(). */
extern TableCache *table_cache_new(const CachedTable *table);

/*
 * Reads the table unless it was read since its last change.  The cache sees
 * everything committed by now, however old the transaction's snapshot is.  If
 * reading raises an error, the next call reads again.
 */
extern void table_cache_refresh(TableCache *cache);

/* Reads a column, by its number, of row i.  Any type has a text; NULL: null. */
extern char *cached_text(const CachedRows *rows, int i, int column);

/* The same for an integer of any width; unset: null. */
extern int64 cached_int(const CachedRows *rows, int i, int column, int64 unset);

/* The same for any type; NULL: null.  It points into the row. */
extern void *cached_pointer(const CachedRows *rows, int i, int column);

#endif							/* TWT_TABLE_CACHE_H */
