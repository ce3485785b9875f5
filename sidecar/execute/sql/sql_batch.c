/*-------------------------------------------------------------------------
 *
 * sql_batch.c
 *		Applies an answer of the database to the tasks of a batch.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/sql/sql_batch.h"
#include "finish/finish.h"
#include "calls/calls.h"
#include "slots/offers.h"

/* Takes out a task that is finished, or that the database handles, and frees its slot. */
static void
release(Batch *batch, const uint8 *id)
{
	Limit	   *slot;
	Policy	   *policy;
	TypeCounts *counts;

	if (batch_take(batch, id, &slot, &policy, &counts) == NULL)
		return;
	slots_free(slot);
	policy_unref(policy);
}

static TypeCounts *
counts_of(Batch *batch, const uint8 *id)
{
	const BatchItem *item = batch_find(batch, id);

	return item == NULL ? NULL : table_counts(item->table, item->entry);
}

/* The database has grabbed the task and called its function. */
static TypeCounts *
count_start(Batch *batch, const uint8 *id)
{
	TypeCounts *counts = counts_of(batch, id);

	metrics_count(counts, COUNT_GRABS);
	metrics_count(counts, COUNT_STARTED);
	return counts;
}

static void
count_times(TypeCounts *counts, const PGresult *result, int row, int64 us)
{
	if (!PQgetisnull(result, row, EXECUTE_WAIT_US))
		metrics_time(counts, TIME_WAIT, wire_get_int(result, row, EXECUTE_WAIT_US));
	metrics_time(counts, TIME_RUN, us);
}

/* The statement has stored the result, too. */
static void
count_end(Batch *batch, const PGresult *result, int row, int64 us)
{
	TypeCounts *counts = count_start(batch, wire_get_uuid(result, row, EXECUTE_ID));
	TaskResult	ended = TASK_DONE;

	count_times(counts, result, row, us);
	if (PQgetisnull(result, row, EXECUTE_MESSAGE) || task_result_parse(PQgetvalue(result, row, EXECUTE_MESSAGE), &ended))
		metrics_ended(counts, ended, NULL);
}

void
sql_batch_fail(Batch *batch, const RunnerParts *parts, Task *task,
			   TaskResult result, const char *why)
{
	Verdict		verdict = {
		result, result == TASK_RELEASE ? TASK_DELAY_UNFIT : TASK_DELAY_BY_POLICY, why
	};

	(void) count_start(batch, task->id);
	if (batch_take(batch, task->id, &task->slot, &task->policy, &task->counts) == NULL)
		return;
	task->has_shared_slot = slots_are_shared(task->slot);
	finish_add(parts->finish, task, &verdict);
	if (task->has_shared_slot)
		slots_free_here(task->slot);
	else
		slots_free(task->slot);
	policy_unref(task->policy);
}

/*
 * Handles the refusal of a task by a limit.  If this node has not read the
 * limit yet, it drops the task and reads the limit.
 */
static void
refuse(Batch *batch, const RunnerParts *parts, const uint8 *id, const char *limit, int64 again_us)
{
	if (offers_refused(parts->offers, limit, again_us))
		batch_refuse(batch, id);
}

void
sql_batch_refuse(Batch *batch, const RunnerParts *parts, const PGresult *result, int row)
{
	refuse(batch, parts, wire_get_uuid(result, row, GRAB_ID),
		   PQgetvalue(result, row, GRAB_TYPE), batch_again_us(result, row));
}

Task
sql_batch_grant(Batch *batch, const PGresult *result)
{
	Task		task = batch_read_grab(batch->token, result, 0);

	if (!PQgetisnull(result, 0, GRAB_RUNNABLE))
		metrics_time(counts_of(batch, task.id), TIME_WAIT,
					 wire_get_time(result, 0, GRAB_GRABBED) - wire_get_time(result, 0, GRAB_RUNNABLE));
	slots_grant(table_entry_limit(batch->items[0].entry));
	batch_start(batch, task.id);
	return task;
}

static void
fail_row(Batch *batch, const RunnerParts *parts, const PGresult *result, int row)
{
	Task		task = {
		.version = wire_get_int(result, row, EXECUTE_VERSION),
		.token = batch->token,
		.tries = wire_get_int(result, row, EXECUTE_TRIES),
		.type = PQgetvalue(result, row, EXECUTE_TYPE)
	};

	memcpy(task.id, wire_get_uuid(result, row, EXECUTE_ID), TASK_ID_BYTES);
	trigger_id_text(task.id, task.id_text);
	sql_batch_fail(batch, parts, &task, TASK_FAILURE, PQgetvalue(result, row, EXECUTE_MESSAGE));
}

void
sql_batch_take_answers(Batch *batch, const RunnerParts *parts, const PGresult *result, double each_us)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		const uint8 *id = wire_get_uuid(result, i, EXECUTE_ID);

		if (PQgetisnull(result, i, EXECUTE_VERSION))
			refuse(batch, parts, id, PQgetvalue(result, i, EXECUTE_MESSAGE), 0);
		else if (strcmp(PQgetvalue(result, i, EXECUTE_RESULT), "failed") == 0)
		{
			count_times(counts_of(batch, id), result, i, (int64) each_us);
			fail_row(batch, parts, result, i);
		}
		else
		{
			count_end(batch, result, i, (int64) each_us);
			release(batch, id);
		}
	}
}

void
sql_batch_put_back(Batch *batch, SqlWaiting *waiting, bool each_alone)
{
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = &batch->items[i];

		if (item->entry == NULL)
			continue;
		sql_waiting_add(waiting, item->table, item->entry, each_alone);
		item->entry = NULL;
	}
}

bool
sql_batch_drop_cancelled(Batch *batch)
{
	bool		any = false;

	for (int i = 0; i < batch->n; i++)
	{
		if (!batch->items[i].is_cancelled)
			continue;
		any = true;
		release(batch, batch->items[i].id);
	}
	return any;
}
