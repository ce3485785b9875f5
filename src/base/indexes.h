/*-------------------------------------------------------------------------
 *
 * indexes.h
 *		What a session knows of a table that it writes: columns and indexes.
 *
 *		from: target.c
 *
 * For a single row, opening a table's indexes and compiling their predicates
 * costs the executor more than writing the entries.  A session keeps what it
 * needs to know of each index, until an invalidation, and opens only those
 * that want an entry of the row.
 *
 * This works for B-tree indexes over columns, whose predicate is "column", "NOT
 * column" or "column IS NOT NULL", if there is one.  All of ours are such.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_INDEXES_H
#define TWT_INDEXES_H

#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "base/shape.h"

/* The most indexes of a table that we keep. */
#define INDEXES_MAX 8

typedef enum IndexCondition
{
	INDEX_ALWAYS,
	INDEX_IF_TRUE,
	INDEX_IF_FALSE,
	INDEX_IF_NOT_NULL
} IndexCondition;

typedef struct KnownIndex
{
	Oid			oid;
	IndexCondition condition;
	AttrNumber	column;			/* the one in the condition */
} KnownIndex;

typedef struct KnownTable
{
	Oid			oid;			/* InvalidOid: nothing is known */
	ShapeMap	map;			/* its columns */
	Oid			refused;		/* an index that we do not write; or none */
	bool		needs_executor; /* to write its indexes; else these are all: */
	int			nindexes;
	KnownIndex	index[INDEXES_MAX];
} KnownTable;

/* Registers the callback; once per process, from _PG_init(). */
extern void indexes_init(void);

/*
 * Copies what is known of a table, which the caller keeps open and locked.
 *
 * Errors: as shape_map()
 */
extern void known_table(Relation relation, const Shape *shape, KnownTable *known);

/* Whether the index wants an entry of the row. */
extern bool index_wants(const KnownIndex *index, TupleTableSlot *row);

/*
 * Writes the entry of a row, which has its place in it.
 *
 * Errors: 23505 of a unique index
 */
extern void index_write(Relation index, Relation table, TupleTableSlot *row);

#endif							/* TWT_INDEXES_H */
