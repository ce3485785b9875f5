/*-------------------------------------------------------------------------
 *
 * worker_process.c
 *		One process of a worker handler, and the conclusions from its lines.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/output.h"
#include "base/text.h"
#include "execute/worker/flights.h"
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
	Flights    *flights;
	int64		given_under;	/* incarnation of the unwritten tasks; 0: none */
	bool		is_ready;		/* the process accepted its hello */
	bool		has_replied;	/* with a word on a task: it works */
	bool		has_ignored;	/* a line, and logged it */
	char	   *quote;			/* its faulty line, for the tasks only; or
								 * NULL */
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
		worker_process_load(process) < process->setup->config->prefetch &&
		lines_unwritten(process->input) < UNWRITTEN_MAX;
}

int
worker_process_load(const WorkerProcess *process)
{
	return flights_count(process->flights);
}

void
worker_process_give(WorkerProcess *process, Task *task, int64 incarnation)
{
	const RunnerGate *gate = process->setup->gate;
	int64		begins = lines_position(process->input);

	if (worker_process_load(process) == 0)
		resident_keep_words(process->resident, Min(process->setup->config->max_output, WORDS_MAX));
	task->run = process;
	process->given_under = incarnation;
	worker_input_add_task(&process->input->bytes, task, gate->until_us(gate->arg));
	flights_add(process->flights, task, begins, lines_position(process->input), now(process));
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

/*
 * Takes the quote, which may be NULL.  It may have data of a task, so it goes to the
 * tasks but not to the log.
 */
static void
take_fault(WorkerProcess *process, const char *what, char *quote)
{
	char	   *reason;

	if (!worker_process_is_up(process))
	{
		pfree(quote);
		return;
	}
	metrics_handler(process->setup->metrics, process->setup->config->index, HANDLER_PROTOCOL_ERRORS);
	reason = psprintf("broke the protocol: %s", what);
	log_line(TWT_LOG_WARN, "worker", "%s[%d]: worker %s",
			 process->setup->config->argv[0], resident_pid(process->resident), reason);
	process->quote = quote;
	resident_end(process->resident, reason);
	pfree(reason);
}

/*
 * A worker may refuse reloaded settings.  Then its old settings stay.  A task that
 * the worker has read may have begun: then the error may concern the task.
 */
static void
refuse_hello(WorkerProcess *process, const char *message)
{
	char	   *reason = psprintf("refused its settings: %s", message);

	log_line(TWT_LOG_ERROR, "worker", "%s[%d]: worker %s", process->setup->config->argv[0],
			 resident_pid(process->resident), reason);
	if (!process->is_ready)
	{
		resident_set_trouble(process->resident, TROUBLE_UNFIT, psprintf("worker %s", reason));
		resident_end(process->resident, reason);
	}
	pfree(reason);
}

static void
take_ready(WorkerProcess *process)
{
	process->is_ready = true;
	if (resident_state(process->resident) == RESIDENT_STARTING)
		resident_running(process->resident);
}

/* Such a line may stand for a task that now waits until its deadline. */
static void
ignore_line(WorkerProcess *process, const char *why)
{
	if (!process->has_ignored)
		log_line(TWT_LOG_WARN, "worker", "%s[%d]: ignores a line that is not a reply: %s",
				 process->setup->config->argv[0], resident_pid(process->resident), why);
	process->has_ignored = true;
}

static void
finish(WorkerProcess *process, Task *task, const WorkerReply *reply)
{
	Verdict		verdict = {reply->result, reply->delay_us, reply->message, .outcome = reply->outcome, .add = reply->add};
	char	   *why = flights_remove(process->flights, task);

	flights_go_on(process->flights, now(process));
	if (reply->result == TASK_RELEASE)
		verdict.delay_us = Max(reply->delay_us, 0);
	if (reply->at_us != WORKER_NO_TIME)
		verdict.delay_us = Max(reply->at_us - task_clock_us(), 0);
	if (reply->result == TASK_CANCELLED && reply->message == NULL)
		verdict.message = why;
	report(process, task, &verdict);
	pfree(why);
	resident_was_useful(process->resident);
	crashes_clear(process->setup->crashes);
	watch_stops(process);
	end_idle(process);
}

/* From a process that is being ended, only reports of tasks taken up still count. */
static void
take_reply(WorkerProcess *process, const WorkerReply *reply)
{
	Task	   *task = flights_find(process->flights, reply->id, reply->version);
	bool		is_up = worker_process_is_up(process);

	process->has_replied |= task != NULL;
	if (task != NULL && reply->word == WORKER_STARTED)
		flights_take_up(process->flights, task, now(process));
	else if (task != NULL && reply->word == WORKER_PROGRESS)
		progress_note(process->setup->progress, task, reply->percent, reply->message);
	else if (task != NULL && is_up)
		finish(process, task, reply);
	else if (is_up)
		ignore_line(process, "it names a task that is not in flight");
}

static void
take_word(WorkerProcess *process, const WorkerReply *reply)
{
	bool		is_up = worker_process_is_up(process);

	if (is_up && reply->word == WORKER_READY)
		take_ready(process);
	else if (is_up && reply->word == WORKER_REFUSED && (process->is_ready || !process->has_replied))
		refuse_hello(process, reply->message);
	else if (is_up && (reply->word == WORKER_REFUSED || reply->word == WORKER_STRANGE))
		ignore_line(process, reply->word == WORKER_STRANGE ? reply->message : "it has an error but no task");
	else
		take_reply(process, reply);
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
	process->is_ready = process->has_replied = process->has_ignored = false;
	start->argv = config->argv;
	start->directory = config->directory;
	start->environment = config->variables;
	start->hello = config->hello;
	start->leave_us = start->grace_us = config->grace_us;
}

static void
on_failure(void *arg, const SpawnFailure *failure)
{
	resident_set_trouble(((WorkerProcess *) arg)->resident,
						 failure->is_temporary ? TROUBLE_SHORTAGE : TROUBLE_UNFIT,
						 pstrdup(failure->message));
}

static void
on_slow(void *arg)
{
	WorkerProcess *process = arg;

	if (resident_trouble(process->resident, false) == NULL)
		resident_set_trouble(process->resident, TROUBLE_UNFIT, pstrdup("worker has not read its first line yet"));
}

/* The program works, as far as we can tell: it may have tasks. */
static void
on_running(void *arg)
{
	resident_set_trouble(((WorkerProcess *) arg)->resident, TROUBLE_NONE, NULL);
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

/* A program that ends at once has seen no task, so its words may be told. */
static void
judge_start(WorkerProcess *process, StringInfo message)
{
	int			len;
	const char *last = resident_last_words(process->resident, &len);

	if (resident_is_to_end(process->resident) || !resident_is_young(process->resident) ||
		process->is_ready || process->has_replied)
		return;
	if (len > 0)
	{
		appendStringInfoString(message, ": ");
		output_escape(message, last, len, SIZE_MAX);
	}
	resident_set_trouble(process->resident, TROUBLE_UNFIT, pstrdup(message->data));
}

/* The process had tasks, and nobody ended it. */
static void
note_crash(WorkerProcess *process, const char *how)
{
	int			len;
	const char *last = resident_last_words(process->resident, &len);
	char	   *what = psprintf("%s%s%.*s", how, len > 0 ? ": " : "", len, last);

	crashes_add(process->setup->crashes, what, now(process));
	pfree(what);
}

static void
on_end(void *arg, const ResidentEnd *end)
{
	WorkerProcess *process = arg;
	StringInfoData message;
	Verdict		failed = {TASK_FAILURE};
	bool		has_begun;
	int			nplain;

	initStringInfo(&message);
	appendStringInfo(&message, "worker %s", end->reason != NULL ? end->reason : end->how);
	failed.nlogged = message.len;
	if (process->quote)
		appendStringInfo(&message, ": \"%s\"", process->quote);
	nplain = message.len;
	resident_add_words(process->resident, &message);
	failed.message = message.data;
	has_begun = fail_tasks(process, &failed, end);
	if (resident_is_to_end(process->resident))
		flights_forget_worker(process->flights);
	if (end->failure != NULL)
		on_failure(process, end->failure);
	else if (!has_begun)
	{
		message.data[message.len = nplain] = '\0';
		judge_start(process, &message);
	}
	else if (end->reason == NULL)
		note_crash(process, end->how);
	pfree(message.data);
	pfree(process->quote);
	process->quote = NULL;
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
	pfree(process->quote);
	loop_defer_free(process->setup->loop, process);
}
