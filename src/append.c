/*-------------------------------------------------------------------------
 *
 * append.c
 *		Many new rows for one table, a page at a time.
 *
 * As COPY does it: rows are gathered, one WAL record holds those of a page,
 * then the indexes get their entries; compare copyfrom.c.
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "rows.h"

/* Written when so many rows or bytes have come together. */
#define APPEND_ROWS 256
#define APPEND_BYTES (512 * 1024)

struct Appender
{
	MemoryContext context;		/* of the gathered rows */
	EState	   *estate;
	ResultRelInfo *target;
	TupleTableSlot *slots[APPEND_ROWS];
	int			nslots;			/* made */
	int			n;				/* gathered */
	Size		bytes;
};

Appender *
append_open(Relation relation)
{
	Appender   *append = palloc0(sizeof(Appender));

	append->context = AllocSetContextCreate(CurrentMemoryContext,
											"twtasks append",
											ALLOCSET_DEFAULT_SIZES);
	append->estate = CreateExecutorState();
	append->target = makeNode(ResultRelInfo);
	/* 0: no range table */
	InitResultRelInfo(append->target, relation, 0, NULL, 0);
	ExecOpenIndices(append->target, false);
	return append;
}

void
append_row(Appender *append, Datum *values, bool *nulls)
{
	Relation	relation = append->target->ri_RelationDesc;
	MemoryContext old;
	HeapTuple	tuple;

	if (append->n == append->nslots)
		append->slots[append->nslots++] =
			MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsHeapTuple);
	old = MemoryContextSwitchTo(append->context);
	tuple = heap_form_tuple(RelationGetDescr(relation), values, nulls);
	MemoryContextSwitchTo(old);
	ExecStoreHeapTuple(tuple, append->slots[append->n++], false);
	append->bytes += tuple->t_len;
	if (append->n == APPEND_ROWS || append->bytes >= APPEND_BYTES)
		append_flush(append);
}

void
append_flush(Appender *append)
{
	Relation	relation = append->target->ri_RelationDesc;
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
		if (append->target->ri_NumIndices > 0)
			twt_insert_index_tuples(append->target, append->slots[i],
									append->estate, false, false);
		ResetPerTupleExprContext(append->estate);
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
	ExecCloseIndices(append->target);
	FreeExecutorState(append->estate);
	MemoryContextDelete(append->context);
	pfree(append);
}
