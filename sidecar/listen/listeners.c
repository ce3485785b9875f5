/*-------------------------------------------------------------------------
 *
 * listeners.c
 *		The process that makes tasks of messages: twtasks-kafka listen.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "base/chance.h"
#include "base/lines.h"
#include "base/log.h"
#include "config/bundled.h"
#include "execute/process/spawn.h"
#include "listen/listeners.h"

/* Time for calls under way, and to leave the groups, before TERM. */
#define LEAVE_US SECONDS_TO_US(10)
#define GRACE_US SECONDS_TO_US(5)

#define BACKOFF_MIN_US MS_TO_US(500)
#define BACKOFF_MAX_US SECONDS_TO_US(30)

/* A process that ran for so long starts again without a long delay. */
#define USEFUL_US SECONDS_TO_US(60)

typedef enum ListenersState
{
	LISTENERS_DOWN,
	LISTENERS_RUNNING,
	LISTENERS_LEAVING,			/* its input has ended */
	LISTENERS_ENDING			/* it got TERM */
} ListenersState;

struct Listeners
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	ListenersState state;
	bool		is_stopped;
	char	   *program;
	Child	   *child;			/* NULL: down */
	SpawnPipes	pipes;
	LineWriter	input;
	LineReader	reports;
	json_t	   *troubles;		/* as reported last, or that there is no
								 * process */
	char	   *shown;			/* the last answer of
								 * listeners_first_trouble() */
	char	   *told;			/* the line of this process; NULL: down */
	const char *reason;			/* why we end it */
	int64		started_us;
	int64		backoff_us;
	LoopTimer  *timer;			/* down: the next start; leaving: TERM */
};

/* ---- troubles ---- */

static void
set_troubles(Listeners *listeners, json_t *troubles)
{
	json_decref(listeners->troubles);
	listeners->troubles = troubles;
}

static void
set_trouble(Listeners *listeners, const char *text)
{
	char	   *trouble = psprintf("listeners: %s", text);

	set_troubles(listeners, json_array());
	json_array_append_new(listeners->troubles, json_string(trouble));
	pfree(trouble);
}

static void
on_report(void *arg, int ready)
{
	Listeners  *listeners = arg;
	LinesResult result = lines_read(&listeners->reports, listeners->pipes.out.fd);
	char	   *line;
	size_t		len;

	(void) ready;
	while ((line = lines_next(&listeners->reports, &len)) != NULL)
	{
		json_t	   *troubles = json_loadb(line, len, 0, NULL);

		if (json_is_array(troubles))
			set_troubles(listeners, troubles);
		else
			json_decref(troubles);
	}
	if (result == LINES_CLOSED)
		spawn_pipe_close(&listeners->pipes.out);
}

/* The reason of a partition may quote a message, and /health is for anybody. */
const char *
listeners_first_trouble(Listeners *listeners)
{
	static const char begin[] = "listener \"";
	const char *first = json_string_value(json_array_get(listeners->troubles, 0));
	const char *name_end = first == NULL || strncmp(first, begin, strlen(begin)) != 0 ? NULL :
		strchr(first + strlen(begin), '"');
	const char *reason = name_end == NULL || name_end[1] != ',' ? NULL : strstr(name_end, "\": ");

	if (reason == NULL)
		return first;
	pfree(listeners->shown);
	listeners->shown = psprintf("%.*s: see twtasks.listeners", (int) (reason + 1 - first), first);
	return listeners->shown;
}

const json_t *
listeners_troubles(const Listeners *listeners)
{
	return listeners->troubles;
}

/* ---- end ---- */

static void
leave(Listeners *listeners, const char *reason)
{
	listeners->state = LISTENERS_LEAVING;
	listeners->reason = reason;
	spawn_pipe_close(&listeners->pipes.in);
	loop_timer_start(listeners->timer, LEAVE_US);
}

/* Returns the delay before the next start of a process that died. */
static int64
next_delay(Listeners *listeners)
{
	int64		delay_us = listeners->backoff_us;

	if (loop_now_us(listeners->loop) - listeners->started_us >= USEFUL_US)
		delay_us = BACKOFF_MIN_US;
	listeners->backoff_us = Min(2 * delay_us, BACKOFF_MAX_US);
	return chance_delay(delay_us);
}

static void
log_end(Listeners *listeners, int64 delay_us)
{
	StringInfoData how;

	initStringInfo(&how);
	spawn_describe_exit(listeners->child, &how);
	if (listeners->state == LISTENERS_RUNNING)
	{
		log_line(TWT_LOG_WARN, "listen", "%s[%d] %s, and starts again in %.1f s",
				 listeners->program, spawn_pid(listeners->child), how.data, delay_us / 1e6);
		set_trouble(listeners, how.data);
	}
	else
		log_line(TWT_LOG_INFO, "listen", "%s[%d] %s: %s", listeners->program,
				 spawn_pid(listeners->child), how.data, listeners->reason);
	pfree(how.data);
}

static void
forget_process(Listeners *listeners)
{
	spawn_pipe_close(&listeners->pipes.in);
	spawn_pipe_close(&listeners->pipes.out);
	line_reader_reset(&listeners->reports);
	spawn_free(listeners->child);
	listeners->child = NULL;
	line_writer_reset(&listeners->input);
	pfree(listeners->told);
	listeners->told = NULL;
}

static void
on_exited(void *arg)
{
	Listeners  *listeners = arg;
	bool		has_died = listeners->state == LISTENERS_RUNNING;
	int64		delay_us = has_died ? next_delay(listeners) : 0;

	if (!has_died)
		set_troubles(listeners, json_array());
	log_end(listeners, delay_us);
	forget_process(listeners);
	listeners->state = LISTENERS_DOWN;
	loop_timer_stop(listeners->timer);
	if (has_died)
		loop_timer_start(listeners->timer, delay_us);
	loop_want_turn(listeners->loop);
}

/* A timer makes a turn, and a turn starts the process. */
static void
on_timer(void *arg)
{
	Listeners  *listeners = arg;

	if (listeners->state != LISTENERS_LEAVING)
		return;
	listeners->state = LISTENERS_ENDING;
	spawn_stop(listeners->child, GRACE_US);
}

/* ---- start ---- */

/* The variables that libpq reads, so that both connect alike; NULL ends the list. */
static char **
libpq_environment(void)
{
	int			n = 0;
	char	  **found;

	while (environ[n] != NULL)
		n++;
	found = palloc((n + 1) * sizeof(char *));
	n = 0;
	for (char **entry = environ; *entry != NULL; entry++)
		if (strncmp(*entry, "PG", 2) == 0)
			found[n++] = *entry;
	found[n] = NULL;
	return found;
}

static void write_input(Listeners *listeners);

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	write_input(arg);
}

/* A process that has closed its input will exit. */
static void
write_input(Listeners *listeners)
{
	SpawnPipe  *pipe = &listeners->pipes.in;

	if (pipe->fd < 0)
		return;
	spawn_pipe_watch(pipe, listeners->loop,
					 lines_write(&listeners->input, pipe->fd) == LINES_LATER ? LOOP_WRITE : 0,
					 on_writable, listeners);
}

static void
greet(Listeners *listeners)
{
	listeners->told = pstrdup(listeners->config->listeners_line);
	appendStringInfo(&listeners->input.bytes, "%s\n", listeners->told);
	write_input(listeners);
}

static void
start(Listeners *listeners)
{
	static char use[] = "listen";
	char	   *argv[] = {listeners->program, use, NULL};
	char	  **environment = libpq_environment();
	SpawnRequest request = {
		.argv = argv,
		.environment = environment,
		.wants_stdout = true,
		.shares_stderr = true,
		.exited = on_exited,
		.arg = listeners
	};
	SpawnFailure failure;

	listeners->started_us = loop_now_us(listeners->loop);
	listeners->child = spawn_start(listeners->loop, &request, &listeners->pipes, &failure);
	pfree(environment);
	if (listeners->child == NULL)
	{
		log_line(TWT_LOG_WARN, "listen", "%s", failure.message);
		set_trouble(listeners, failure.message);
		pfree(failure.message);
		loop_timer_start(listeners->timer, next_delay(listeners));
		return;
	}
	listeners->state = LISTENERS_RUNNING;
	log_line(TWT_LOG_INFO, "listen", "%s[%d] started for listeners: %d", listeners->program,
			 spawn_pid(listeners->child), listeners->config->nlisteners);
	spawn_pipe_watch(&listeners->pipes.out, listeners->loop, LOOP_READ, on_report, listeners);
	greet(listeners);
}

/* Why there must be no process; NULL: there may be one. */
static const char *
why_down(const Listeners *listeners)
{
	const char *line = listeners->config->listeners_line;

	if (listeners->is_stopped)
		return "this sidecar stops";
	if (line == NULL)
		return "there are no listeners any more";
	if (node_refusal(listeners->node) != NULL)
		return "this node may not start tasks";
	return NULL;
}

void
listeners_pump(Listeners *listeners)
{
	const char *why = why_down(listeners);

	if (listeners->state == LISTENERS_RUNNING)
	{
		if (why == NULL && strcmp(listeners->told, listeners->config->listeners_line) != 0)
			why = "its configuration has changed";
		if (why != NULL)
			leave(listeners, why);
	}
	else if (listeners->state == LISTENERS_DOWN && why == NULL &&
			 !loop_timer_active(listeners->timer) && node_may_start(listeners->node) != 0)
		start(listeners);
}

/* ---- open, reload, stop, free ---- */

Listeners *
listeners_open(Loop *loop, const Config *config, Node *node)
{
	Listeners  *listeners = palloc0(sizeof(Listeners));

	listeners->loop = loop;
	listeners->config = config;
	listeners->node = node;
	listeners->program = bundled_path("kafka");
	listeners->backoff_us = BACKOFF_MIN_US;
	listeners->timer = loop_timer_new(loop, on_timer, listeners);
	line_writer_init(&listeners->input);
	line_reader_init(&listeners->reports);
	listeners->troubles = json_array();
	return listeners;
}

void
listeners_reload(Listeners *listeners, const Config *config)
{
	listeners->config = config;
	loop_want_turn(listeners->loop);
}

void
listeners_gone(Listeners *listeners)
{
	if (listeners->state == LISTENERS_RUNNING)
		leave(listeners, "the node was declared gone");
}

void
listeners_stop(Listeners *listeners)
{
	listeners->is_stopped = true;
	loop_want_turn(listeners->loop);
}

bool
listeners_are_down(const Listeners *listeners)
{
	return listeners->state == LISTENERS_DOWN;
}

void
listeners_free(Listeners *listeners)
{
	if (listeners->child != NULL)
		forget_process(listeners);
	loop_timer_free(listeners->timer);
	line_writer_clear(&listeners->input);
	line_reader_clear(&listeners->reports);
	json_decref(listeners->troubles);
	pfree(listeners->shown);
	pfree(listeners->program);
	loop_defer_free(listeners->loop, listeners);
}
