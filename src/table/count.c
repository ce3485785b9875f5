/*-------------------------------------------------------------------------
 *
 * count.c
 *		count_queued() and late_queued(): samples of the tasks in the queue.
 *
 * Millions of tasks may be in the queue, and people look most often then.  So
 * we read only some tasks of each group.  A group is the tasks of one bucket,
 * type and priority; we read those with the smallest ids.  One descent of the
 * index skips the rest of a group, however large it is.
 *
 * Invariants
 *	- at most most_groups groups are seen, and at most cap tasks of each are read;
 *	- each group has SHARES tasks for certain; up to SHARES * cap tasks in all,
 *	  what small groups leave goes to the large ones;
 *	- late_queued() returns at most cap tasks, or one of each group.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/contract.h"
#include "base/rows.h"
#include "table/queued.h"

/* The total in units of cap, and the tasks of each group that are certain. */
#define SHARES 3

/* A small cap does not hide groups, unless the caller bounds them: each costs one descent. */
#define LEAST_GROUPS 10000

/* We read no column of the task beyond this one. */
#define LAST_READ TASK_SUB_TYPE

/* The tasks of a group in one status. */
typedef struct Tally
{
	int64		tasks;
	Datum		status;
	TimestampTz oldest;
	TimestampTz newest;
	int32		most_tries;
	int64		late;
	TimestampTz newest_late;
} Tally;

typedef struct TaskGroup
{
	text	   *bucket;
	text	   *type;
	int16		priority;
	pg_uuid_t	last;			/* the last task read */
	int64		tasks;			/* read */
	int64		late;			/* found by put_if_late() */
	bool		has_ended;
	Tally		submitted;
	Tally		processing;
} TaskGroup;

typedef struct Look Look;
typedef void (*Visit) (Look *look, TaskGroup *group);

struct Look
{
	ReturnSetInfo *results;
	Queued		queued;
	IndexScanDesc scan;
	ScanKeyData columns[QUEUED_ID]; /* the scan reads them when it begins */
	TupleTableSlot *row;
	Visit		visit;
	int64		cap;
	int64		most_groups;	/* 0: as many as cap */
	bool		lacks_groups;	/* there may be more of them */
	TimestampTz moment;
	Oid			submitted;
	TaskGroup  *groups;
	int64		ngroups;
	int64		room;			/* room for this many */
	int64		left;			/* tasks that may still be read */
};

/* ---- the index ---- */

/*
 * Makes the scan begin after that task of the group.  A comparison of whole
 * rows bounds the start of a scan by all columns, but not its end: the caller
 * sees when the group has ended.
 */
static void
scan_after(Look *look, const TaskGroup *group, const pg_uuid_t *id)
{
	ScanKey		columns = look->columns;
	ScanKeyData row = {
		.sk_flags = SK_ROW_HEADER,
		.sk_attno = QUEUED_BUCKET,
		.sk_strategy = BTGreaterStrategyNumber,
		.sk_argument = PointerGetDatum(columns)
	};
	const int	greater = BTGreaterStrategyNumber;

	ScanKeyEntryInitialize(&columns[0], SK_ROW_MEMBER, QUEUED_BUCKET, greater, TEXTOID,
						   C_COLLATION_OID, F_BTTEXTCMP, PointerGetDatum(group->bucket));
	ScanKeyEntryInitialize(&columns[1], SK_ROW_MEMBER, QUEUED_TYPE, greater, TEXTOID,
						   C_COLLATION_OID, F_BTTEXTCMP, PointerGetDatum(group->type));
	ScanKeyEntryInitialize(&columns[2], SK_ROW_MEMBER, QUEUED_PRIORITY, greater, INT2OID,
						   InvalidOid, F_BTINT2CMP, Int16GetDatum(group->priority));
	ScanKeyEntryInitialize(&columns[3], SK_ROW_MEMBER | SK_ROW_END, QUEUED_ID, greater, UUIDOID,
						   InvalidOid, F_UUID_CMP, UUIDPGetDatum(id));
	index_rescan(look->scan, &row, 1, NULL, 0);
}

/* Moves to the next row, which is empty at the end of the index. */
static bool
next_row(Look *look)
{
	CHECK_FOR_INTERRUPTS();
	if (!index_getnext_slot(look->scan, ForwardScanDirection, look->row))
	{
		ExecClearTuple(look->row);
		return false;
	}
	slot_getsomeattrs(look->row, LAST_READ);
	return true;
}

static bool
is_text(Datum value, const struct varlena *wanted)
{
	text	   *found = DatumGetTextPP(value);

	return VARSIZE_ANY_EXHDR(found) == VARSIZE_ANY_EXHDR(wanted) &&
		memcmp(VARDATA_ANY(found), VARDATA_ANY(wanted), VARSIZE_ANY_EXHDR(wanted)) == 0;
}

static bool
is_row_of(const Look *look, const TaskGroup *group)
{
	return is_text(row_value(look->row, TASK_TYPE), group->type) &&
		DatumGetInt16(row_value(look->row, TASK_PRIORITY)) == group->priority &&
		is_text(row_value(look->row, TASK_BUCKET), group->bucket);
}

/* ---- reading groups ---- */

static void
visit_row(Look *look, TaskGroup *group)
{
	group->last = *DatumGetUUIDP(row_value(look->row, TASK_ID));
	group->tasks++;
	look->visit(look, group);
}

/* Reads on until this many of the group are read, or the group has ended. */
static void
read_group(Look *look, TaskGroup *group, int64 wanted)
{
	while (group->tasks < wanted)
	{
		if (!next_row(look) || !is_row_of(look, group))
		{
			group->has_ended = true;
			return;
		}
		visit_row(look, group);
	}
}

/* The group of the current row. */
static TaskGroup *
add_group(Look *look)
{
	TaskGroup  *group;

	if (look->ngroups == look->room)
	{
		look->room = Min(look->most_groups, Max(64, look->room * 2));
		look->groups = repalloc_huge(look->groups, look->room * sizeof(TaskGroup));
	}
	group = &look->groups[look->ngroups++];
	memset(group, 0, sizeof(TaskGroup));
	group->bucket = DatumGetTextPCopy(row_value(look->row, TASK_BUCKET));
	group->type = DatumGetTextPCopy(row_value(look->row, TASK_TYPE));
	group->priority = DatumGetInt16(row_value(look->row, TASK_PRIORITY));
	visit_row(look, group);
	return group;
}

/*
 * Reads a few tasks of each group.  After a small group the next one follows.
 */
static void
visit_groups(Look *look)
{
	TaskGroup	before = {.bucket = cstring_to_text(""), .type = cstring_to_text(""), .priority = -1};
	pg_uuid_t	beyond;
	TaskGroup  *group;

	memset(&beyond, 0xff, UUID_LEN);
	scan_after(look, &before, &beyond);
	next_row(look);
	while (!TTS_EMPTY(look->row) && look->ngroups < look->most_groups)
	{
		group = add_group(look);
		read_group(look, group, Min(SHARES, look->cap));
		if (group->has_ended)
			continue;
		scan_after(look, group, &beyond);
		next_row(look);
	}
	look->lacks_groups = !TTS_EMPTY(look->row);
}

static bool
has_more(const Look *look, const TaskGroup *group)
{
	return !group->has_ended && group->tasks < look->cap;
}

static int64
count_open(const Look *look)
{
	int64		open = 0;

	for (int64 i = 0; i < look->ngroups; i++)
		open += has_more(look, &look->groups[i]);
	return open;
}

static void
visit_more(Look *look, int64 each)
{
	for (int64 i = 0; i < look->ngroups; i++)
	{
		TaskGroup  *group = &look->groups[i];
		int64		before = group->tasks;

		if (!has_more(look, group))
			continue;
		scan_after(look, group, &group->last);
		read_group(look, group, Min(before + each, look->cap));
		look->left -= group->tasks - before;
	}
}

/* Large groups share what small groups leave, until little is left. */
static void
visit_all(Look *look)
{
	int64		open;

	visit_groups(look);
	look->left = SHARES * look->cap;
	for (int64 i = 0; i < look->ngroups; i++)
		look->left -= look->groups[i].tasks;
	while ((open = count_open(look)) > 0 && look->left >= open)
		visit_more(look, look->left / open);
}

static void
look_at_queue(FunctionCallInfo fcinfo, Look *look)
{
	InitMaterializedSRF(fcinfo, 0);
	look->results = (ReturnSetInfo *) fcinfo->resultinfo;
	look->cap = PG_GETARG_INT32(0);
	if (look->most_groups == 0)
		look->most_groups = look->cap;
	look->submitted = rows_label("task_status", "SUBMITTED");
	queued_open(&look->queued);
	look->row = look->queued.row;
	look->scan = twt_index_beginscan(look->queued.table, look->queued.index, GetActiveSnapshot(), 1);
	look->groups = palloc(sizeof(TaskGroup));
	look->room = 1;
	visit_all(look);
	index_endscan(look->scan);
	queued_close(&look->queued);
}

/* ---- the results ---- */

static bool
is_submitted(const Look *look)
{
	return DatumGetObjectId(row_value(look->row, TASK_STATUS)) == look->submitted;
}

/* The time from which the task counts as late. */
static TimestampTz
due_time(const Look *look)
{
	bool		has_deadline = !is_submitted(look) && !row_null(look->row, TASK_DEADLINE);

	return DatumGetTimestampTz(row_value(look->row, has_deadline ? TASK_DEADLINE :
										 TASK_NEXT_EVENT_TIME));
}

static bool
is_late(const Look *look)
{
	return due_time(look) < look->moment;
}

static void
count_row(Look *look, TaskGroup *group)
{
	Tally	   *tally = is_submitted(look) ? &group->submitted : &group->processing;
	TimestampTz time = DatumGetTimestampTz(row_value(look->row, TASK_STATE_TIME));

	if (tally->tasks++ == 0)
	{
		tally->status = row_value(look->row, TASK_STATUS);
		tally->oldest = tally->newest = time;
		tally->newest_late = DT_NOBEGIN;
	}
	tally->oldest = Min(tally->oldest, time);
	tally->newest = Max(tally->newest, time);
	tally->most_tries = Max(tally->most_tries, DatumGetInt32(row_value(look->row, TASK_TRIES)));
	if (!is_late(look))
		return;
	tally->late++;
	tally->newest_late = Max(tally->newest_late, due_time(look));
}

static void
put_tally(Look *look, const TaskGroup *group, const Tally *tally)
{
	bool		is_last = group == &look->groups[look->ngroups - 1];
	bool		capped = !group->has_ended || (is_last && look->lacks_groups);
	Datum		values[] = {
		PointerGetDatum(group->bucket), PointerGetDatum(group->type), tally->status, Int64GetDatum(tally->tasks),
		BoolGetDatum(capped), TimestampTzGetDatum(tally->oldest),
		Int32GetDatum(tally->most_tries), TimestampTzGetDatum(tally->newest),
		Int64GetDatum(tally->late), TimestampTzGetDatum(tally->newest_late)
	};
	bool		nulls[lengthof(values)] = {false};

	nulls[lengthof(values) - 1] = tally->late == 0;
	if (tally->tasks > 0)
		tuplestore_putvalues(look->results->setResult, look->results->setDesc, values, nulls);
}

TWT_FUNCTION(twt_count_queued);
Datum
twt_count_queued(PG_FUNCTION_ARGS)
{
	Look		look = {.visit = count_row, .moment = PG_GETARG_TIMESTAMPTZ(1)};

	/* SQL of 1.0 names no bound of groups. */
	look.most_groups = PG_NARGS() > 2 ? PG_GETARG_INT32(2) : Max(PG_GETARG_INT32(0), LEAST_GROUPS);
	look_at_queue(fcinfo, &look);
	for (int64 i = 0; i < look.ngroups; i++)
	{
		put_tally(&look, &look.groups[i], &look.groups[i].submitted);
		put_tally(&look, &look.groups[i], &look.groups[i].processing);
	}
	return (Datum) 0;
}

static void
put_if_late(Look *look, TaskGroup *group)
{
	static const TaskColumn columns[] = {
		TASK_ID, TASK_VERSION, TASK_TYPE, TASK_SUB_TYPE, TASK_BUCKET, TASK_PRIORITY,
		TASK_STATUS, TASK_CREATED, TASK_STATE_TIME, TASK_TRIES, TASK_INCARNATION
	};
	Datum		values[lengthof(columns) + 2];
	bool		nulls[lengthof(columns) + 2] = {false};

	if (!is_late(look))
		return;
	for (size_t i = 0; i < lengthof(columns); i++)
	{
		values[i] = row_value(look->row, columns[i]);
		nulls[i] = row_null(look->row, columns[i]);
	}
	values[lengthof(columns)] = TimestampTzGetDatum(due_time(look));
	values[lengthof(columns) + 1] = Int64GetDatum(++group->late);
	tuplestore_putvalues(look->results->setResult, look->results->setDesc, values, nulls);
}

static int64
count_shown(const Look *look, int64 each)
{
	int64		shown = 0;

	for (int64 i = 0; i < look->ngroups; i++)
		shown += Min(look->groups[i].late, each);
	return shown;
}

/* The largest share of each group with which all groups stay within cap; at least 1. */
static int64
fair_share(const Look *look, int64 most)
{
	int64		low = 1;

	while (low < most)
	{
		int64		middle = most - (most - low) / 2;

		if (count_shown(look, middle) <= look->cap)
			low = middle;
		else
			most = middle - 1;
	}
	return low;
}

/* The share is known only when all groups were seen. */
static void
keep_share(Look *look, int64 share)
{
	ReturnSetInfo *results = look->results;
	Tuplestorestate *found = results->setResult;
	TupleTableSlot *row = MakeSingleTupleTableSlot(results->setDesc, &TTSOpsMinimalTuple);
	MemoryContext caller = MemoryContextSwitchTo(results->econtext->ecxt_per_query_memory);
	bool		is_null;

	results->setResult = tuplestore_begin_heap(results->allowedModes & SFRM_Materialize_Random, false, work_mem);
	MemoryContextSwitchTo(caller);
	while (tuplestore_gettupleslot(found, true, false, row))
	{
		if (DatumGetInt64(slot_getattr(row, results->setDesc->natts, &is_null)) <= share)
			tuplestore_puttupleslot(results->setResult, row);
	}
	ExecDropSingleTupleTableSlot(row);
	tuplestore_end(found);
}

TWT_FUNCTION(twt_late_queued);
Datum
twt_late_queued(PG_FUNCTION_ARGS)
{
	Look		look = {.visit = put_if_late, .moment = PG_GETARG_TIMESTAMPTZ(1)};

	look_at_queue(fcinfo, &look);
	keep_share(&look, fair_share(&look, PG_GETARG_INT32(2)));
	return (Datum) 0;
}
