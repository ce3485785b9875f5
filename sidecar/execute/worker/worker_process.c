/*-------------------------------------------------------------------------
 *
 * worker_process.c
 *		One process of a worker handler: its tasks, and their ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/text.h"
#include "execute/worker/conduct.h"
#include "execute/worker/flights.h"
#include "execute/worker/given_line.h"
#include "execute/worker/worker_process.h"
#include "helper/resident.h"
#include "node/task_clock.h"
#include "protocol/worker_input.h"
#include "protocol/worker_protocol.h"

#define NODE_GONE "was stopped because its node was declared gone"
#define NODE_LOCKED "was stopped with unread tasks because its node begins anew"
#define OTHERS_DEADLINE "was stopped because another task passed its deadline"

/* No more tasks are given while this many bytes wait to be written. */
#define UNWRITTEN_MAX (1024 * 1024)

/* The most bytes quoted from a line that is not a reply. */
#define QUOTE_MAX 200

/* The database keeps no more of a message, and each task in flight has a copy. */
#define WORDS_MAX 8192

struct WorkerProcess
{
	WorkerSetup *setup;
	Resident   *resident;
	LineWriter *input;			/* the resident's */
	Conduct    *conduct;
	Flights    *flights;
	int64		given_under;	/* incarnation of the unwritten tasks; 0: none */
};

static const Verdict released = {TASK_RELEASE, 0, NULL};

static int64
now(const WorkerProcess *process)
{
	return loop_now_us(process->setup->loop);
}

static void
report(const WorkerProcess *process, Task *task, const Verdict *verdict)
{
	process->setup->done(process->setup->done_arg, task, verdict);
}

bool
worker_process_is_up(const WorkerProcess *process)
{
	return resident_is_up(process->resident);
}

static bool
is_running(const WorkerProcess *process)
{
	return resident_state(process->resident) == RESIDENT_RUNNING;
}

/* A process that is being replaced ends with its last task. */
static void
end_idle(WorkerProcess *process)
{
	if (!resident_is_to_end(process->resident) || !worker_process_is_up(process) ||
		worker_process_load(process) > 0)
		return;
	resident_end(process->resident, "is being replaced");
}

void
worker_process_retire(WorkerProcess *process)
{
	resident_want_end(process->resident);
	if (resident_state(process->resident) == RESIDENT_DOWN)
		flights_forget_worker(process->flights);
	end_idle(process);
}

int
worker_process_starts(const WorkerProcess *process)
{
	return resident_starts(process->resident);
}

/* ---- what it is given ---- */

bool
worker_process_has_room(const WorkerProcess *process)
{
	return is_running(process) && !resident_is_to_end(process->resident) &&
		flights_lines(process->flights) < process->setup->config->prefetch &&
		lines_unwritten(process->input) < UNWRITTEN_MAX;
}

int
worker_process_load(const WorkerProcess *process)
{
	return flights_count(process->flights);
}

void
worker_process_give(WorkerProcess *process, dlist_head *waiting, int64 incarnation)
{
	const WorkerSetup *setup = process->setup;
	int64		begins = lines_position(process->input);
	dlist_head	tasks;
	dlist_iter	iter;

	if (worker_process_load(process) == 0)
		resident_keep_words(process->resident, Min(setup->config->max_output, WORDS_MAX));
	process->given_under = incarnation;
	dlist_init(&tasks);
	given_line_make(&process->input->bytes, setup->config, waiting, &tasks, setup->gate->until_us(setup->gate->arg));
	dlist_foreach(iter, &tasks)
		dlist_container(Task, node, iter.cur)->run = process;
	flights_add(process->flights, &tasks, begins, lines_position(process->input), now(process));
	metrics_handler(setup->metrics, setup->config->index, HANDLER_LINES);
}

void
worker_process_greet(WorkerProcess *process)
{
	const char *hello = process->setup->config->hello;

	if (worker_process_is_up(process))
		resident_say(process->resident, hello, strlen(hello));
}

void
worker_process_ask(WorkerProcess *process, Task *task, const char *why)
{
	if (!worker_process_is_up(process))
		return;
	worker_input_add_cancel(&process->input->bytes, task, why);
	loop_want_turn(process->setup->loop);
}

static void
watch_stops(WorkerProcess *process)
{
	int64		until_us;
	bool		has_stop = flights_next_stop(process->flights, &until_us);

	resident_look_in(process->resident, has_stop ? Max(until_us - now(process), 0) : -1);
}

void
worker_process_stop(WorkerProcess *process, Task *task, const char *why)
{
	int64		until_us = now(process) + process->setup->config->grace_us;

	if (!worker_process_is_up(process) || !flights_stop(process->flights, task, why, until_us))
		return;
	worker_process_ask(process, task, why);
	watch_stops(process);
}

static void
on_look(void *arg)
{
	resident_end(((WorkerProcess *) arg)->resident, OTHERS_DEADLINE);
}

static bool
is_of_another(const WorkerProcess *process, int64 incarnation)
{
	return process->given_under != 0 && process->given_under != incarnation;
}

/* A line that is half written cannot be taken back, so the process is ended. */
void
worker_process_begin(WorkerProcess *process, int64 incarnation)
{
	if (worker_process_is_up(process) && is_of_another(process, incarnation))
		resident_end(process->resident, NODE_GONE);
}

/*
 * Unwritten lines may not be written now.  While the gate is shut they must go, but not
 * at the cost of a task that may run.
 */
static void
hold(WorkerProcess *process)
{
	const RunnerGate *gate = process->setup->gate;

	if (worker_process_is_up(process) && gate->is_shut(gate->arg) &&
		!flights_any_may_have_run(process->flights, process->input->sent))
		resident_end(process->resident, NODE_LOCKED);
	else
		resident_hold(process->resident);
}

void
worker_process_flush(WorkerProcess *process)
{
	const RunnerGate *gate = process->setup->gate;

	if (lines_unwritten(process->input) > 0 && is_of_another(process, gate->incarnation(gate->arg)))
		hold(process);
	else
		resident_flush(process->resident);
	if (lines_unwritten(process->input) == 0)
		process->given_under = 0;
}

/* ---- its lines ---- */

static void
finish(WorkerProcess *process, Task *task, const WorkerReply *reply)
{
	Verdict		verdict = {reply->result, reply->delay_us, reply->message, .outcome = reply->outcome, .add = reply->add};
	char	   *why = flights_remove(process->flights, task);

	flights_go_on(process->flights, now(process));
	if (reply->result == TASK_RELEASE)
		verdict.delay_us = Max(reply->delay_us, 0);
	if (reply->at_us != WORKER_NO_TIME)
		verdict.delay_us = Max(reply->at_us - task_clock_us(process->setup->clock), 0);
	if (reply->result == TASK_CANCELLED && reply->message == NULL)
		verdict.message = why;
	report(process, task, &verdict);
	pfree(why);
	conduct_did_work(process->conduct);
	watch_stops(process);
	end_idle(process);
}

/*
 * Replies of a process that is being ended still count, unless it has broken the
 * protocol: it may have done a task in time.  A report of a task taken up always counts.
 */
static void
take_reply(WorkerProcess *process, const WorkerReply *reply, const WorkerTask *whose)
{
	Task	   *task = flights_find(process->flights, whose->id, whose->version);

	if (task != NULL)
		conduct_replied(process->conduct);
	if (task != NULL && reply->word == WORKER_STARTED)
		flights_take_up(process->flights, task, now(process));
	else if (task != NULL && reply->word == WORKER_PROGRESS)
		progress_note(process->setup->progress, task, reply->percent, reply->message);
	else if (task != NULL && !conduct_has_broken(process->conduct))
		finish(process, task, reply);
	else if (worker_process_is_up(process))
		conduct_ignore(process->conduct, "it names a task that is not in flight");
}

static void
take_replies(WorkerProcess *process, const WorkerReply *reply)
{
	if (reply->many == NULL)
		take_reply(process, reply, &reply->one);
	else
		for (int i = 0; i < reply->nmany; i++)
			take_reply(process, reply, &reply->many[i]);
}

static void
take_word(WorkerProcess *process, const WorkerReply *reply)
{
	if (reply->word == WORKER_RESULT || reply->word == WORKER_STARTED || reply->word == WORKER_PROGRESS)
		take_replies(process, reply);
	else if (!worker_process_is_up(process))
		return;
	else if (reply->word == WORKER_READY)
		conduct_ready(process->conduct);
	else if (reply->word == WORKER_REFUSED)
		conduct_refused(process->conduct, reply->message);
	else
		conduct_ignore(process->conduct, reply->message);
}

/* Takes the quote, which may be NULL. */
static void
take_fault(WorkerProcess *process, const char *what, char *quote)
{
	if (worker_process_is_up(process))
		conduct_fault(process->conduct, what, quote);
	else
		pfree(quote);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, len, &reply);

	if (error == NULL)
		take_word(arg, &reply);
	else
		take_fault(arg, error, text_quote_line(line, len, QUOTE_MAX));
	pfree(error);
	worker_protocol_clear(&reply);
}

static void
on_long_line(void *arg, const char *head)
{
	WorkerReply reply;

	if (worker_protocol_decode_long(head, &reply))
		take_word(arg, &reply);
	else
		take_fault(arg, "line is longer than 1 MB", NULL);
	worker_protocol_clear(&reply);
}

/* ---- its start ---- */

static void
prepare(void *arg, ResidentStart *start)
{
	WorkerProcess *process = arg;
	const HandlerConfig *config = process->setup->config;

	if (resident_starts(process->resident) > 1)
		metrics_handler(process->setup->metrics, config->index, HANDLER_RESTARTS);
	conduct_begin(process->conduct);
	start->argv = config->argv;
	start->directory = config->directory;
	start->environment = config->variables;
	start->hello = config->hello;
	start->leave_us = start->grace_us = config->grace_us;
}

static void
on_failure(void *arg, const SpawnFailure *failure)
{
	conduct_not_started(((WorkerProcess *) arg)->conduct, failure);
}

static void
on_slow(void *arg)
{
	conduct_is_slow(((WorkerProcess *) arg)->conduct);
}

static void
on_running(void *arg)
{
	conduct_is_running(((WorkerProcess *) arg)->conduct);
}

/* ---- its end ---- */

/*
 * A task that was asked to stop fails with the reason of the stop, also if the process
 * left it in the pipe until then.  Others fail with the message, unless they cannot
 * have begun.  Returns whether the task has failed.
 */
static bool
fail_task(WorkerProcess *process, Task *task, const Verdict *failed, int64 unread)
{
	int64		sent = process->input->sent;
	bool		is_read = flights_may_have_run(process->flights, task, sent);
	bool		is_written = !task->is_ahead && flights_was_sent(process->flights, task, sent + unread);
	char	   *why = flights_remove(process->flights, task);
	bool		has_run = why != NULL ? is_written : is_read;
	Verdict		stopped = {TASK_FAILURE, 0, why};

	report(process, task, !has_run ? &released : why != NULL ? &stopped : failed);
	pfree(why);
	return has_run;
}

/*
 * No more replies will come.  Fails the tasks in flight, or gives them back.  Returns
 * whether any may have begun.
 */
static bool
fail_tasks(WorkerProcess *process, const Verdict *failed, const ResidentEnd *end)
{
	Task	   *task;
	int			nfailed = 0;
	int			nreleased = 0;

	while ((task = flights_first(process->flights)) != NULL)
		if (fail_task(process, task, failed, end->unread))
			nfailed++;
		else
			nreleased++;
	if (nreleased > 0)
		log_line(TWT_LOG_WARN, "worker", "%s[%d]: %.*s; tasks given back that had not begun: %d",
				 process->setup->config->argv[0], end->pid, failed->nlogged, failed->message, nreleased);
	return nfailed > 0;
}

static void
on_end(void *arg, const ResidentEnd *end)
{
	WorkerProcess *process = arg;
	StringInfoData message;
	Verdict		failed = {TASK_FAILURE};
	bool		has_begun;

	initStringInfo(&message);
	failed.nlogged = conduct_describe_end(process->conduct, end, &message);
	failed.message = message.data;
	has_begun = fail_tasks(process, &failed, end);
	pfree(message.data);
	if (resident_is_to_end(process->resident))
		flights_forget_worker(process->flights);
	conduct_end(process->conduct, end, has_begun);
	process->given_under = 0;
}

const char *
worker_process_trouble(const WorkerProcess *process, bool is_unfit)
{
	return resident_trouble(process->resident, is_unfit);
}

WorkerProcess *
worker_process_new(WorkerSetup *setup)
{
	static const ResidentOwner owner = {
		.prepare = prepare,
		.on_failure = on_failure,
		.on_slow = on_slow,
		.on_running = on_running,
		.on_look = on_look,
		.on_line = on_line,
		.on_long_line = on_long_line,
		.on_end = on_end
	};
	WorkerProcess *process = palloc0(sizeof(WorkerProcess));

	process->setup = setup;
	process->resident = resident_new(setup->loop, &owner, process, setup->config->argv[0]);
	process->input = resident_input(process->resident);
	process->conduct = conduct_new(setup, process->resident);
	process->flights = flights_new();
	resident_run(process->resident);
	return process;
}

void
worker_process_dismiss(WorkerProcess *process)
{
	Task	   *task;

	if (resident_state(process->resident) == RESIDENT_DOWN)
		return;
	resident_dismiss(process->resident);
	while ((task = flights_last(process->flights)) != NULL &&
		   !flights_was_sent(process->flights, task, process->input->sent))
	{
		pfree(flights_remove(process->flights, task));
		report(process, task, &released);
	}
}

void
worker_process_free(WorkerProcess *process, int patience_ms)
{
	resident_free(process->resident, patience_ms);
	flights_free(process->flights);
	conduct_free(process->conduct);
	loop_defer_free(process->setup->loop, process);
}
