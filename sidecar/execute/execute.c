/*-------------------------------------------------------------------------
 *
 * execute.c
 *		Runs the handlers of grabbed tasks.
 *
 * One timer per handler serves all of its tasks, by the earliest deadline.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/map.h"
#include "execute/deadlines.h"
#include "execute/execute.h"
#include "trace/span.h"

typedef struct Lane
{
	Execute    *execute;
	Handler    *handler;
	const HandlerKind *kind;
	Runner	   *runner;			/* NULL: closed */
	dlist_head	running;
	Deadlines	deadlines;		/* running tasks that were not told to stop */
} Lane;

struct Execute
{
	RunnerParts parts;
	Lane	  **lanes;			/* one per handler */
	int			nlanes;
	int			nrunning;		/* started tasks without a verdict */
	Map		   *known;			/* these and the ended ones, by id */
	bool		has_ended;
};

static void
stop_task(Lane *lane, Task *task, const char *why)
{
	deadlines_remove(&lane->deadlines, task);
	lane->kind->stop_task(lane->runner, task, why);
}

/* When the task's time began to run; 0: at its grab. */
static int64
time_runs_since(const Lane *lane, const Task *task)
{
	return handler_config(lane->handler)->waits_for > 0 ? task->taken_us : 0;
}

/*
 * The time of a worker's task runs from when the worker takes the task up.
 * Until then the deadline stays a full timeout away.
 */
static bool
postpone(Lane *lane, Task *task)
{
	int64		now_us = loop_now_us(lane->execute->parts.loop);
	int64		since_us = task->is_ahead ? now_us : time_runs_since(lane, task);

	if (since_us == 0 || since_us + task->policy->timeout_us <= now_us)
		return false;
	deadlines_move(&lane->deadlines, task, since_us + task->policy->timeout_us);
	return true;
}

static void
on_deadline(void *arg)
{
	Lane	   *lane = arg;
	Task	   *task;

	while ((task = deadlines_late(&lane->deadlines)) != NULL)
	{
		char	   *why;

		if (postpone(lane, task))
			continue;
		why = psprintf("deadline of %.3f s passed",
					   task->policy->timeout_us / 1000000.0);

		stop_task(lane, task, why);
		pfree(why);
	}
	deadlines_arm(&lane->deadlines);
}

/*
 * A task that an operator cancelled ends as cancelled, unless it is done.  No
 * other task may end as cancelled.
 */
static Verdict
judge_cancelled(const Task *task, const Verdict *verdict)
{
	Verdict		result = *verdict;

	if (task->is_cancelled && result.result != TASK_DONE &&
		result.result != TASK_DELETE)
		result.result = TASK_CANCELLED;
	else if (result.result == TASK_CANCELLED)
	{
		result.result = TASK_FAILURE;
		if (result.message == NULL)
			result.message = "handler cancelled it without being asked";
	}
	return result;
}

/* The time from now until the stuck rule applies to an accepted task. */
static int64
time_left(const Lane *lane, const Task *task)
{
	int64		timeout_us = task->policy->timeout_us;
	int64		since_us = time_runs_since(lane, task);
	int64		until_us = since_us == 0 ? task->deadline_us : since_us + timeout_us;

	return Max(until_us - loop_now_us(lane->execute->parts.loop), 0) +
		handler_stuck_us(lane->handler, timeout_us) - timeout_us;
}

/* A slot of the whole cluster stays booked until the database has the outcome. */
static void
free_slot(Task *task)
{
	if (task->has_shared_slot)
		slots_free_here(task->slot);
	else
		slots_free(task->slot);
}

static void
on_verdict(void *arg, Task *task, const Verdict *verdict)
{
	Lane	   *lane = arg;
	Verdict		judged = judge_cancelled(task, verdict);

	dlist_delete(&task->run_node);
	deadlines_remove(&lane->deadlines, task);
	handler_count_bytes(lane->handler, -task->size);
	lane->execute->nrunning--;
	if (map_get(lane->execute->known, task->id) == task)
		map_remove(lane->execute->known, task->id);
	if (judged.result == TASK_ACCEPTED)
		judged.delay_us = time_left(lane, task);
	finish_add(lane->execute->parts.finish, task, &judged);
	free_slot(task);
	task_free(task);
}

static int64
may_start(void *arg)
{
	return node_start_now(arg);
}

static bool
is_shut(void *arg)
{
	return node_may_start(arg) == 0 && node_is_locked(arg);
}

static int64
may_start_until(void *arg)
{
	return node_lease_end_us(arg);
}

Execute *
execute_open(const RunnerParts *parts)
{
	Execute    *execute = palloc0(sizeof(Execute));

	execute->parts = *parts;
	execute->known = map_new(TASK_ID_BYTES);
	execute->parts.gate.incarnation = may_start;
	execute->parts.gate.is_shut = is_shut;
	execute->parts.gate.until_us = may_start_until;
	execute->parts.gate.arg = parts->node;
	return execute;
}

void
execute_add_handler(Execute *execute, Handler *handler)
{
	const HandlerConfig *config = handler_config(handler);
	Lane	   *lane = palloc0(sizeof(Lane));

	lane->execute = execute;
	lane->handler = handler;
	lane->kind = handler_kind(config);
	dlist_init(&lane->running);
	deadlines_open(&lane->deadlines, execute->parts.loop, on_deadline, lane);
	execute->lanes = repalloc(execute->lanes, (execute->nlanes + 1) * sizeof(Lane *));
	execute->lanes[execute->nlanes++] = lane;
	lane->runner = lane->kind->open(&execute->parts, config, on_verdict, lane);
	handler_set_data(handler, lane);
}

void
execute_reload(Execute *execute)
{
	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];

		if (lane->runner != NULL && lane->kind->reload != NULL)
			lane->kind->reload(lane->runner, handler_config(lane->handler));
	}
}

/* Its tasks stay known: a server that lost their grabs gives them again. */
static void
close_lane(Lane *lane)
{
	dlist_iter	iter;

	lane->kind->close(lane->runner);
	lane->runner = NULL;
	dlist_foreach(iter, &lane->running)
	{
		const Task *task = dlist_container(Task, run_node, iter.cur);

		handler_count_bytes(lane->handler, -task->size);
		slots_free(task->slot);
		lane->execute->nrunning--;
		metrics_count(task->counts, COUNT_UNREPORTED);
	}
	deadlines_clear(&lane->deadlines);
}

static void
free_lane(Lane *lane)
{
	dlist_mutable_iter iter;

	if (lane->runner != NULL)
		close_lane(lane);
	dlist_foreach_modify(iter, &lane->running)
		task_free(dlist_container(Task, run_node, iter.cur));
	deadlines_free(&lane->deadlines);
	pfree(lane);
}

void
execute_end(Execute *execute)
{
	execute->has_ended = true;
	for (int i = 0; i < execute->nlanes; i++)
		if (execute->lanes[i]->kind->grabs == NULL)
			close_lane(execute->lanes[i]);
}

void
execute_free(Execute *execute)
{
	for (int i = 0; i < execute->nlanes; i++)
		free_lane(execute->lanes[i]);
	map_free(execute->known);
	pfree(execute->lanes);
	pfree(execute);
}

/*
 * A task that crashes its node at each attempt never gets a verdict.  If its
 * stuck rule is retry, only this check ends its attempts.  max_tries is 0 if a
 * retry function decides.
 */
static bool
has_no_tries_left(const Task *task)
{
	return task->max_tries > 0 && task->tries > task->max_tries;
}

static void
end_unstarted(Execute *execute, Task *task, TaskResult result, const char *why)
{
	Verdict		verdict = {result, TASK_DELAY_BY_POLICY, why};

	finish_add(execute->parts.finish, task, &verdict);
	free_slot(task);
	task_free(task);
}

static Task *
find_task(const Execute *execute, const uint8 *id, int64 version)
{
	Task	   *task = map_get(execute->known, id);

	return task != NULL && task->version == version ? task : NULL;
}

/*
 * The server lost the grab of a task that runs or ran here, and this node has
 * grabbed the task again.  The current run goes on under the new grab.
 */
static bool
is_known_already(Execute *execute, Task *task)
{
	Task	   *known = find_task(execute, task->id, task->version);

	if (known == NULL)
		return false;
	known->token = task->token;
	log_task(TWT_LOG_WARN, "execute", task,
			 "the server had lost its grab; the new one is for the same run");
	slots_free(task->slot);
	task_free(task);
	return true;
}

bool
execute_take(Table *table, TableEntry *entry)
{
	const Lane *lane = handler_data(table_entry_tag(entry));

	if (lane->kind->grabs == NULL)
		return false;
	lane->kind->grabs->take(lane->runner, table, entry);
	return true;
}

void
execute_task(Execute *execute, Task *task)
{
	Lane	   *lane = handler_data(task->handler);
	int64		now_us = loop_now_us(execute->parts.loop);

	if (is_known_already(execute, task))
		return;
	finish_expect(execute->parts.finish);
	metrics_count(task->counts, COUNT_GRABS);
	span_begin(execute->parts.spans, task);
	if (execute->has_ended)
	{
		end_unstarted(execute, task, TASK_RELEASE, NULL);
		return;
	}
	if (task->unreadable != NULL)
	{
		end_unstarted(execute, task, TASK_ERROR, task->unreadable);
		return;
	}
	if (has_no_tries_left(task))
	{
		end_unstarted(execute, task, TASK_ERROR,
					  "its tries ended without a result, and no more are left");
		return;
	}
	/* The answer to the grab came late; the stuck rule may apply. */
	if (task->deadline_us <= now_us)
	{
		log_task(TWT_LOG_WARN, "execute", task, "its deadline passed before it could start");
		end_unstarted(execute, task, TASK_RELEASE, NULL);
		return;
	}
	dlist_push_tail(&lane->running, &task->run_node);
	map_set(execute->known, task->id, task);
	deadlines_add(&lane->deadlines, task);
	handler_count_bytes(lane->handler, task->size);
	execute->nrunning++;
	task->started_us = now_us;
	metrics_count(task->counts, COUNT_STARTED);
	lane->kind->start(lane->runner, task);
}

void
execute_pump(Execute *execute)
{
	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];

		if (lane->kind->grabs != NULL)
			lane->kind->grabs->pump(lane->runner);
	}
}

int
execute_running(const Execute *execute)
{
	int			n = execute->nrunning;

	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];

		if (lane->kind->grabs != NULL)
			n += lane->kind->grabs->running(lane->runner);
	}
	return n;
}

static void
cancel_task(Lane *lane, Task *task, const char *why)
{
	if (task->is_cancelled)
		return;
	task->is_cancelled = true;
	log_task(TWT_LOG_INFO, "execute", task, "%s", why);
	if (lane->kind->cancel_task != NULL)
		lane->kind->cancel_task(lane->runner, task, why);
	else if (task->due_place != HEAP_NOWHERE)
		stop_task(lane, task, why);
}

/*
 * A statement may ignore its cancel, so the request stays until the task has
 * ended.  A SUBMITTED task that none of our sessions runs is locked: the request
 * stays until that lock ends, since the task may start then.
 */
bool
execute_cancel(void *arg, const CancelRequest *request)
{
	const Execute *execute = arg;
	Task	   *task = request->is_ours && !execute->has_ended ?
		find_task(execute, request->id, request->version) : NULL;

	if (task != NULL)
	{
		cancel_task(handler_data(task->handler), task, request->why);
		return false;
	}
	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];

		if (lane->kind->grabs != NULL && lane->kind->grabs->cancel(lane->runner, request))
			break;
	}
	return true;
}

static void
stop_all(Lane *lane, const char *why)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &lane->running)
	{
		Task	   *task = dlist_container(Task, run_node, iter.cur);

		if (task->due_place != HEAP_NOWHERE)
			stop_task(lane, task, why);
	}
}

void
execute_gone(Execute *execute)
{
	for (int i = 0; i < execute->nlanes; i++)
	{
		Lane	   *lane = execute->lanes[i];

		if (lane->kind->grabs != NULL)
			lane->kind->grabs->forget(lane->runner);
		else if (lane->runner != NULL)
			stop_all(lane, "its node was declared gone");
	}
}

void
execute_drain(Execute *execute)
{
	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];

		if (lane->kind->grabs != NULL)
			lane->kind->grabs->give_back(lane->runner);
		else if (lane->kind->give_back != NULL)
			lane->kind->give_back(lane->runner);
	}
}

const char *
execute_trouble(void *arg, int handler)
{
	const Lane *lane = ((Execute *) arg)->lanes[handler];

	return lane->runner == NULL || lane->kind->trouble == NULL ? NULL : lane->kind->trouble(lane->runner);
}

void
execute_add_crashes(void *arg, json_t *list)
{
	const Execute *execute = arg;

	for (int i = 0; i < execute->nlanes; i++)
	{
		const Lane *lane = execute->lanes[i];
		const char *crash = lane->runner == NULL || lane->kind->crashes == NULL ? NULL :
			lane->kind->crashes(lane->runner);

		if (crash != NULL)
			json_array_append_new(list, json_sprintf("worker \"%s\" ends again and again, with its tasks: %s",
													 handler_config(lane->handler)->types[0], crash));
	}
}
