/*-------------------------------------------------------------------------
 *
 * finish_item.c
 *		An outcome of a task on its way to the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/policy.h"
#include "common/trigger.h"
#include "finish/finish_item.h"
#include "metrics/metrics.h"
#include "pg/lacking.h"
#include "pg/pg.h"
#include "slots/slots.h"
#include "trace/span.h"

/* Tokens of grabs are positive. */
#define NO_GRAB (-1)

static Judgement *
make_judgement(const Task *task, const Verdict *verdict, int64 now_us)
{
	Judgement  *judgement = palloc0(sizeof(Judgement));

	memcpy(judgement->task.id, task->id, TASK_ID_BYTES);
	memcpy(judgement->task.id_text, task->id_text, sizeof(task->id_text));
	judgement->task.version = task->version;
	judgement->task.type = pstrdup(task->type);
	judgement->task.tries = task->tries;
	judgement->task.policy = policy_ref(task->policy);
	judgement->nlogged = verdict->nlogged;
	judgement->since_us = now_us;
	return judgement;
}

/* A worker may take a task up after it was given. */
static void
count_times(const Task *task, int64 now_us)
{
	int64		began_us = Max(task->started_us, task->taken_us);

	if (task->started_us == 0)
		return;
	if (task->waited_us >= 0)
		metrics_time(task->counts, TIME_WAIT, task->waited_us + began_us - task->started_us);
	metrics_time(task->counts, TIME_RUN, now_us - began_us);
}

FinishItem *
finish_item_new(const Task *task, const Verdict *verdict, int64 now_us)
{
	FinishItem *item = palloc0(sizeof(FinishItem));
	bool		is_failure = verdict->result == TASK_FAILURE;

	memcpy(item->id, task->id, TASK_ID_BYTES);
	item->version = task->version;
	item->grab = task->token;
	item->place = task->place;
	item->counts = task->counts;
	item->span = span_stop(task, now_us);
	count_times(task, now_us);
	item->result = is_failure ? TASK_RETRY : verdict->result;
	item->delay_ms = is_failure || verdict->delay_us < 0 ? -1 : (verdict->delay_us + 999) / 1000;
	item->message = verdict->message == NULL ? NULL : pstrdup(verdict->message);
	item->outcome = verdict->outcome == NULL ? NULL : pstrdup(verdict->outcome);
	item->add = verdict->add == NULL ? NULL : pstrdup(verdict->add);
	item->slot = task->has_shared_slot ? task->slot : NULL;
	if (item->result == TASK_RETRY || item->result == TASK_REPEAT || item->result == TASK_ERROR)
		item->judgement = make_judgement(task, verdict, now_us);
	return item;
}

void
finish_items_drop_tokens(dlist_head *items)
{
	dlist_iter	iter;

	dlist_foreach(iter, items)
	{
		FinishItem *item = dlist_container(FinishItem, node, iter.cur);

		item->token = 0;
		item->grab = NO_GRAB;
	}
}

void
finish_item_free(FinishItem *item)
{
	pfree(item->message);
	pfree(item->outcome);
	pfree(item->add);
	pfree(item->span);
	if (item->slot != NULL)
		slots_free_shared(item->slot);
	if (item->judgement != NULL)
	{
		pfree(item->judgement->task.type);
		policy_unref(item->judgement->task.policy);
		pfree(item->judgement);
	}
	pfree(item);
}

static size_t
length_of(const char *text)
{
	return text == NULL ? 0 : strlen(text);
}

size_t
finish_item_bytes(const FinishItem *item)
{
	return length_of(item->message) + length_of(item->outcome) + length_of(item->add);
}

/*
 * Beyond class 22, only JSON that is too deep is the content's fault.  A server
 * that is short of transaction ids refuses all statements with 54000, and one with
 * a damaged page refuses some with class XX.
 */
static bool
is_at_fault(const char *sqlstate)
{
	return strncmp(sqlstate, "22", 2) == 0 || strcmp(sqlstate, "54001") == 0;
}

bool
finish_item_replace_bad(FinishItem *item, const PGresult *refusal)
{
	const char *sqlstate = pg_sqlstate(refusal);
	const char *what = item->add != NULL ? "tasks to add" :
		item->outcome != NULL ? "outcome" : "message";

	if (lacking_replace(item->message, refusal, &item->nreplaced))
		return true;
	if (!is_at_fault(sqlstate) ||
		(item->add == NULL && item->outcome == NULL && item->message == NULL))
		return false;
	if (item->add != NULL || item->outcome != NULL)
		item->result = TASK_ERROR;
	pfree(item->add);
	pfree(item->outcome);
	pfree(item->message);
	item->add = item->outcome = NULL;
	item->message = psprintf("the handler's %s could not be stored", what);
	return false;
}

void
finish_item_log_refused(const FinishItem *item)
{
	char		id[TASK_ID_TEXT + 1];

	metrics_count(item->counts, COUNT_REFUSED);
	span_end(item->span, COUNT_REFUSED);
	trigger_id_text(item->id, id);
	log_line(TWT_LOG_WARN, "finish",
			 "refused \"%s\" for task %s version " INT64_FORMAT
			 ": it was taken over or changed meanwhile",
			 task_result_name(item->result), id, item->version);
}

/* The older grab of a task comes first. */
static int
compare_items(const void *a, const void *b)
{
	const FinishItem *x = *(FinishItem *const *) a;
	const FinishItem *y = *(FinishItem *const *) b;
	int			order = memcmp(x->id, y->id, TASK_ID_BYTES);

	return order != 0 ? order : x->grab < y->grab ? -1 : x->grab > y->grab;
}

int
finish_items_sort(FinishItem **items, int n)
{
	FinishItem **again = palloc(n * sizeof(FinishItem *));
	int			nagain = 0;
	int			kept = 0;

	qsort(items, n, sizeof(FinishItem *), compare_items);
	for (int i = 0; i < n; i++)
	{
		if (kept > 0 && memcmp(items[i]->id, items[kept - 1]->id, TASK_ID_BYTES) == 0)
			again[nagain++] = items[i];
		else
			items[kept++] = items[i];
	}
	memcpy(items + kept, again, nagain * sizeof(FinishItem *));
	pfree(again);
	return kept;
}

static int
compare_id(const void *id, const void *item)
{
	return memcmp(id, (*(FinishItem *const *) item)->id, TASK_ID_BYTES);
}

FinishItem *
finish_items_find(FinishItem *const *items, int n, const uint8 *id)
{
	FinishItem *const *found = bsearch(id, items, n, sizeof(FinishItem *), compare_id);

	return found == NULL ? NULL : *found;
}

void
finish_items_add_ids(FinishItem *const *items, int n, WireParams *params)
{
	wire_add_array(params, WIRE_UUID, n);
	for (int i = 0; i < n; i++)
		wire_uuid(params, items[i]->id);
	wire_add_array(params, WIRE_INT8, n);
	for (int i = 0; i < n; i++)
		wire_int8(params, items[i]->version);
}

/* If all tasks are simply done, one value stands for all. */
static bool
all_are_done(FinishItem *const *items, int n)
{
	for (int i = 0; i < n; i++)
		if (items[i]->result != TASK_DONE || items[i]->message != NULL)
			return false;
	return true;
}

void
finish_items_add_outcomes(FinishItem *const *items, int n, WireParams *params)
{
	if (all_are_done(items, n))
		n = 1;

	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, task_result_name(items[i]->result));
	wire_add_array(params, WIRE_INT8, n);
	for (int i = 0; i < n; i++)
	{
		if (items[i]->delay_ms < 0)
			wire_null_element(params);
		else
			wire_int8(params, items[i]->delay_ms);
	}
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, items[i]->message);
}

static const char *
retry_of(const FinishItem *item)
{
	return item->judgement == NULL || item->result == TASK_ERROR ? NULL : item->judgement->task.policy->retry;
}

static const char *
outcome_of(const FinishItem *item)
{
	return item->outcome;
}

static const char *
add_of(const FinishItem *item)
{
	return item->add;
}

/* Adds a JSON text of each item; null if none has one. */
static void
add_json(FinishItem *const *items, int n, const char *(*json_of) (const FinishItem *item),
		 WireParams *params)
{
	bool		any = false;

	for (int i = 0; i < n && !any; i++)
		any = json_of(items[i]) != NULL;
	if (!any)
	{
		wire_add_text(params, NULL);
		return;
	}
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, json_of(items[i]));
}

/* Adds the retry options of the handlers, for types without a retry policy. */
void
finish_items_add_retries(FinishItem *const *items, int n, WireParams *params)
{
	add_json(items, n, retry_of, params);
}

/* Adds the outcomes for functions of on_end, and the tasks that handlers add. */
void
finish_items_add_json(FinishItem *const *items, int n, WireParams *params)
{
	add_json(items, n, outcome_of, params);
	add_json(items, n, add_of, params);
}

void
finish_items_add_grabs(FinishItem *const *items, int n, WireParams *params)
{
	wire_add_array(params, WIRE_INT8, n);
	for (int i = 0; i < n; i++)
		wire_int8(params, items[i]->grab);
	wire_add_array(params, WIRE_TID, n);
	for (int i = 0; i < n; i++)
		wire_place(params, &items[i]->place);
}
