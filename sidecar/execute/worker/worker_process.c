/*-------------------------------------------------------------------------
 *
 * worker_process.c
 *		One long-lived process of a worker handler, and its tasks in flight.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "base/lines.h"
#include "execute/process/spawn.h"
#include "execute/worker/flights.h"
#include "execute/worker/worker_input.h"
#include "execute/worker/worker_log.h"
#include "execute/worker/worker_process.h"
#include "execute/worker/worker_protocol.h"
#include "node/task_clock.h"

#define READ_BYTES (64 * 1024)

/* A pipe that nobody writes to any more is empty after so many reads. */
#define LAST_READS 16

/* So much is shown of a line that is no reply. */
#define QUOTE_MAX 200

/* So much may wait to be written before no more tasks are taken. */
#define UNWRITTEN_MAX (1024 * 1024)

#define BACKOFF_MIN_US MS_TO_US(100)
#define BACKOFF_MAX_US SECONDS_TO_US(30)

#define NODE_GONE "worker was stopped because its node was declared gone"
#define OTHERS_DEADLINE \
	"worker was stopped because another task passed its deadline"

typedef enum WorkerState
{
	WORKER_DOWN,
	WORKER_RUNNING,
	WORKER_ENDING
} WorkerState;

struct WorkerProcess
{
	WorkerSetup *setup;
	WorkerState state;
	Child	   *child;			/* NULL when down */
	SpawnPipes	pipes;
	bool		is_leaving;		/* it closed a pipe: takes no more */
	bool		is_ready;		/* it took its hello */
	bool		has_finished;	/* a task, since it was started */
	int64		started_us;
	int64		backoff_us;
	bool		is_retiring;	/* takes no more, and ends when it has no task */
	int			nstarts;
	char	   *reason;			/* why it is ended, NULL: it goes by itself */
	char	   *quote;			/* what it said then, for tasks only; or NULL */
	char	   *trouble;		/* why it could not be started, or NULL */
	bool		is_short;		/* only because the machine is short of room */
	bool		is_unfit;		/* because the program is not there, or
								 * refused its hello */
	WorkerLog  *log;

	WorkerInput input;
	LineReader	from_worker;

	Flights    *flights;

	/* down: restart; running: the first stop, or until it has left */
	LoopTimer  *timer;
};

static void end_process(WorkerProcess *process, const char *reason);
static void retire_when_idle(WorkerProcess *process);

/* ---- tasks in flight ---- */

/* The timer follows the first stop, unless it waits for the exit. */
static void
watch_stops(WorkerProcess *process)
{
	int64		until_us;

	if (process->state != WORKER_RUNNING || process->is_leaving)
		return;
	if (flights_next_stop(process->flights, &until_us))
		loop_timer_start(process->timer,
						 until_us - loop_now_us(process->setup->loop));
	else
		loop_timer_stop(process->timer);
}

/* A reply came for it. */
static void
finish_task(WorkerProcess *process, Task *task, Verdict *verdict)
{
	char	   *why = flights_remove(process->flights, task);

	process->has_finished = true;
	flights_go_on(process->flights, loop_now_us(process->setup->loop));
	if (why)
		watch_stops(process);
	if (verdict->result == TASK_CANCELLED && verdict->message == NULL)
		verdict->message = why;
	process->setup->done(process->setup->done_arg, task, verdict);
	pfree(why);
	retire_when_idle(process);
}

/*
 * None will come.  A task that was asked to stop has a reason of its own; one
 * that has not run is given back.
 */
static void
fail_tasks(WorkerProcess *process, const char *reason, const char *message)
{
	static const Verdict released = {TASK_RELEASE, 0, NULL};
	Task	   *task;
	int			nreleased = 0;

	while ((task = flights_first(process->flights)))
	{
		bool		has_run = !process->is_unfit &&
			flights_may_have_run(process->flights, task, process->input.lines.sent);
		char	   *why = flights_remove(process->flights, task);
		Verdict		failed = {TASK_FAILURE, 0, why ? why : message,
		.nlogged = why ? 0 : strlen(reason)};

		process->setup->done(process->setup->done_arg, task,
							 has_run ? &failed : &released);
		nreleased += !has_run;
		pfree(why);
	}
	if (nreleased > 0)
		log_line(TWT_LOG_WARN, "worker",
				 "%s[%d]: %s; tasks given back that had not begun: %d",
				 process->setup->config->argv[0], spawn_pid(process->child),
				 reason, nreleased);
}

bool
worker_process_has_room(const WorkerProcess *process)
{
	return process->state == WORKER_RUNNING && !process->is_leaving &&
		!process->is_retiring &&
		flights_count(process->flights) < process->setup->config->prefetch &&
		lines_unwritten(&process->input.lines) < UNWRITTEN_MAX;
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

	task->run = process;
	process->input.given_under = incarnation;
	flights_add(process->flights, task, lines_position(&process->input.lines),
				loop_now_us(process->setup->loop));
	worker_protocol_encode(&process->input.lines.bytes, task, gate->until_us(gate->arg));
}

void
worker_process_greet(WorkerProcess *process)
{
	const char *hello = process->setup->config->hello;

	if (process->state != WORKER_RUNNING)
		return;
	appendStringInfo(&process->input.lines.bytes, "%s\n", hello);
	loop_want_turn(process->setup->loop);
}

void
worker_process_ask(WorkerProcess *process, Task *task, const char *why)
{
	if (process->state != WORKER_RUNNING)
		return;
	worker_protocol_encode_cancel(&process->input.lines.bytes, task, why);
	loop_want_turn(process->setup->loop);
}

void
worker_process_stop(WorkerProcess *process, Task *task, const char *why)
{
	const WorkerSetup *setup = process->setup;

	if (process->state != WORKER_RUNNING ||
		!flights_stop(process->flights, task, why,
					  loop_now_us(setup->loop) + setup->config->grace_us))
		return;
	watch_stops(process);
	worker_process_ask(process, task, why);
}

/* ---- pipes ---- */

/* It should exit now that it closed a pipe; the timer waits for that. */
static void
expect_exit(WorkerProcess *process)
{
	if (process->state != WORKER_RUNNING || process->is_leaving)
		return;
	process->is_leaving = true;
	loop_timer_start(process->timer, process->setup->config->grace_us);
}

/* Half a line cannot be taken back: the process goes, with all it was given. */
void
worker_process_begin(WorkerProcess *process, int64 incarnation)
{
	if (process->state == WORKER_RUNNING &&
		worker_input_is_of_another(&process->input, incarnation))
		end_process(process, NODE_GONE);
}

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	worker_process_flush(arg);
}

void
worker_process_flush(WorkerProcess *process)
{
	if (process->state != WORKER_RUNNING)
		worker_input_hold(&process->input);
	else if (worker_input_flush(&process->input, process->setup->loop, on_writable,
								process) == LINES_CLOSED)
		expect_exit(process);
}

static void
on_stderr(void *arg, int ready)
{
	WorkerProcess *process = arg;
	static char block[READ_BYTES];
	ssize_t		n = read(process->pipes.err.fd, block, sizeof(block));

	(void) ready;
	if (n > 0)
		worker_log_add(process->log, spawn_pid(process->child), block, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&process->pipes.err);
}

/* ---- replies ---- */

/* The line may hold what only its task may: it is not for the log. */
static void
protocol_error(WorkerProcess *process, const char *what)
{
	char	   *reason = psprintf("worker broke the protocol: %s", what);

	log_line(TWT_LOG_WARN, "worker", "%s[%d]: %s",
			 process->setup->config->argv[0], spawn_pid(process->child),
			 reason);
	end_process(process, reason);
	pfree(reason);
}

/* Takes the message, why it takes no tasks; NULL: it does. */
static void
set_trouble(WorkerProcess *process, char *message)
{
	pfree(process->trouble);
	process->trouble = message;
	process->is_unfit = false;
	loop_want_turn(process->setup->loop);
}

static void
on_answer(WorkerProcess *process, const WorkerReply *reply)
{
	char	   *reason;

	if (reply->word == WORKER_READY)
	{
		process->is_ready = true;
		return;
	}
	reason = psprintf("worker refused its settings: %s", reply->message);
	log_line(TWT_LOG_ERROR, "worker", "%s[%d]: %s", process->setup->config->argv[0],
			 spawn_pid(process->child), reason);
	if (!process->is_ready)
	{
		set_trouble(process, reason);
		process->is_unfit = true;
		end_process(process, reason);
	}
	else
		pfree(reason);
}

static void
on_reply(WorkerProcess *process, const WorkerReply *reply)
{
	Task	   *task = flights_find(process->flights, reply->id,
									reply->version);
	Verdict		verdict = {reply->result, reply->delay_us, reply->message};

	if (task == NULL)
	{
		protocol_error(process, "reply is for no task in flight");
		return;
	}
	if (reply->word == WORKER_STARTED)
	{
		flights_take_up(process->flights, task,
						loop_now_us(process->setup->loop));
		return;
	}
	if (reply->result == TASK_RELEASE)
		verdict.delay_us = Max(reply->delay_us, 0);
	if (reply->at_us != WORKER_NO_TIME)
		verdict.delay_us = Max(reply->at_us - task_clock_us(), 0);
	finish_task(process, task, &verdict);
}

/* Once the process is to end, only what it still took up counts. */
static void
on_last_reply(WorkerProcess *process, const WorkerReply *reply)
{
	Task	   *task = flights_find(process->flights, reply->id,
									reply->version);

	if (reply->word == WORKER_STARTED && task != NULL)
		flights_take_up(process->flights, task,
						loop_now_us(process->setup->loop));
}

static void
on_line(WorkerProcess *process, const char *line, size_t len)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, len, &reply);

	bool		is_answer = reply.word == WORKER_READY || reply.word == WORKER_REFUSED;

	if (error == NULL && process->state != WORKER_RUNNING)
		on_last_reply(process, &reply);
	else if (error == NULL && is_answer)
		on_answer(process, &reply);
	else if (error == NULL)
		on_reply(process, &reply);
	else if (process->state == WORKER_RUNNING)
	{
		process->quote = text_quote_line(line, len, QUOTE_MAX);
		protocol_error(process, error);
	}
	pfree(error);
	pfree(reply.message);
}

static void
take_lines(WorkerProcess *process)
{
	LineReader *reader = &process->from_worker;
	char	   *line;
	size_t		len;

	while ((line = lines_next(reader, &len)))
		on_line(process, line, len);
	if (lines_unfinished(reader) <= WORKER_LINE_MAX)
		return;
	line_reader_reset(reader);
	if (process->state == WORKER_RUNNING)
		protocol_error(process, "reply is longer than 1 MB");
}

/* Reads one block; false when there is none now. */
static bool
read_block(WorkerProcess *process)
{
	LinesResult result = lines_read(&process->from_worker,
									process->pipes.out.fd);

	if (result == LINES_OK)
		take_lines(process);
	else if (result == LINES_CLOSED)
		spawn_pipe_close(&process->pipes.out);
	return result == LINES_OK;
}

static void
on_stdout(void *arg, int ready)
{
	WorkerProcess *process = arg;

	(void) ready;
	read_block(process);
	if (process->pipes.out.fd < 0)
		expect_exit(process);
}

/* What it wrote before it exited may still be in the pipes. */
static void
read_rest(WorkerProcess *process)
{
	int			reads = LAST_READS;

	while (process->pipes.out.fd >= 0 && reads-- > 0 && read_block(process))
		;
	if (process->pipes.err.fd >= 0)
		on_stderr(process, LOOP_READ);
	worker_log_end(process->log, spawn_pid(process->child));
}

/* ---- end ---- */

/* The process is ended for a reason that its tasks are told. */
static void
end_process(WorkerProcess *process, const char *reason)
{
	process->state = WORKER_ENDING;
	process->reason = pstrdup(reason);
	loop_timer_stop(process->timer);
	spawn_stop(process->child, process->setup->config->grace_us);
}

static void
reset_process(WorkerProcess *process)
{
	spawn_free(process->child);
	process->child = NULL;
	process->state = WORKER_DOWN;
	process->is_leaving = false;
	pfree(process->reason);
	process->reason = NULL;
	pfree(process->quote);
	process->quote = NULL;
	worker_input_reset(&process->input);
	line_reader_reset(&process->from_worker);
}

/* Not even useful processes are started more often than BACKOFF_MIN_US. */
static void
schedule_restart(WorkerProcess *process)
{
	int64		delay_us = process->backoff_us;

	if (process->is_retiring)
	{
		process->is_retiring = false;
		process->backoff_us = BACKOFF_MIN_US;
		delay_us = 0;
	}
	else if (process->has_finished)
	{
		delay_us = process->started_us + BACKOFF_MIN_US -
			loop_now_us(process->setup->loop);
		process->backoff_us = BACKOFF_MIN_US;
	}
	else
		process->backoff_us = Min(2 * delay_us, BACKOFF_MAX_US);
	loop_timer_start(process->timer, delay_us);
}

/* Nothing of it runs any more. */
static void
on_gone(void *arg)
{
	WorkerProcess *process = arg;
	StringInfoData reason;
	char	   *message;

	initStringInfo(&reason);
	if (process->reason)
		appendStringInfoString(&reason, process->reason);
	else
	{
		appendStringInfoString(&reason, "worker ");
		spawn_describe_exit(process->child, &reason);
	}
	message = process->quote == NULL ? pstrdup(reason.data) :
		psprintf("%s: \"%s\"", reason.data, process->quote);
	fail_tasks(process, reason.data, message);
	pfree(reason.data);
	pfree(message);
	reset_process(process);
	schedule_restart(process);
}

static void
on_exited(void *arg)
{
	WorkerProcess *process = arg;
	bool		was_ended;

	read_rest(process);
	was_ended = process->state == WORKER_ENDING;
	process->state = WORKER_ENDING;
	loop_timer_stop(process->timer);
	spawn_pipe_close(&process->pipes.in);
	spawn_pipe_close(&process->pipes.out);
	spawn_pipe_close(&process->pipes.err);
	if (was_ended)
		leftovers_kill(process->setup->leftovers, spawn_token(process->child),
					   on_gone, process);
	else
		on_gone(process);
}

/* ---- replacement ---- */

static void
retire_when_idle(WorkerProcess *process)
{
	if (!process->is_retiring || process->state != WORKER_RUNNING ||
		flights_count(process->flights) > 0)
		return;
	flights_forget_worker(process->flights);
	spawn_pipe_close(&process->pipes.in);
	end_process(process, "worker is being replaced");
}

void
worker_process_retire(WorkerProcess *process)
{
	process->is_retiring = true;
	if (process->state == WORKER_DOWN)
	{
		process->is_retiring = false;
		process->backoff_us = BACKOFF_MIN_US;
		loop_timer_start(process->timer, 0);
	}
	retire_when_idle(process);
}

int
worker_process_starts(const WorkerProcess *process)
{
	return process->nstarts;
}

bool
worker_process_runs(const WorkerProcess *process)
{
	return process->state == WORKER_RUNNING;
}

/* ---- start ---- */

/* Says a thing once, whichever process it is about; NULL: all is well. */
static void
say_once(WorkerSetup *setup, const char *message)
{
	if (message && (setup->said == NULL || strcmp(setup->said, message) != 0))
		log_line(TWT_LOG_WARN, "worker", "%s", message);
	pfree(setup->said);
	setup->said = message ? pstrdup(message) : NULL;
}

static void
not_started(WorkerProcess *process, const SpawnFailure *failure)
{
	say_once(process->setup, failure->message);
	set_trouble(process, failure->message);
	process->is_short = failure->is_temporary;
	process->is_unfit = failure->is_unfit;
	schedule_restart(process);
}

static void
start_process(WorkerProcess *process)
{
	WorkerSetup *setup = process->setup;
	SpawnFailure failure;
	SpawnRequest request = {
		.argv = setup->config->argv,
		.directory = setup->config->directory,
		.wants_stdout = true,
		.exited = on_exited,
		.arg = process
	};

	process->is_ready = false;
	process->has_finished = false;
	process->nstarts++;
	process->started_us = loop_now_us(setup->loop);
	process->child = spawn_start(setup->loop, &request, &process->pipes,
								 &failure);
	if (process->child == NULL)
	{
		not_started(process, &failure);
		return;
	}
	say_once(setup, NULL);
	set_trouble(process, NULL);
	process->state = WORKER_RUNNING;
	spawn_pipe_watch(&process->pipes.out, setup->loop, LOOP_READ, on_stdout,
					 process);
	spawn_pipe_watch(&process->pipes.err, setup->loop, LOOP_READ, on_stderr,
					 process);
	worker_process_greet(process);
}

static void
on_timer(void *arg)
{
	WorkerProcess *process = arg;

	if (process->state == WORKER_DOWN)
		start_process(process);
	else if (process->is_leaving)
		end_process(process, "worker closed its pipes");
	else
		end_process(process, OTHERS_DEADLINE);
}

WorkerProcess *
worker_process_new(WorkerSetup *setup)
{
	WorkerProcess *process = palloc0(sizeof(WorkerProcess));

	process->setup = setup;
	process->state = WORKER_DOWN;
	process->backoff_us = BACKOFF_MIN_US;
	line_writer_init(&process->input.lines);
	process->input.pipe = &process->pipes.in;
	process->input.gate = setup->gate;
	line_reader_init(&process->from_worker);
	process->flights = flights_new(setup->config->prefetch);
	process->log = worker_log_new(setup->loop, setup->config->argv[0]);
	process->timer = loop_timer_new(setup->loop, on_timer, process);
	start_process(process);
	return process;
}

const char *
worker_process_trouble(const WorkerProcess *process)
{
	return process->is_short ? NULL : process->trouble;
}

bool
worker_process_is_unfit(const WorkerProcess *process)
{
	return process->is_unfit;
}

void
worker_process_dismiss(WorkerProcess *process)
{
	if (process->child == NULL)
		return;
	spawn_pipe_close(&process->pipes.in);
	spawn_stop(process->child, process->setup->config->grace_us);
}

void
worker_process_free(WorkerProcess *process, int patience_ms)
{
	if (process->child)
	{
		spawn_wait(process->child, patience_ms);
		if (!spawn_has_exited(process->child))
			leftovers_kill(process->setup->leftovers,
						   spawn_token(process->child), NULL, NULL);
		spawn_pipe_close(&process->pipes.in);
		spawn_pipe_close(&process->pipes.out);
		spawn_pipe_close(&process->pipes.err);
		spawn_free(process->child);
	}
	loop_timer_free(process->timer);
	worker_log_free(process->log);
	flights_free(process->flights);
	line_writer_clear(&process->input.lines);
	line_reader_clear(&process->from_worker);
	pfree(process->reason);
	pfree(process->quote);
	pfree(process->trouble);
	loop_defer_free(process->setup->loop, process);
}
