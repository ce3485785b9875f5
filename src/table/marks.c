/*-------------------------------------------------------------------------
 *
 * marks.c
 *		Where sweep_tasks() goes on in types that it has read before.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/rows.h"
#include "table/marks.h"

static int
compare_marks(const void *a, const void *b)
{
	return strcmp(((const Mark *) a)->type, ((const Mark *) b)->type);
}

const Mark *
marks_of(const Marks *marks, const char *type)
{
	Mark		key = {.type = unconstify(char *, type)};

	return marks->n == 0 ? NULL :
		bsearch(&key, marks->each, marks->n, sizeof(Mark), compare_marks);
}

static void
add_mark(Marks *marks, const Queued *queued, Relation pkey, Datum id)
{
	IndexScanDesc scan = twt_index_beginscan(queued->table, pkey, GetActiveSnapshot(), 1);
	ScanKeyData key;

	ScanKeyEntryInitialize(&key, 0, 1, BTEqualStrategyNumber, InvalidOid, InvalidOid, F_UUID_EQ, id);
	index_rescan(scan, &key, 1, NULL, 0);
	if (index_getnext_slot(scan, ForwardScanDirection, queued->row))
	{
		Mark	   *mark = &marks->each[marks->n++];

		slot_getsomeattrs(queued->row, TASK_TYPE);
		mark->type = TextDatumGetCString(row_value(queued->row, TASK_TYPE));
		mark->priority = row_value(queued->row, TASK_PRIORITY);
		mark->id = id;
	}
	index_endscan(scan);
}

void
marks_read(Marks *marks, const Queued *queued, const Elements *ids)
{
	Relation	pkey;

	if (ids->n == 0)
		return;
	marks->each = palloc(ids->n * sizeof(Mark));
	pkey = index_open(rows_relation("task_pkey"), AccessShareLock);
	for (int i = 0; i < ids->n; i++)
		if (!ids->nulls[i])
			add_mark(marks, queued, pkey, ids->values[i]);
	index_close(pkey, AccessShareLock);
	qsort(marks->each, marks->n, sizeof(Mark), compare_marks);
}
