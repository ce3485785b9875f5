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
#include "calls/calls.h"

struct GrabAnswers
{
	Loop	   *loop;
	TaskClock  *clock;
	Execute    *execute;
	Offers	   *offers;
	int64		now_us;			/* when the answer came, by the loop's clock
								 * ... */
	int64		clock_us;		/* ... and by ours */
	int64		deadline_us;	/* deadline of the last task, in us since 1970
								 * ... */
	char	   *deadline_text;	/* ... and as text; NULL: none yet */
};

/* Texts of a task, which lie behind it in one allocation. */
typedef struct Texts
{
	const PGresult *result;
	int			row;
	char	   *free;			/* where the next one goes */
} Texts;

static char *
keep_bytes(Texts *texts, const char *bytes, size_t len)
{
	char	   *copy = texts->free;

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	texts->free += len + 1;
	return copy;
}

static char *
keep_text(Texts *texts, int column)
{
	if (PQgetisnull(texts->result, texts->row, column))
		return NULL;
	return keep_bytes(texts, PQgetvalue(texts->result, texts->row, column),
					  PQgetlength(texts->result, texts->row, column));
}

static char *
keep_json(Texts *texts, int column, size_t *len)
{
	const char *json;

	if (PQgetisnull(texts->result, texts->row, column))
		return NULL;
	json = wire_get_json(texts->result, texts->row, column, len);
	return keep_bytes(texts, json, *len);
}

/* The raw payload if there is one, else the JSON. */
static void
keep_data(Texts *texts, Task *task)
{
	task->is_binary = !PQgetisnull(texts->result, texts->row, GRAB_PAYLOAD);
	if (!task->is_binary)
	{
		task->data = keep_json(texts, GRAB_DATA, &task->data_len);
		return;
	}
	task->data_len = PQgetlength(texts->result, texts->row, GRAB_PAYLOAD);
	task->data = keep_text(texts, GRAB_PAYLOAD);
}

/* A task with its texts. */
static Task *
allocate_task(const PGresult *result, int row, const char *deadline)
{
	static const int columns[] = {
		GRAB_TYPE, GRAB_SUB_TYPE, GRAB_KEY, GRAB_BUCKET, GRAB_CONTEXT, GRAB_DATA, GRAB_PAYLOAD
	};
	size_t		size = strlen(deadline) + 1;
	Texts		texts = {result, row, NULL};
	Task	   *task;
	size_t		len;

	for (size_t i = 0; i < lengthof(columns); i++)
		size += PQgetlength(result, row, columns[i]) + 1;
	task = palloc(sizeof(Task) + size);
	memset(task, 0, sizeof(Task));
	task->size = size;
	texts.free = (char *) (task + 1);
	task->type = keep_text(&texts, GRAB_TYPE);
	task->sub_type = keep_text(&texts, GRAB_SUB_TYPE);
	task->key = keep_text(&texts, GRAB_KEY);
	task->bucket = keep_text(&texts, GRAB_BUCKET);
	task->context = keep_json(&texts, GRAB_CONTEXT, &len);
	task->deadline_text = keep_bytes(&texts, deadline, strlen(deadline));
	keep_data(&texts, task);
	return task;
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
static const char *
deadline_text(GrabAnswers *answers, int64 unix_us)
{
	if (answers->deadline_text == NULL || unix_us != answers->deadline_us)
	{
		pfree(answers->deadline_text);
		answers->deadline_text = iso_time(unix_us);
		answers->deadline_us = unix_us;
	}
	return answers->deadline_text;
}

/*
 * The time since the database grabbed a task.  It is at most the time since we
 * sent the grab, so that a clock that was set does not matter.
 */
static int64
age_of_grab(const GrabAnswers *answers, int64 grabbed_us, int64 sent_us)
{
	return Max(0, Min(answers->clock_us - grabbed_us, answers->now_us - sent_us));
}

static int64
time_waited(const GrabAnswers *answers, const PGresult *result, int row, int64 sent_us)
{
	int64		grabbed_us = wire_get_time(result, row, GRAB_GRABBED);

	return PQgetisnull(result, row, GRAB_RUNNABLE) ? -1 :
		Max(grabbed_us - wire_get_time(result, row, GRAB_RUNNABLE), 0) +
		age_of_grab(answers, grabbed_us, sent_us);
}

static Task *
make_task(GrabAnswers *answers, const PGresult *result, int row, Policy *policy, int64 sent_us)
{
	int64		grabbed_us = wire_get_time(result, row, GRAB_GRABBED);
	Task	   *task = allocate_task(result, row,
									 deadline_text(answers, grabbed_us + policy->timeout_us));

	memcpy(task->id, wire_get_uuid(result, row, GRAB_ID), TASK_ID_BYTES);
	trigger_id_text(task->id, task->id_text);
	task->version = wire_get_int(result, row, GRAB_VERSION);
	task->priority = wire_get_int(result, row, GRAB_PRIORITY);
	task->tries = wire_get_int(result, row, GRAB_TRIES);
	task->deadline_us = answers->now_us + policy->timeout_us -
		age_of_grab(answers, grabbed_us, sent_us);
	task->waited_us = time_waited(answers, result, row, sent_us);
	task->policy = policy;
	task->max_tries = policy->max_tries;
	task->place = wire_get_place(result, row, GRAB_PLACE);
	return task;
}

static void
take_task(GrabAnswers *answers, GrabQuestion *question, const PGresult *result, int row)
{
	Limit	   *slot;
	Policy	   *policy;
	TypeCounts *counts;
	Handler    *handler = batch_take(question->batch, wire_get_uuid(result, row, GRAB_ID),
									 &slot, &policy, &counts);
	Task	   *task;

	if (handler == NULL)
		return;
	slots_grant(slot);
	task = make_task(answers, result, row, policy, question->sent_us);
	task->handler = handler;
	task->counts = counts;
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
	if (offers_refused(answers->offers, PQgetvalue(result, row, GRAB_TYPE),
					   batch_again_us(result, row)))
		batch_refuse(batch, wire_get_uuid(result, row, GRAB_ID));
}

static void
count_lost(const Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
	{
		const BatchItem *item = &batch->items[i];

		if (item->entry != NULL)
			metrics_count(table_counts(item->table, item->entry), COUNT_LOST_GRABS);
	}
}

/*
 * Opens limits for the tasks won before it closes limits for the tasks
 * refused.
 */
void
grab_answers_take(GrabAnswers *answers, GrabQuestion question, const PGresult *result)
{
	int			lost;

	answers->now_us = loop_now_us(answers->loop);
	answers->clock_us = task_clock_us(answers->clock);
	for (int i = 0; i < PQntuples(result); i++)
		if (!PQgetisnull(result, i, GRAB_VERSION))
			take_task(answers, &question, result, i);
	for (int i = 0; i < PQntuples(result); i++)
		if (PQgetisnull(result, i, GRAB_VERSION))
			take_refusal(answers, question.batch, result, i);
	pfree(question.unreadable);
	count_lost(question.batch);
	lost = batch_drop(question.batch);
	if (lost > 0)
		log_line(TWT_LOG_DEBUG, "grab", "%d lost the race", lost);
}

bool
grab_answers_blame_content(const PGresult *failure)
{
	const char *sqlstate = pg_sqlstate(failure);

	return strncmp(sqlstate, "22", 2) == 0 ||	/* its encoding, say */
		strncmp(sqlstate, "54", 2) == 0 ||	/* too long as text */
		strncmp(sqlstate, "XX", 2) == 0;	/* damaged */
}

char *
grab_answers_describe(const PGresult *failure)
{
	const char *text = PQresultErrorField(failure, PG_DIAG_MESSAGE_PRIMARY);

	return psprintf("its data cannot be read: %s (SQLSTATE %s)",
					text == NULL ? "failed" : text, pg_sqlstate(failure));
}

GrabAnswers *
grab_answers_new(Loop *loop, TaskClock *clock, Execute *execute, Offers *offers)
{
	GrabAnswers *answers = palloc0(sizeof(GrabAnswers));

	answers->loop = loop;
	answers->clock = clock;
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
