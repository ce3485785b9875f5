/*-------------------------------------------------------------------------
 *
 * helper.c
 *		One bundled program that stays beside this sidecar.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "base/chance.h"
#include "base/log.h"
#include "config/bundled.h"
#include "helper/helper.h"
#include "helper/helper_output.h"
#include "helper/helper_start.h"

#define GRACE_US SECONDS_TO_US(5)
#define ANSWER_US SECONDS_TO_US(60)

/* The time between two lines that want an answer, and how many may lack one. */
#define ALIVE_US SECONDS_TO_US(5)
#define UNANSWERED_MAX 4

/* A helper that leaves so many bytes unread gets no more. */
#define INPUT_MAX (1024 * 1024)

static const char alive[] = "{\"alive\":1}";

typedef enum HelperState
{
	HELPER_DOWN,
	HELPER_STARTING,			/* has not answered its hello */
	HELPER_RUNNING,
	HELPER_LEAVING,				/* its input has ended */
	HELPER_ENDING				/* it got TERM */
} HelperState;

struct Helper
{
	Loop	   *loop;
	const HelperProgram *program;
	void	   *arg;
	char	   *path;
	HelperState state;
	char	   *wanted;			/* the hello to run with; NULL: stays down */
	char	   *told;			/* the hello of this process; NULL: down */
	const char *why;			/* why we end it; NULL: it ends by itself */
	bool		is_explained;	/* its trouble says more than its exit */
	int			nunanswered;	/* lines that want an answer, since its last
								 * line */
	Child	   *child;			/* NULL: down */
	SpawnPipes	pipes;
	LineWriter	input;
	HelperOutput output;
	HelperStart start;
	LoopTimer  *timer;			/* see helper.h */
};

/* The timer belongs to the state; delay_us below 0: no timer. */
static void
set_state(Helper *helper, HelperState state, int64 delay_us)
{
	helper->state = state;
	if (delay_us >= 0)
		loop_timer_start(helper->timer, delay_us);
	else
		loop_timer_stop(helper->timer);
}

bool
helper_is_ready(const Helper *helper)
{
	return helper->state == HELPER_RUNNING;
}

bool
helper_is_down(const Helper *helper)
{
	return helper->state == HELPER_DOWN;
}

static bool
is_up(const Helper *helper)
{
	return helper->state == HELPER_STARTING || helper->state == HELPER_RUNNING;
}

/* ---- troubles ---- */

const char *
helper_trouble(const Helper *helper)
{
	return helper->start.message;
}

void
helper_add_trouble(const Helper *helper, json_t *list)
{
	if (helper->start.message != NULL)
		json_array_append_new(list, json_string(helper->start.message));
}

static void
clear_trouble(Helper *helper)
{
	helper_start_set_trouble(&helper->start, TROUBLE_NONE, NULL);
}

static void
set_trouble(Helper *helper, HelperTrouble trouble, const char *text)
{
	helper_start_set_trouble(&helper->start, trouble,
							 psprintf("%s: %s", helper->program->subject, text));
}

/* Says more than the exit that follows. */
static void
explain(Helper *helper, const char *text)
{
	set_trouble(helper, TROUBLE_UNFIT, text);
	helper->is_explained = true;
}

/* ---- input ---- */

static void flush(Helper *helper);

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	flush(arg);
}

/* A process that has closed its input will exit. */
static void
flush(Helper *helper)
{
	SpawnPipe  *pipe = &helper->pipes.in;

	if (helper->child == NULL || pipe->fd < 0 || lines_unwritten(&helper->input) == 0)
		return;
	spawn_pipe_watch(pipe, helper->loop,
					 lines_write(&helper->input, pipe->fd) == LINES_LATER ? LOOP_WRITE : 0,
					 on_writable, helper);
}

static void
on_turn(void *arg)
{
	flush(arg);
}

static void
add_line(Helper *helper, const char *line, size_t len)
{
	appendBinaryStringInfo(&helper->input.bytes, line, (int) len);
	appendStringInfoChar(&helper->input.bytes, '\n');
	loop_want_turn(helper->loop);
}

bool
helper_send(Helper *helper, const char *line, size_t len)
{
	if (helper->state != HELPER_RUNNING || lines_unwritten(&helper->input) > INPUT_MAX)
		return false;
	add_line(helper, line, len);
	return true;
}

/* ---- the end ---- */

/* why is NULL if the process should have gone on. */
static void
leave(Helper *helper, const char *why)
{
	set_state(helper, HELPER_LEAVING, helper->program->leave_us);
	helper->why = why;
	flush(helper);
	spawn_pipe_close(&helper->pipes.in);
}

static void
end_now(Helper *helper)
{
	set_state(helper, HELPER_ENDING, -1);
	spawn_stop(helper->child, GRACE_US);
}

static void
note_failure(Helper *helper, SpawnFailure *failure)
{
	log_line(TWT_LOG_WARN, helper->program->component, "%s", failure->message);
	set_trouble(helper, failure->is_temporary ? TROUBLE_SHORTAGE : TROUBLE_UNFIT, failure->message);
	pfree(failure->message);
}

/* A late failure of the start is told like an early one. */
static void
log_end(Helper *helper, int64 delay_us)
{
	StringInfoData how;
	SpawnFailure failure;

	if (helper->why == NULL && spawn_never_ran(helper->child, &failure))
	{
		note_failure(helper, &failure);
		return;
	}
	initStringInfo(&how);
	spawn_describe_exit(helper->child, &how);
	if (helper->why != NULL)
		log_line(TWT_LOG_INFO, helper->program->component, "%s[%d] %s: %s", helper->path,
				 spawn_pid(helper->child), how.data, helper->why);
	else
	{
		log_line(TWT_LOG_WARN, helper->program->component, "%s[%d] %s, and starts again in %.1f s",
				 helper->path, spawn_pid(helper->child), how.data, Max(delay_us, 0) / 1e6);
		if (!helper->is_explained)
			set_trouble(helper, TROUBLE_UNFIT, how.data);
	}
	pfree(how.data);
}

static void
forget_process(Helper *helper)
{
	spawn_pipe_close(&helper->pipes.in);
	spawn_pipe_close(&helper->pipes.out);
	spawn_free(helper->child);
	helper->child = NULL;
	line_writer_reset(&helper->input);
	pfree(helper->told);
	helper->told = NULL;
}

/* A process that we ended, for other settings, is followed at once. */
static int64
next_delay(Helper *helper)
{
	int64		now_us = loop_now_us(helper->loop);
	int64		delay_us;

	if (helper->why != NULL)
		return 0;
	helper->start.is_useful = !helper_start_is_young(&helper->start, now_us);
	delay_us = helper_start_delay(&helper->start, now_us);
	return chance_delay(Max(delay_us, 0));
}

static void
on_exited(void *arg)
{
	Helper	   *helper = arg;
	int64		delay_us;

	helper_output_end(&helper->output);
	delay_us = next_delay(helper);
	log_end(helper, delay_us);
	forget_process(helper);
	set_state(helper, HELPER_DOWN, helper->wanted != NULL ? delay_us : -1);
	if (helper->program->on_gone != NULL)
		helper->program->on_gone(helper->arg);
	loop_want_turn(helper->loop);
}

/* ---- output ---- */

static void
refuse(Helper *helper, const char *line)
{
	json_t	   *answer = json_loads(line, 0, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *setting = json_string_value(json_object_get(answer, "setting"));
	char	   *reason = psprintf("%s%s%s", setting != NULL ? setting : "", setting != NULL ? ": " : "",
								  error != NULL ? error : "refused its settings");

	log_line(TWT_LOG_ERROR, helper->program->component, "%s[%d] refused its settings: %s",
			 helper->path, spawn_pid(helper->child), reason);
	explain(helper, reason);
	leave(helper, NULL);
	pfree(reason);
	json_decref(answer);
}

static void
begin(Helper *helper)
{
	helper->nunanswered = 0;
	set_state(helper, HELPER_RUNNING, ALIVE_US);
	if (helper->program->on_ready != NULL)
		helper->program->on_ready(helper->arg);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	static const char ready[] = "{\"ready\"";
	static const char error[] = "{\"error\"";
	Helper	   *helper = arg;

	helper->nunanswered = 0;
	if (helper->state == HELPER_STARTING && strncmp(line, error, strlen(error)) == 0)
	{
		refuse(helper, line);
		return;
	}
	if (helper->state == HELPER_STARTING)
		begin(helper);
	if (strncmp(line, ready, strlen(ready)) != 0 && strcmp(line, alive) != 0)
		helper->program->on_line(helper->arg, line, len);
}

static void
on_long_line(void *arg, const char *head)
{
	Helper	   *helper = arg;

	(void) head;
	if (!is_up(helper))
		return;
	explain(helper, "wrote a line that is longer than 1 MB");
	leave(helper, NULL);
}

/* It should exit; the timer ends it otherwise. */
static void
on_closed(void *arg)
{
	Helper	   *helper = arg;

	if (is_up(helper))
		leave(helper, NULL);
}

/* ---- start ---- */

static bool
is_named(const char *variable, const char *const *beginnings)
{
	for (; beginnings != NULL && *beginnings != NULL; beginnings++)
		if (strncmp(variable, *beginnings, strlen(*beginnings)) == 0)
			return true;
	return false;
}

/* The variables of our own environment that the program gets too; NULL ends the list. */
static char **
make_environment(const char *const *beginnings)
{
	int			n = 0;
	char	  **found;

	while (environ[n] != NULL)
		n++;
	found = palloc((n + 1) * sizeof(char *));
	n = 0;
	for (char **entry = environ; *entry != NULL; entry++)
		if (is_named(*entry, beginnings))
			found[n++] = *entry;
	found[n] = NULL;
	return found;
}

static void
greet(Helper *helper)
{
	log_line(TWT_LOG_INFO, helper->program->component, "%s[%d] started for %s", helper->path,
			 spawn_pid(helper->child), helper->program->subject);
	set_state(helper, HELPER_STARTING, ANSWER_US);
	helper->why = NULL;
	helper->is_explained = false;
	helper->told = pstrdup(helper->wanted);
	helper_output_begin(&helper->output, helper->child);
	add_line(helper, helper->told, strlen(helper->told));
}

static void
fail_start(Helper *helper, SpawnFailure *failure)
{
	note_failure(helper, failure);
	helper->why = NULL;
	set_state(helper, HELPER_DOWN, next_delay(helper));
}

static void
start(Helper *helper)
{
	char	   *argv[] = {helper->path, unconstify(char *, helper->program->use), NULL};
	char	  **environment = make_environment(helper->program->variables);
	SpawnRequest request = {
		.argv = argv,
		.environment = environment,
		.wants_stdout = true,
		.shares_stderr = true,
		.is_awaited = true,
		.exited = on_exited,
		.arg = helper
	};
	SpawnFailure failure;

	helper_start_begin(&helper->start, loop_now_us(helper->loop));
	helper->child = spawn_start(helper->loop, &request, &helper->pipes, &failure);
	pfree(environment);
	if (helper->child != NULL)
		greet(helper);
	else
		fail_start(helper, &failure);
}

/*
 * The trouble of an earlier process lasts until this one is no longer young.  Lines
 * count as silence, not time: the machine or this sidecar may have stood still.
 */
static void
look(Helper *helper)
{
	if (!helper_start_is_young(&helper->start, loop_now_us(helper->loop)))
		clear_trouble(helper);
	if (helper->nunanswered == UNANSWERED_MAX)
	{
		log_line(TWT_LOG_WARN, helper->program->component, "%s[%d] wrote nothing for 20 s, and is ended",
				 helper->path, spawn_pid(helper->child));
		explain(helper, "wrote nothing for 20 s");
		end_now(helper);
		return;
	}
	helper->nunanswered++;
	add_line(helper, alive, strlen(alive));
	loop_timer_start(helper->timer, ALIVE_US);
}

static void
on_timer(void *arg)
{
	Helper	   *helper = arg;

	switch (helper->state)
	{
		case HELPER_DOWN:
			start(helper);
			break;
		case HELPER_STARTING:
			explain(helper, "has not answered its first line");
			leave(helper, NULL);
			break;
		case HELPER_RUNNING:
			look(helper);
			break;
		case HELPER_LEAVING:
			end_now(helper);
			break;
		case HELPER_ENDING:
			break;
	}
}

/* ---- what shall be ---- */

void
helper_run(Helper *helper, const char *hello)
{
	if (helper->wanted != NULL && strcmp(helper->wanted, hello) == 0)
		return;
	pfree(helper->wanted);
	helper->wanted = pstrdup(hello);
	if (is_up(helper) && strcmp(helper->told, hello) != 0)
		leave(helper, "its configuration has changed");
	else if (helper->state == HELPER_DOWN)
	{
		helper->start.backoff_us = 0;
		start(helper);
	}
}

void
helper_end(Helper *helper, const char *why)
{
	pfree(helper->wanted);
	helper->wanted = NULL;
	clear_trouble(helper);
	if (is_up(helper))
		leave(helper, why);
	else if (helper->why == NULL)
		helper->why = why;
	if (helper->state == HELPER_DOWN)
		loop_timer_stop(helper->timer);
}

/* ---- new, free ---- */

Helper *
helper_new(Loop *loop, const HelperProgram *program, void *arg)
{
	static const HelperOutputEvents events = {on_line, on_long_line, on_closed};
	Helper	   *helper = palloc0(sizeof(Helper));

	helper->loop = loop;
	helper->program = program;
	helper->arg = arg;
	helper->path = bundled_path(program->bundled);
	helper->output.loop = loop;
	helper->output.pipes = &helper->pipes;
	helper->output.events = &events;
	helper->output.arg = helper;
	helper_output_init(&helper->output, helper->path);
	line_writer_init(&helper->input);
	helper->timer = loop_timer_new(loop, on_timer, helper);
	loop_on_turn(loop, on_turn, helper);
	return helper;
}

void
helper_free(Helper *helper)
{
	if (helper->child != NULL)
		forget_process(helper);
	loop_off_turn(helper->loop, on_turn, helper);
	loop_timer_free(helper->timer);
	line_writer_clear(&helper->input);
	helper_output_clear(&helper->output);
	clear_trouble(helper);
	pfree(helper->wanted);
	pfree(helper->path);
	loop_defer_free(helper->loop, helper);
}
