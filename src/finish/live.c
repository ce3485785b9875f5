/*-------------------------------------------------------------------------
 *
 * live.c
 *		Ends of tries after which a task stays in the live table.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/unix_time.h"
#include "commit/commit.h"
#include "finish/ended.h"
#include "finish/live.h"
#include "node/clock.h"
#include "policy/policy.h"

/* The next status. */
typedef enum Next
{
	NEXT_WAITING,
	NEXT_SUBMITTED,
	NEXT_PROCESSING,
	NEXT_ERROR
} Next;

typedef struct Change
{
	Next		next;
	int64		delay_ms;
	TimestampTz now;
	TimestampTz due;			/* after the delay */
} Change;

static Next
next_of(TryResult result, int64 delay_ms)
{
	switch (result)
	{
		case TRY_ERROR:
		case TRY_FAULT:
			return NEXT_ERROR;
		case TRY_ACCEPTED:
		case TRY_LATER:
			return NEXT_PROCESSING;
		case TRY_RELEASE:
			return delay_ms > 0 ? NEXT_WAITING : NEXT_SUBMITTED;
		default:
			return NEXT_WAITING;
	}
}

static Change
change_of(const FinishCall *call, const Try *try)
{
	Change		change = {.now = call->now, .delay_ms = Min(Max(try->delay_ms, 0), LONGEST_MS)};

	change.due = change.now + change.delay_ms * 1000;
	change.next = next_of(try->result, change.delay_ms);
	return change;
}

static void
set_number(TupleTableSlot *row, TaskColumn column, NullableDatum number)
{
	row->tts_values[column - 1] = number.value;
	row->tts_isnull[column - 1] = number.isnull;
}

/* PROCESSING goes on, until the deadline of the grab at the latest. */
static void
set_accepted(const Change *change, TupleTableSlot *row)
{
	TimestampTz deadline = row_null(row, TASK_DEADLINE) ? DT_NOEND :
		DatumGetTimestampTz(row_value(row, TASK_DEADLINE));

	if (change->delay_ms > 0)
		deadline = Min(deadline, change->due);
	row_set(row, TASK_DEADLINE, TimestampTzGetDatum(deadline));
	row_set(row, TASK_NEXT_EVENT_TIME, TimestampTzGetDatum(deadline));
	row_set(row, TASK_QUEUED, BoolGetDatum(false));
	row_clear(row, TASK_INCARNATION);
}

/* A task that is given back has not been started, and goes on waiting. */
static TimestampTz
changed_at(const Change *change, TupleTableSlot *row)
{
	if (change->next != NEXT_SUBMITTED || !DatumGetBool(row_value(row, TASK_QUEUED)))
		return change->now;
	return Min(policy_runnable(row), change->now);
}

static void
set_left(const FinishCall *call, const Try *try, const Change *change, TupleTableSlot *row)
{
	static const char *const statuses[] = {"WAITING", "SUBMITTED", "PROCESSING", "ERROR"};
	int32		tries = DatumGetInt32(row_value(row, TASK_TRIES));

	row_set(row, TASK_STATUS, ObjectIdGetDatum(rows_label("task_status", statuses[change->next])));
	row_set(row, TASK_VERSION, Int64GetDatum(DatumGetInt64(row_value(row, TASK_VERSION)) + 1));
	row_set(row, TASK_STATE_TIME, TimestampTzGetDatum(changed_at(change, row)));
	row_set(row, TASK_QUEUED, BoolGetDatum(change->next == NEXT_SUBMITTED));
	row_clear(row, TASK_DEADLINE);
	row_clear(row, TASK_PLANNED);
	if (!call->by_hand)
		set_number(row, TASK_INCARNATION, call->incarnation);
	if (change->next != NEXT_SUBMITTED)
		row_set(row, TASK_NEXT_EVENT_TIME,
				TimestampTzGetDatum(change->next == NEXT_ERROR ? DT_NOEND : change->due));
	if (try->result == TRY_RELEASE)
		row_set(row, TASK_TRIES, Int32GetDatum(tries - 1));
	else if (try->result == TRY_REPEAT)
		row_set(row, TASK_TRIES, Int32GetDatum(0));
}

static void
set_row(const FinishCall *call, const Try *try, const Change *change, TupleTableSlot *row)
{
	text	   *message = try_message(try);

	if (try->result == TRY_ACCEPTED)
		set_accepted(change, row);
	else
		set_left(call, try, change, row);
	if (!call->by_hand)
		set_number(row, TASK_TOKEN, call->token);
	if (try->result == TRY_REPEAT)
		row_clear(row, TASK_ERROR);
	else if (message != NULL)
		row_set(row, TASK_ERROR, PointerGetDatum(message));
}

/* The handler has ended, so the deadline of its try does not bind the next finish. */
static void
set_later(const Change *change, TupleTableSlot *row)
{
	TimestampTz soon = change->now + USECS_PER_HOUR;

	if (row_null(row, TASK_DEADLINE) || DatumGetTimestampTz(row_value(row, TASK_DEADLINE)) < soon)
		row_set(row, TASK_DEADLINE, TimestampTzGetDatum(soon));
}

static void
queue_row(const Change *change, TupleTableSlot *row)
{
	TaskTrigger trigger = {
		.version = DatumGetInt64(row_value(row, TASK_VERSION)),
		.due_us = change->next == NEXT_WAITING ? unix_us(change->due) : 0,
		.size = DatumGetInt32(row_value(row, TASK_SIZE)),
		.priority = DatumGetInt16(row_value(row, TASK_PRIORITY))
	};

	memcpy(trigger.id, DatumGetUUIDP(row_value(row, TASK_ID)), sizeof(trigger.id));
	commit_remember_task(TextDatumGetCString(row_value(row, TASK_BUCKET)),
						 TextDatumGetCString(row_value(row, TASK_TYPE)), &trigger);
}

static void
report(const Change *change, TupleTableSlot *row, Ends *ends)
{
	Datum		values[RESULT_COLUMNS] = {
		row_value(row, TASK_ID), row_value(row, TASK_VERSION), row_value(row, TASK_STATUS),
		Int64GetDatum(change->delay_ms)
	};
	bool		nulls[RESULT_COLUMNS] = {[RESULT_DELAY_MS] = change->next != NEXT_WAITING};

	ends_report(ends, values, nulls);
}

/* Tells its function of a task in ERROR. */
static void
tell(const Try *try, TupleTableSlot *before, TupleTableSlot *after, Ends *ends)
{
	Ending		ending = {.status = DatumGetObjectId(row_value(after, TASK_STATUS))};

	if (!row_null(after, TASK_ERROR))
		ending.error = DatumGetTextPP(row_value(after, TASK_ERROR));
	ends_add(ends, ended_row(before, &ending, DatumGetTimestampTz(row_value(after, TASK_STATE_TIME)),
							 try->outcome));
}

void
live_change(const FinishCall *call, Try *try, Rows *rows, Ends *ends)
{
	TupleTableSlot *row = rows_find_at(rows, try->id, &try->place);
	Change		change = change_of(call, try);
	TupleTableSlot *after;

	if (row == NULL)
		return;
	after = rows_edit(rows, row);
	if (try->result == TRY_LATER)
		set_later(&change, after);
	else
		set_row(call, try, &change, after);
	if (!rows_update_locked(rows, row))
		return;
	try->is_finished = true;
	attempts_add(call->attempts, row, attempt_of_change(call, try, row), try_message(try),
				 change.next == NEXT_WAITING ? &change.due : NULL);
	report(&change, after, ends);
	if (change.next == NEXT_WAITING || change.next == NEXT_SUBMITTED)
		queue_row(&change, after);
	else if (change.next == NEXT_ERROR && ends_want(ends, row_value(row, TASK_TYPE)))
		tell(try, row, after, ends);
}
