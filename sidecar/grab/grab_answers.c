/*-------------------------------------------------------------------------
 *
 * grab_answers.c
 *		Reads the database's answer to a grab: tasks won, tasks refused.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/log.h"
#include "common/trigger.h"
#include "grab/grab_answers.h"
#include "node/task_clock.h"
#include "pg/calls.h"

struct GrabAnswers
{
	Loop	   *loop;
	Execute    *execute;
	Offers	   *offers;
	int64		deadline_us;	/* deadline of the last task, in us since 1970
								 * ... */
	char	   *deadline_text;	/* ... and as text; NULL: none yet */
};

/* Copies the JSON text or the raw payload of a task. */
static void
copy_data(Task *task, const PGresult *result, int row)
{
	const char *bytes;

	task->is_binary = !PQgetisnull(result, row, GRAB_PAYLOAD);
	if (task->is_binary)
	{
		bytes = PQgetvalue(result, row, GRAB_PAYLOAD);
		task->data_len = PQgetlength(result, row, GRAB_PAYLOAD);
	}
	else if (PQgetisnull(result, row, GRAB_DATA))
		return;
	else
		bytes = wire_get_json(result, row, GRAB_DATA, &task->data_len);
	task->data = palloc(task->data_len + 1);
	memcpy(task->data, bytes, task->data_len);
	task->data[task->data_len] = '\0';
}

/* "2026-01-02T03:04:05.678901Z" */
static char *
iso_time(int64 unix_us)
{
	time_t		seconds = (time_t) (unix_us / 1000000);
	struct tm	tm;
	char		text[32];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return psprintf("%s.%06dZ", text, (int) (unix_us % 1000000));
}

/*
 * Keeps the last text: tasks of a batch were grabbed at one time, and most
 * have the same timeout.
 */
static char *
deadline_text(GrabAnswers *answers, int64 unix_us)
{
	if (answers->deadline_text == NULL || unix_us != answers->deadline_us)
	{
		pfree(answers->deadline_text);
		answers->deadline_text = iso_time(unix_us);
		answers->deadline_us = unix_us;
	}
	return pstrdup(answers->deadline_text);
}

/*
 * The time since the database grabbed a task.  It is at most the time since we
 * sent the grab, so that a clock that was set does not matter.
 */
static int64
age_of_grab(const GrabAnswers *answers, int64 grabbed_us, int64 sent_us)
{
	return Max(0, Min(task_clock_us() - grabbed_us,
					  loop_now_us(answers->loop) - sent_us));
}

static Task *
make_task(GrabAnswers *answers, const PGresult *result, int row, Policy *policy, int64 sent_us)
{
	int64		grabbed_us = wire_get_time(result, row, GRAB_GRABBED);
	Task	   *task = palloc0(sizeof(Task));
	size_t		len;

	memcpy(task->id, wire_get_uuid(result, row, GRAB_ID), TASK_ID_BYTES);
	trigger_id_text(task->id, task->id_text);
	task->version = wire_get_int(result, row, GRAB_VERSION);
	task->type = wire_dup_text(result, row, GRAB_TYPE);
	task->sub_type = wire_dup_text(result, row, GRAB_SUB_TYPE);
	task->key = wire_dup_text(result, row, GRAB_KEY);
	task->bucket = wire_dup_text(result, row, GRAB_BUCKET);
	task->priority = wire_get_int(result, row, GRAB_PRIORITY);
	task->tries = wire_get_int(result, row, GRAB_TRIES);
	if (!PQgetisnull(result, row, GRAB_CONTEXT))
		task->context = pstrdup(wire_get_json(result, row, GRAB_CONTEXT, &len));
	task->deadline_us = loop_now_us(answers->loop) + policy->timeout_us -
		age_of_grab(answers, grabbed_us, sent_us);
	task->deadline_text = deadline_text(answers, grabbed_us + policy->timeout_us);
	task->policy = policy;
	task->max_tries = policy->max_tries;
	task->place = wire_get_place(result, row, GRAB_PLACE);
	copy_data(task, result, row);
	return task;
}

static void
take_task(GrabAnswers *answers, GrabQuestion *question, const PGresult *result, int row)
{
	Limit	   *slot;
	Policy	   *policy;
	Handler    *handler = batch_take(question->batch, wire_get_uuid(result, row, GRAB_ID),
									 &slot, &policy);
	Task	   *task;

	if (handler == NULL)
		return;
	slots_grant(slot);
	task = make_task(answers, result, row, policy, question->sent_us);
	task->handler = handler;
	task->slot = slot;
	task->has_shared_slot = slots_are_shared(slot);
	task->token = question->batch->token;
	task->unreadable = question->unreadable;
	question->unreadable = NULL;
	log_task(TWT_LOG_DEBUG, "grab", task, "grabbed");
	execute_task(answers->execute, task);
}

/*
 * A task that a cluster-wide limit refused waits in the table until the limit
 * has room.  If we do not know the limit yet, we drop the trigger and read the
 * limit; a sweep then finds the task again.
 */
static void
take_refusal(GrabAnswers *answers, Batch *batch, const PGresult *result, int row)
{
	int64		until_us = 0;

	if (!PQgetisnull(result, row, GRAB_GRABBED))
		until_us = wire_get_time(result, row, GRAB_GRABBED);
	if (offers_refused(answers->offers, PQgetvalue(result, row, GRAB_TYPE), until_us))
		batch_refuse(batch, wire_get_uuid(result, row, GRAB_ID));
}

/*
 * Opens limits for the tasks won before it closes limits for the tasks
 * refused.
 */
void
grab_answers_take(GrabAnswers *answers, GrabQuestion question, const PGresult *result)
{
	int			lost;

	for (int i = 0; i < PQntuples(result); i++)
		if (!PQgetisnull(result, i, GRAB_VERSION))
			take_task(answers, &question, result, i);
	for (int i = 0; i < PQntuples(result); i++)
		if (PQgetisnull(result, i, GRAB_VERSION))
			take_refusal(answers, question.batch, result, i);
	pfree(question.unreadable);
	lost = batch_drop(question.batch);
	if (lost > 0)
		log_line(TWT_LOG_DEBUG, "grab", "%d lost the race", lost);
}

GrabAnswers *
grab_answers_new(Loop *loop, Execute *execute, Offers *offers)
{
	GrabAnswers *answers = palloc0(sizeof(GrabAnswers));

	answers->loop = loop;
	answers->execute = execute;
	answers->offers = offers;
	return answers;
}

void
grab_answers_free(GrabAnswers *answers)
{
	pfree(answers->deadline_text);
	pfree(answers);
}
