/*-------------------------------------------------------------------------
 *
 * sweep.c
 *		sweep_tasks(): looks at the table itself for SUBMITTED tasks.
 *
 *		from: sidecar/queue/sweep.c		to: sidecar/table/table.c
 *
 * The index of runnable tasks leads by bucket and type.  We read the most
 * urgent tasks of each type, up to a limit, and step over the rest: so a type
 * with a large backlog does not hold up the others.  If the caller has many tasks
 * of a type already, we read that type from where the last call ended.  If
 * tasks of a type rise as they wait, we merge its priorities by each task's
 * risen priority.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "base/rows.h"
#include "node/adoption.h"
#include "node/clock.h"
#include "policy/policy.h"
#include "table/marks.h"
#include "table/queued.h"

/* We read no column of the task beyond this one. */
#define LAST_READ TASK_EXPIRES

/* We read so many tasks more than wanted before we look for the next type. */
#define FEW_MORE 8

typedef struct SweepCall
{
	Queued		queued;
	ReturnSetInfo *results;
	Datum		bucket;
	int32		per_type;
	char	  **skip;			/* sorted */
	int			nskip;
	int32		share;
	int32		shares;
	int64		left;			/* tasks still wanted in all */
	Marks		marks;
	TimestampTz started;
	Oid			submitted;
} SweepCall;

static int
compare_types(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* A sidecar may leave out thousands of types; we look each of them up. */
static void
sort_skipped(SweepCall *call, const Elements *skip)
{
	call->skip = palloc((skip->n + 1) * sizeof(char *));
	for (int i = 0; i < skip->n; i++)
		if (!skip->nulls[i])
			call->skip[call->nskip++] = TextDatumGetCString(skip->values[i]);
	qsort(call->skip, call->nskip, sizeof(char *), compare_types);
}

static bool
is_skipped(const SweepCall *call, const char *type)
{
	return call->nskip > 0 &&
		bsearch(&type, call->skip, call->nskip, sizeof(char *), compare_types) != NULL;
}

static void
read_arguments(FunctionCallInfo fcinfo, SweepCall *call)
{
	Elements	skip = elements_of(fcinfo, 2, "skip");

	sort_skipped(call, &skip);
	call->bucket = PG_GETARG_DATUM(0);
	call->per_type = PG_GETARG_INT32(1);
	call->share = PG_GETARG_INT32(3);
	call->shares = PG_GETARG_INT32(4);
	call->left = PG_GETARG_INT32(5);
	call->results = (ReturnSetInfo *) fcinfo->resultinfo;
	call->started = twt_now();
	call->submitted = rows_label("task_status", "SUBMITTED");
}

/* Tasks of the type, or with "beyond" of later types; NULL: of any type. */
static IndexScanDesc
begin_scan(const SweepCall *call, const char *type, bool beyond)
{
	Datum		values[] = {call->bucket, (Datum) 0};

	if (type == NULL)
		return queued_scan(&call->queued, values, QUEUED_BUCKET, QUEUED_EXACTLY);
	values[1] = CStringGetTextDatum(type);
	return queued_scan(&call->queued, values, QUEUED_TYPE, beyond ? QUEUED_BEYOND : QUEUED_EXACTLY);
}

/* Tasks of a type after the mark, of its priority or with "beyond" of later ones. */
static IndexScanDesc
begin_after(const SweepCall *call, const Mark *mark, bool beyond)
{
	Datum		values[] = {
		call->bucket, CStringGetTextDatum(mark->type), mark->priority, mark->id
	};

	return queued_scan(&call->queued, values, beyond ? QUEUED_PRIORITY : QUEUED_ID, QUEUED_BEYOND);
}

/*
 * Returns the next type in the index, of a live or dead row, if the type has a
 * mark; else NULL.  Where tasks go fast, many dead rows precede a type's first
 * live row, and the mark leads there at once.
 */
static char *
next_marked(const SweepCall *call, const char *type)
{
	IndexScanDesc scan;
	char	   *next = NULL;
	bool		isnull;

	if (call->marks.n == 0)
		return NULL;
	scan = begin_scan(call, type, true);
	scan->ignore_killed_tuples = false;
	if (index_getnext_tid(scan, ForwardScanDirection) != NULL)
		next = TextDatumGetCString(index_getattr(scan->xs_itup, QUEUED_TYPE,
												 scan->xs_itupdesc, &isnull));
	index_endscan(scan);
	return next != NULL && marks_of(&call->marks, next) != NULL ? next : NULL;
}

/* Returns the next type in order; NULL: no more. */
static char *
next_type(const SweepCall *call, const char *type)
{
	char	   *next = next_marked(call, type);
	IndexScanDesc scan;

	if (next != NULL)
		return next;
	scan = begin_scan(call, type, true);
	if (index_getnext_slot(scan, ForwardScanDirection, call->queued.row))
	{
		slot_getsomeattrs(call->queued.row, LAST_READ);
		next = TextDatumGetCString(row_value(call->queued.row, TASK_TYPE));
	}
	index_endscan(scan);
	return next;
}

/* Decides by the index entry, so that rows of other shares are not read. */
static bool
is_in_share(const SweepCall *call, IndexScanDesc scan)
{
	bool		isnull;
	Datum		id;
	int32		hash;

	if (call->shares <= 1)
		return true;
	id = index_getattr(scan->xs_itup, QUEUED_ID, scan->xs_itupdesc, &isnull);
	hash = DatumGetInt32(DirectFunctionCall1(uuid_hash, id));
	return llabs((int64) hash) % call->shares == call->share;
}

static bool
is_wanted(const SweepCall *call, TupleTableSlot *row)
{
	if (DatumGetObjectId(row_value(row, TASK_STATUS)) != call->submitted)
		return false;
	if (!row_null(row, TASK_EXPIRES) &&
		DatumGetTimestampTz(row_value(row, TASK_EXPIRES)) <= call->started)
		return false;
	return true;
}

/* Reads the next row of this node's share, in whichever status. */
static bool
next_row(const SweepCall *call, IndexScanDesc scan, TupleTableSlot *row)
{
	while (index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_in_share(call, scan) || !index_fetch_heap(scan, row))
			continue;
		slot_getsomeattrs(row, LAST_READ);
		return true;
	}
	return false;
}

static bool
next_wanted(const SweepCall *call, IndexScanDesc scan, TupleTableSlot *row)
{
	while (next_row(call, scan, row))
		if (is_wanted(call, row))
			return true;
	return false;
}

static void
put_trigger(const SweepCall *call, TupleTableSlot *row, int priority)
{
	static const TaskColumn columns[] = {
		TASK_ID, TASK_VERSION, TASK_TYPE, TASK_PRIORITY, TASK_SIZE
	};
	Datum		values[lengthof(columns) + 1];
	bool		nulls[lengthof(columns) + 1] = {false};

	for (size_t i = 0; i < lengthof(columns); i++)
		values[i] = columns[i] == TASK_PRIORITY ? Int16GetDatum(priority) : row_value(row, columns[i]);
	values[lengthof(columns)] = PointerGetDatum(&row->tts_tid);
	tuplestore_putvalues(call->results->setResult, call->results->setDesc, values, nulls);
}

/* Puts up to wanted triggers; returns how many. */
static int64
put_triggers(const SweepCall *call, IndexScanDesc scan, int64 wanted)
{
	int64		found = 0;

	while (found < wanted && next_wanted(call, scan, call->queued.row))
	{
		put_trigger(call, call->queued.row, DatumGetInt16(row_value(call->queued.row, TASK_PRIORITY)));
		found++;
	}
	index_endscan(scan);
	return found;
}

static void
sweep_type(SweepCall *call, const char *type)
{
	const Mark *mark = marks_of(&call->marks, type);
	int64		wanted = Min(call->per_type, Max(call->left, 1));
	int64		found;

	if (mark == NULL)
		found = put_triggers(call, begin_scan(call, type, false), wanted);
	else
		found = put_triggers(call, begin_after(call, mark, false), wanted);
	if (mark != NULL && found < wanted)
		found += put_triggers(call, begin_after(call, mark, true), wanted - found);
	call->left -= found;
}

/* ---- types whose tasks rise as they wait ---- */

/*
 * Tasks of one priority by their ids, which for new tasks means by how long
 * they wait: the first are the first to rise.  A task that was tried before
 * stands by its old id, though it has waited for less time.
 */
typedef struct Line
{
	IndexScanDesc scan;
	TupleTableSlot *row;		/* the next; empty: no more */
	int			priority;		/* that counts */
} Line;

static void
next_in_line(const SweepCall *call, Line *line)
{
	TupleTableSlot *row = line->row;

	if (next_wanted(call, line->scan, row))
		line->priority = policy_risen(row_value(row, TASK_TYPE),
									  DatumGetInt16(row_value(row, TASK_PRIORITY)),
									  call->started - DatumGetTimestampTz(row_value(row, TASK_STATE_TIME)));
	else
		ExecClearTuple(row);
}

static void
begin_line(const SweepCall *call, const char *type, int priority, Line *line)
{
	Datum		values[] = {call->bucket, CStringGetTextDatum(type), Int16GetDatum(priority)};

	line->row = table_slot_create(call->queued.table, NULL);
	line->scan = queued_scan(&call->queued, values, QUEUED_PRIORITY, QUEUED_EXACTLY);
	next_in_line(call, line);
}

/* With equal priority, the task that has waited longer goes first. */
static bool
goes_before(const Line *a, const Line *b)
{
	if (a->priority != b->priority)
		return a->priority < b->priority;
	return DatumGetTimestampTz(row_value(a->row, TASK_STATE_TIME)) <
		DatumGetTimestampTz(row_value(b->row, TASK_STATE_TIME));
}

static Line *
first_line(Line *lines)
{
	Line	   *first = NULL;

	for (int i = 0; i < TRIGGER_PRIORITIES; i++)
		if (!TTS_EMPTY(lines[i].row) && (first == NULL || goes_before(&lines[i], first)))
			first = &lines[i];
	return first;
}

static void
sweep_aging_type(SweepCall *call, const char *type)
{
	Line		lines[TRIGGER_PRIORITIES];
	Line	   *line;
	int64		wanted = Min(call->per_type, Max(call->left, 1));
	int32		found = 0;

	for (int i = 0; i < TRIGGER_PRIORITIES; i++)
		begin_line(call, type, i, &lines[i]);
	while (found < wanted && (line = first_line(lines)) != NULL)
	{
		put_trigger(call, line->row, line->priority);
		next_in_line(call, line);
		found++;
	}
	call->left -= found;
	for (int i = 0; i < TRIGGER_PRIORITIES; i++)
	{
		index_endscan(lines[i].scan);
		ExecDropSingleTupleTableSlot(lines[i].row);
	}
}

static void
sweep_any_type(SweepCall *call, const char *type)
{
	if (is_skipped(call, type) || policy_is_paused(type, TextDatumGetCString(call->bucket)))
		return;
	if (policy_find(type)->aging_us > 0)
		sweep_aging_type(call, type);
	else
		sweep_type(call, type);
}

/* ---- many types with few tasks ---- */

static bool
is_of_type(TupleTableSlot *row, const char *type)
{
	text	   *other = DatumGetTextPP(row_value(row, TASK_TYPE));
	size_t		len = VARSIZE_ANY_EXHDR(other);

	return strlen(type) == len && memcmp(VARDATA_ANY(other), type, len) == 0;
}

static bool
needs_no_care(const SweepCall *call, const char *type)
{
	return !is_skipped(call, type) &&
		!policy_is_paused(type, TextDatumGetCString(call->bucket)) &&
		policy_find(type)->aging_us == 0;
}

/*
 * Reads the types after the given one by a single scan, which ends at a type
 * with many more tasks than wanted, or with a rule of its own.  A descent to
 * each type would cost more than the few tasks of most types.  Returns the last
 * type; NULL: there are no more.
 */
static char *
sweep_on(SweepCall *call, const char *before)
{
	IndexScanDesc scan = begin_scan(call, before, true);
	TupleTableSlot *row = call->queued.row;
	char	   *type = NULL;
	int64		wanted = 0;

	while (next_row(call, scan, row))
	{
		if (type == NULL || !is_of_type(row, type))
		{
			type = TextDatumGetCString(row_value(row, TASK_TYPE));
			wanted = Min(call->per_type, Max(call->left, 1));
			if (!needs_no_care(call, type))
			{
				index_endscan(scan);
				sweep_any_type(call, type);
				return type;
			}
		}
		if (wanted <= -FEW_MORE)
		{
			index_endscan(scan);
			return type;
		}
		if (wanted > 0 && !is_wanted(call, row))
			continue;
		if (wanted-- > 0)
		{
			put_trigger(call, row, DatumGetInt16(row_value(row, TASK_PRIORITY)));
			call->left--;
		}
	}
	index_endscan(scan);
	return NULL;
}

TWT_FUNCTION(twt_sweep_tasks);
Datum
twt_sweep_tasks(PG_FUNCTION_ARGS)
{
	SweepCall	call = {0};
	Elements	after = elements_of(fcinfo, 6, "after");
	char	   *type = NULL;

	read_arguments(fcinfo, &call);
	InitMaterializedSRF(fcinfo, 0);
	if (!twt_is_adopted())
		return (Datum) 0;
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	queued_open(&call.queued);
	marks_read(&call.marks, &call.queued, &after);
	call.queued.shows_index = call.shares > 1 || call.marks.n > 0;
	if (call.marks.n == 0)
		while ((type = sweep_on(&call, type)) != NULL)
			;
	else
		while ((type = next_type(&call, type)) != NULL)
			sweep_any_type(&call, type);
	queued_close(&call.queued);
	PopActiveSnapshot();
	return (Datum) 0;
}

TWT_FUNCTION(twt_queued_types);
Datum
twt_queued_types(PG_FUNCTION_ARGS)
{
	SweepCall	call = {.bucket = PG_GETARG_DATUM(0)};
	char	   *type = NULL;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	call.results = (ReturnSetInfo *) fcinfo->resultinfo;
	queued_open(&call.queued);
	while ((type = next_type(&call, type)) != NULL)
	{
		Datum		values[1] = {CStringGetTextDatum(type)};
		bool		nulls[1] = {false};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(call.results->setResult, call.results->setDesc, values, nulls);
	}
	queued_close(&call.queued);
	return (Datum) 0;
}
