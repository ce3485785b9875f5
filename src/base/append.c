/*-------------------------------------------------------------------------
 *
 * append.c
 *		Many new rows for one table, a page at a time.
 *
 * We work as COPY does: we gather rows, write one WAL record for the rows of a
 * page, and then add the index entries; compare PostgreSQL's copyfrom.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/rows.h"
#include "base/target.h"

/* Gathered rows are written when there are this many rows or bytes. */
#define APPEND_ROWS 256
#define APPEND_BYTES (512 * 1024)

struct Appender
{
	MemoryContext context;		/* for the gathered rows */
	Relation	relation;
	Target	   *target;
	TupleTableSlot *given;		/* for a row that is not plain; NULL: none yet */
	TupleTableSlot *slots[APPEND_ROWS];
	int			nslots;			/* made */
	int			n;				/* gathered */
	Size		bytes;
};

Appender *
append_open(Relation relation, Relation whole, const Shape *shape)
{
	Appender   *append = palloc0(sizeof(Appender));

	append->context = AllocSetContextCreate(CurrentMemoryContext,
											"twtasks append",
											ALLOCSET_DEFAULT_SIZES);
	append->relation = relation;
	append->target = target_open(relation, whole, shape);
	return append;
}

const ShapeMap *
append_map(const Appender *append)
{
	return target_map(append->target);
}

/* The row with all that a statement would put in. */
static HeapTuple
form_full(Appender *append, Datum *values, bool *nulls)
{
	TupleDesc	desc = RelationGetDescr(append->relation);
	TupleTableSlot *row = append->given;
	int			n = desc->natts;
	MemoryContext old;
	HeapTuple	tuple;

	if (row == NULL)
		row = append->given = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	ExecClearTuple(row);
	memcpy(row->tts_values, values, n * sizeof(Datum));
	memcpy(row->tts_isnull, nulls, n * sizeof(bool));
	ExecStoreVirtualTuple(row);
	target_will_insert(append->target, row);
	old = MemoryContextSwitchTo(append->context);
	tuple = ExecCopySlotHeapTuple(row);
	MemoryContextSwitchTo(old);
	return tuple;
}

static HeapTuple
form(Appender *append, Datum *values, bool *nulls)
{
	MemoryContext old;
	HeapTuple	tuple;

	if (!append_map(append)->is_plain)
		return form_full(append, values, nulls);
	old = MemoryContextSwitchTo(append->context);
	tuple = heap_form_tuple(RelationGetDescr(append->relation), values, nulls);
	MemoryContextSwitchTo(old);
	return tuple;
}

void
append_row(Appender *append, Datum *values, bool *nulls)
{
	HeapTuple	tuple;

	if (append->n == append->nslots)
		append->slots[append->nslots++] =
			MakeSingleTupleTableSlot(RelationGetDescr(append->relation), &TTSOpsHeapTuple);
	tuple = form(append, values, nulls);
	ExecStoreHeapTuple(tuple, append->slots[append->n++], false);
	append->bytes += tuple->t_len;
	if (append->n == APPEND_ROWS || append->bytes >= APPEND_BYTES)
		append_flush(append);
}

void
append_flush(Appender *append)
{
	Relation	relation = append->relation;
	MemoryContext old;

	if (append->n == 0)
		return;
	old = MemoryContextSwitchTo(append->context);
	if (append->n == 1)
		table_tuple_insert(relation, append->slots[0], GetCurrentCommandId(true), 0, NULL);
	else
		table_multi_insert(relation, append->slots, append->n,
						   GetCurrentCommandId(true), 0, NULL);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < append->n; i++)
	{
		target_inserted(append->target, append->slots[i]);
		ExecClearTuple(append->slots[i]);
	}
	append->n = 0;
	append->bytes = 0;
	MemoryContextReset(append->context);
}

void
append_close(Appender *append)
{
	append_flush(append);
	for (int i = 0; i < append->nslots; i++)
		ExecDropSingleTupleTableSlot(append->slots[i]);
	if (append->given != NULL)
		ExecDropSingleTupleTableSlot(append->given);
	target_close(append->target);
	MemoryContextDelete(append->context);
	pfree(append);
}
