/*-------------------------------------------------------------------------
 *
 * queued.c
 *		The index of runnable tasks: task_queued.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_collation.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "base/rows.h"
#include "table/queued.h"

static const struct
{
	Oid			collation;
	RegProcedure functions[QUEUED_FROM + 1];
}			compare[] = {
	{C_COLLATION_OID, {F_TEXTEQ, F_TEXT_GT, F_TEXT_GE}},
	{C_COLLATION_OID, {F_TEXTEQ, F_TEXT_GT, F_TEXT_GE}},
	{InvalidOid, {F_INT2EQ, F_INT2GT, F_INT2GE}},
	{InvalidOid, {F_UUID_EQ, F_UUID_GT, F_UUID_GE}},
};

static const StrategyNumber strategies[] = {
	BTEqualStrategyNumber, BTGreaterStrategyNumber, BTGreaterEqualStrategyNumber
};

void
queued_open(Queued *queued)
{
	queued->table = table_open(rows_relation("task"), AccessShareLock);
	shape_check(&task_shape, queued->table);
	queued->index = index_open(rows_relation("task_queued"), AccessShareLock);
	queued->row = table_slot_create(queued->table, NULL);
}

void
queued_close(Queued *queued)
{
	ExecDropSingleTupleTableSlot(queued->row);
	index_close(queued->index, AccessShareLock);
	table_close(queued->table, AccessShareLock);
}

IndexScanDesc
queued_scan(const Queued *queued, const Datum *values, int columns, QueuedFrom how)
{
	ScanKeyData keys[lengthof(compare)];
	IndexScanDesc scan = twt_index_beginscan(queued->table, queued->index,
											 GetActiveSnapshot(), columns);

	for (int i = 0; i < columns; i++)
	{
		QueuedFrom	column = i == columns - 1 ? how : QUEUED_EXACTLY;

		ScanKeyEntryInitialize(&keys[i], 0, i + 1, strategies[column], InvalidOid,
							   compare[i].collation, compare[i].functions[column], values[i]);
	}
	scan->xs_want_itup = queued->shows_index;
	index_rescan(scan, keys, columns, NULL, 0);
	return scan;
}
