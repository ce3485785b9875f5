/*-------------------------------------------------------------------------
 *
 * helper.c
 *		One bundled program that stays beside this sidecar.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "base/log.h"
#include "base/words.h"
#include "process/bundled.h"
#include "helper/helper.h"
#include "helper/resident.h"

#define GRACE_US SECONDS_TO_US(5)

/* The time between two lines that want an answer, and how many may lack one. */
#define ALIVE_US SECONDS_TO_US(5)
#define UNANSWERED_MAX 4

/* A helper that leaves so many bytes unread gets no more. */
#define INPUT_MAX (1024 * 1024)

static const char alive[] = "{\"alive\":1}";

struct Helper
{
	Loop	   *loop;
	const HelperProgram *program;
	void	   *arg;
	char	   *path;
	char	   *argv[3];
	char	  **environment;
	char	   *wanted;			/* the hello to run with; NULL: stays down */
	bool		is_stale;		/* the next helper_run() starts another
								 * process */
	int			nunanswered;	/* lines that want an answer, since its last
								 * line */
	Resident   *resident;
};

bool
helper_is_ready(const Helper *helper)
{
	return resident_state(helper->resident) == RESIDENT_RUNNING;
}

bool
helper_is_down(const Helper *helper)
{
	return resident_state(helper->resident) == RESIDENT_DOWN;
}

static bool
is_starting(const Helper *helper)
{
	return resident_state(helper->resident) == RESIDENT_STARTING;
}

/* ---- troubles ---- */

const char *
helper_trouble(const Helper *helper)
{
	return resident_trouble(helper->resident, false);
}

void
helper_add_trouble(const Helper *helper, json_t *list)
{
	const char *trouble = helper_trouble(helper);

	if (trouble != NULL)
		json_array_append_new(list, json_string(trouble));
}

static void
clear_trouble(Helper *helper)
{
	resident_set_trouble(helper->resident, TROUBLE_NONE, NULL);
}

static void
set_trouble(Helper *helper, const char *text)
{
	resident_set_trouble(helper->resident, TROUBLE_UNFIT,
						 psprintf("%s: %s", helper->program->subject, text));
}

/* The process is at fault, and told to leave. */
static void
blame(Helper *helper, const char *text)
{
	set_trouble(helper, text);
	resident_leave(helper->resident, text);
}

static void
on_failure(void *arg, const SpawnFailure *failure)
{
	Helper	   *helper = arg;

	log_line(TWT_LOG_WARN, helper->program->component, "%s", failure->message);
	set_trouble(helper, failure->message);
}

/* ---- lines ---- */

static void
on_turn(void *arg)
{
	Helper	   *helper = arg;

	resident_flush(helper->resident);
}

bool
helper_send(Helper *helper, const char *line, size_t len)
{
	if (!helper_is_ready(helper) || lines_unwritten(resident_input(helper->resident)) > INPUT_MAX)
		return false;
	resident_say(helper->resident, line, len);
	return true;
}

bool
helper_has_input(const Helper *helper)
{
	return helper_is_ready(helper) && lines_unwritten(resident_input(helper->resident)) > 0;
}

static void
refuse(Helper *helper, const char *line)
{
	json_t	   *answer = json_loads(line, 0, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *setting = json_string_value(json_object_get(answer, "setting"));
	char	   *reason = psprintf("%s%s%s", setting != NULL ? setting : "", setting != NULL ? ": " : "",
								  error != NULL ? error : "refused its settings");

	log_line(TWT_LOG_ERROR, helper->program->component, "%s[%d] refused its settings: %s",
			 helper->path, resident_pid(helper->resident), reason);
	blame(helper, reason);
	pfree(reason);
	json_decref(answer);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	static const char ready[] = "{\"ready\"";
	static const char error[] = "{\"error\"";
	Helper	   *helper = arg;

	helper->nunanswered = 0;
	if (is_starting(helper) && strncmp(line, error, strlen(error)) == 0)
	{
		refuse(helper, line);
		return;
	}
	if (is_starting(helper))
		resident_running(helper->resident);
	if (strncmp(line, ready, strlen(ready)) != 0 && strcmp(line, alive) != 0)
		helper->program->on_line(helper->arg, line, len);
}

static void
on_long_line(void *arg, const char *head)
{
	Helper	   *helper = arg;

	(void) head;
	if (is_starting(helper) || helper_is_ready(helper))
		blame(helper, "wrote a line that is longer than 1 MB");
}

/* ---- watch ---- */

static void
on_slow(void *arg)
{
	blame(arg, "has not answered its first line");
}

static void
on_running(void *arg)
{
	Helper	   *helper = arg;

	log_line(TWT_LOG_INFO, helper->program->component, "%s[%d] started for %s", helper->path,
			 resident_pid(helper->resident), helper->program->subject);
	resident_look_in(helper->resident, ALIVE_US);
	if (helper->program->on_ready != NULL)
		helper->program->on_ready(helper->arg);
}

/*
 * The trouble of an earlier process lasts until this one is no longer young.  Lines
 * count as silence, not time: the machine or this sidecar may have stood still.
 */
static void
on_look(void *arg)
{
	Helper	   *helper = arg;

	if (!resident_is_young(helper->resident))
		clear_trouble(helper);
	if (helper->nunanswered == UNANSWERED_MAX)
	{
		log_line(TWT_LOG_WARN, helper->program->component, "%s[%d] wrote nothing for 20 s, and is ended",
				 helper->path, resident_pid(helper->resident));
		set_trouble(helper, "wrote nothing for 20 s");
		resident_end(helper->resident, "wrote nothing for 20 s");
		return;
	}
	helper->nunanswered++;
	resident_say(helper->resident, alive, strlen(alive));
	resident_look_in(helper->resident, ALIVE_US);
}

static void
tell_end(Helper *helper, const ResidentEnd *end)
{
	if (resident_is_to_end(helper->resident))
		log_line(TWT_LOG_INFO, helper->program->component, "%s[%d] %s: %s", helper->path, end->pid,
				 end->how, end->reason);
	else if (end->failure != NULL)
		on_failure(helper, end->failure);
	else
	{
		log_line(TWT_LOG_WARN, helper->program->component, "%s[%d] %s, and starts again in %.1f s",
				 helper->path, end->pid, end->how, end->delay_us / 1e6);
		set_trouble(helper, end->reason != NULL ? end->reason : end->how);
	}
}

static void
on_end(void *arg, const ResidentEnd *end)
{
	Helper	   *helper = arg;

	tell_end(helper, end);
	if (helper->program->on_gone != NULL)
		helper->program->on_gone(helper->arg);
}

/* ---- what shall be ---- */

static void
prepare(void *arg, ResidentStart *start)
{
	Helper	   *helper = arg;

	helper->nunanswered = 0;
	start->argv = helper->argv;
	start->environment = helper->environment;
	start->hello = helper->wanted;
	start->leave_us = helper->program->leave_us;
	start->grace_us = GRACE_US;
}

static void
leave(Helper *helper, const char *why)
{
	resident_want_end(helper->resident);
	resident_leave(helper->resident, why);
}

void
helper_run(Helper *helper, const char *hello)
{
	if (helper->wanted != NULL && !helper->is_stale && strcmp(helper->wanted, hello) == 0)
		return;
	helper->is_stale = false;
	pfree(helper->wanted);
	helper->wanted = pstrdup(hello);
	if (!helper_is_down(helper))
		leave(helper, "its configuration has changed");
	resident_run(helper->resident);
}

void
helper_renew(Helper *helper)
{
	/* keeps the hello: a start may be due before the next helper_run() */
	helper->is_stale = true;
}

void
helper_end(Helper *helper, const char *why)
{
	pfree(helper->wanted);
	helper->wanted = NULL;
	clear_trouble(helper);
	resident_stay_down(helper->resident);
	leave(helper, why);
}

/* ---- new, free ---- */

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
	char	  **found = palloc((words_count(environ) + 1) * sizeof(char *));
	int			n = 0;

	for (char **entry = environ; *entry != NULL; entry++)
		if (is_named(*entry, beginnings))
			found[n++] = *entry;
	found[n] = NULL;
	return found;
}

Helper *
helper_new(Loop *loop, const HelperProgram *program, void *arg)
{
	static const ResidentOwner owner = {
		.shares_stderr = true,
		.answers = true,
		.prepare = prepare,
		.on_failure = on_failure,
		.on_slow = on_slow,
		.on_running = on_running,
		.on_look = on_look,
		.on_line = on_line,
		.on_long_line = on_long_line,
		.on_end = on_end
	};
	Helper	   *helper = palloc0(sizeof(Helper));

	helper->loop = loop;
	helper->program = program;
	helper->arg = arg;
	helper->path = bundled_path(program->bundled);
	helper->argv[0] = helper->path;
	helper->argv[1] = unconstify(char *, program->use);
	helper->environment = make_environment(program->variables);
	helper->resident = resident_new(loop, &owner, helper, helper->path);
	loop_on_turn(loop, on_turn, helper);
	return helper;
}

void
helper_free(Helper *helper)
{
	loop_off_turn(helper->loop, on_turn, helper);
	resident_free(helper->resident, 0);
	pfree(helper->environment);
	pfree(helper->wanted);
	pfree(helper->path);
	loop_defer_free(helper->loop, helper);
}
