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
	RegProcedure equal;
	RegProcedure greater;
}			compare[] = {
	{C_COLLATION_OID, F_TEXTEQ, F_TEXT_GT},
	{C_COLLATION_OID, F_TEXTEQ, F_TEXT_GT},
	{InvalidOid, F_INT2EQ, F_INT2GT},
	{InvalidOid, F_UUID_EQ, F_UUID_GT},
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
queued_scan(const Queued *queued, const Datum *values, int columns, bool beyond)
{
	ScanKeyData keys[lengthof(compare)];
	IndexScanDesc scan = twt_index_beginscan(queued->table, queued->index,
											 GetActiveSnapshot(), columns);

	for (int i = 0; i < columns; i++)
	{
		bool		greater = beyond && i == columns - 1;

		ScanKeyEntryInitialize(&keys[i], 0, i + 1,
							   greater ? BTGreaterStrategyNumber : BTEqualStrategyNumber,
							   InvalidOid, compare[i].collation,
							   greater ? compare[i].greater : compare[i].equal, values[i]);
	}
	scan->xs_want_itup = queued->shows_index;
	index_rescan(scan, keys, columns, NULL, 0);
	return scan;
}
