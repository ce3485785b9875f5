/*-------------------------------------------------------------------------
 *
 * program.c
 *		The program of a worker in the simulation: it reads tasks, and answers or fails to.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "acts.h"
#include "base/task.h"
#include "common/trigger.h"
#include "judge.h"
#include "program.h"
#include "sim_loop.h"
#include "world.h"

/* A pipe takes no more lines while the sidecar has left so many bytes unread. */
#define UNREAD_MOST 30000

struct Program
{
	Process    *process;
	int			in;
	int			out;
	ProgramExit exit;
	void	   *exit_arg;
	bool		is_leaving;		/* it does nothing any more */
	bool		is_closed;		/* its input has ended */
	bool		tells;			/* each task that it takes up */
	bool		is_fickle;		/* it may exit after any task */
	bool		refuses;		/* its settings */
	bool		is_slow;		/* to read */
	bool		misbehaves;		/* it has left the protocol */
	int			width;			/* tasks at once */
	int			nbegun;
	StringInfoData input;
	dlist_head	jobs;			/* in the order of their lines */
	Event	   *reading;
	int64		nread;			/* bytes of its input */
	int64		nwritten;		/* by the sidecar, as of the last look */
	StringInfoData marks;		/* Marks, in the order of time */
};

/* The number of bytes that were written by that time. */
typedef struct Mark
{
	int64		nwritten;
	int64		at_us;
} Mark;

typedef struct Job
{
	dlist_node	node;
	Program    *program;
	char		id[TASK_ID_TEXT + 1];
	const Row  *row;
	int64		version;
	int64		given_us;		/* when the sidecar wrote it */
	int64		start_by_us;	/* by the clock of the machine */
	bool		is_begun;
	Event	   *work;			/* NULL: none, or for ever */
} Job;

static void
leave(Program *program, int status)
{
	program->is_leaving = true;
	program->exit(program->exit_arg, status);
}

/* ---- its lines ---- */

static bool
is_blocked(const Program *program)
{
	int			unread;

	return ioctl(program->out, FIONREAD, &unread) != 0 || unread > UNREAD_MOST;
}

static void say(const Program *program, const char *fmt,...) pg_attribute_printf(2, 3);

static void
say(const Program *program, const char *fmt,...)
{
	char		line[1000];
	int			len;
	va_list		args;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* Nobody reads any more: the sidecar has closed the pipe. */
	if (write(program->out, line, len) != len && !is_blocked(program))
		world_fail("a worker could not write: %m");
	sim_loop_look(program->process->loop);
}

/* The sidecar may have handed it a task that it does not know of yet. */
static bool
has_unread(const Program *program)
{
	struct pollfd poll_in = {.fd = program->in, .events = POLLIN};

	return program->input.len > 0 || poll(&poll_in, 1, 0) > 0;
}

/* A line about a task that this program does not have, or not in that version. */
static void
say_of_another(const Program *program)
{
	char		id[TASK_ID_TEXT + 1];
	const Row  *row = model_row((int) world_between(0, model_count() - 1));
	int64		version = row->version + world_between(-1, 1);
	dlist_iter	iter;

	if (has_unread(program))
		return;
	dlist_foreach(iter, (dlist_head *) &program->jobs)
	{
		const Job  *job = dlist_container(Job, node, iter.cur);

		if (job->row == row && job->version == version)
			return;
	}
	trigger_id_text(row->id, id);
	say(program, "{\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"result\":\"done\"}\n", id, version);
}

/* ---- the end of a task ---- */

static void
drop(Job *job)
{
	if (job->work != NULL)
		world_cancel(job->work);
	if (job->is_begun)
	{
		job->program->nbegun--;
		judge_stop(job->program->process, job->row, job->version);
	}
	dlist_delete(&job->node);
	pfree(job);
}

static Job *
other_begun(Program *program, const Job *than)
{
	dlist_iter	iter;

	dlist_foreach(iter, &program->jobs)
	{
		Job		   *job = dlist_container(Job, node, iter.cur);

		if (job != than && job->is_begun && job->work != NULL)
			return job;
	}
	return NULL;
}

static void
expect(const Job *job)
{
	if (!job->program->misbehaves)
		judge_expect(job->row, job->version);
}

static void
answer_both(Job *job, Job *other, TaskResult result)
{
	judge_result(job->row, job->version, result);
	judge_result(other->row, other->version, result);
	expect(job);
	expect(other);
	say(job->program, "{\"ids\":[\"%s\",\"%s\"],\"versions\":[" INT64_FORMAT "," INT64_FORMAT "],\"result\":\"%s\"}\n",
		job->id, other->id, job->version, other->version, task_result_name(result));
	drop(other);
}

static void
answer(Job *job, TaskResult result)
{
	Job		   *other = world_happens(200) ? other_begun(job->program, job) : NULL;
	int			tenths = result == TASK_RETRY && world_happens(500) ? (int) world_between(0, 30) : -1;
	char		delay[40] = "";
	bool		is_double;

	if (tenths >= 0)
		snprintf(delay, sizeof(delay), ",\"retry_in\":%.1f", tenths / 10.0);
	if (other != NULL)
		answer_both(job, other, result);
	else
	{
		judge_result(job->row, job->version, result);
		if (tenths >= 0)
			judge_delay(job->row, job->version, MS_TO_US(tenths * 100));
		expect(job);
		is_double = acts_happens(HABIT_BAD_WORKERS, 10);
		job->program->misbehaves |= is_double;
		for (int i = is_double ? 2 : 1; i > 0; i--)
			say(job->program, "{\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"result\":\"%s\"%s}\n",
				job->id, job->version, task_result_name(result), delay);
	}
	drop(job);
}

static TaskResult
choose_result(void)
{
	static const TaskResult results[] = {TASK_RETRY, TASK_RETRY, TASK_RETRY, TASK_REPEAT, TASK_ERROR, TASK_ACCEPTED,
		TASK_DELETE, TASK_CANCELLED};

	return !acts_happens(HABIT_ODD_RESULTS, 200) ? TASK_DONE : results[world_between(0, lengthof(results) - 1)];
}

/* False: the program has died of it. */
static bool
misbehave(Program *program)
{
	program->misbehaves = true;
	switch (world_between(0, 7))
	{
		case 0:
			say(program, "{\"id\":\"0");
			/* fall through */
		case 1:
			leave(program, 1);
			return false;
		case 2:
			say(program, "not JSON\n");
			break;
		case 3:
			say(program, "{\"error\":\"simulated\"}\n");
			break;
		case 4:
			say(program, "{\"progress\":[1]}\n");
			break;
		default:
			say_of_another(program);
	}
	return true;
}

static void begin_next(Program *program);

static void
end_job(void *arg)
{
	Job		   *job = arg;
	Program    *program = job->program;

	job->work = NULL;
	if (program->is_leaving)
		return;
	if (is_blocked(program))
		job->work = world_after(MS_TO_US(10), end_job, job);
	else if (!acts_happens(HABIT_BAD_WORKERS, 50) || misbehave(program))
	{
		if (acts_happens(HABIT_BAD_WORKERS, 10))
		{
			program->misbehaves = true;
			return;
		}
		answer(job, choose_result());
		if (program->is_fickle && world_happens(100))
			leave(program, 0);
		begin_next(program);
	}
}

static void
cancel_job(void *arg)
{
	Job		   *job = arg;
	Program    *program = job->program;

	job->work = NULL;
	if (program->is_leaving)
		return;
	answer(job, TASK_CANCELLED);
	begin_next(program);
}

/* ---- the begin of a task ---- */

static int64
choose_length(void)
{
	if (world_happens(100))
		return world_between(0, 50);
	return world_happens(800) ? world_between(100, MS_TO_US(300)) : world_between(MS_TO_US(300), SECONDS_TO_US(4));
}

static void
begin(Job *job)
{
	Program    *program = job->program;

	if (loop_now_us(program->process->loop) > job->start_by_us)
	{
		judge_result(job->row, job->version, TASK_RELEASE);
		say(program, "{\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"result\":\"release\"}\n", job->id, job->version);
		drop(job);
		return;
	}
	if (program->tells)
		say(program, "{\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"started\":true}\n", job->id, job->version);
	job->is_begun = true;
	program->nbegun++;
	judge_start(program->process, job->row, job->version, job->given_us);
	job->work = world_after(choose_length(), end_job, job);
}

/* A task that is being cancelled does not begin any more. */
static Job *
next_job(Program *program)
{
	dlist_iter	iter;

	dlist_foreach(iter, &program->jobs)
	{
		Job		   *job = dlist_container(Job, node, iter.cur);

		if (!job->is_begun && job->work == NULL)
			return job;
	}
	return NULL;
}

static void
begin_next(Program *program)
{
	Job		   *job;

	while (!program->is_leaving && program->nbegun < program->width && (job = next_job(program)) != NULL)
		begin(job);
	if (program->is_closed && !program->is_leaving && dlist_is_empty(&program->jobs))
		leave(program, 0);
}

/* ---- its input ---- */

static void
take_cancel(Program *program, const char *id)
{
	dlist_iter	iter;
	Job		   *found = NULL;

	dlist_foreach(iter, &program->jobs)
	{
		Job		   *job = dlist_container(Job, node, iter.cur);

		if (strncmp(job->id, id, TASK_ID_TEXT) == 0)
			found = job;
	}
	if (found == NULL)
		return;
	if (world_happens(200))
	{
		program->misbehaves = true;
		return;
	}
	if (found->work != NULL)
		world_cancel(found->work);
	found->work = world_after(world_between(0, MS_TO_US(50)), found->is_begun && world_happens(300) ? end_job : cancel_job,
							  found);
}

/* When the lines that are now taken were written. */
static int64
written_us(const Program *program)
{
	const Mark *mark = (const Mark *) program->marks.data;

	while (mark->nwritten < program->nread - program->input.len)
		mark++;
	return mark->at_us;
}

/* The first characters of a task: its id, and what is found after that. */
static void
add_job(Program *program, const char *task)
{
	Job		   *job = palloc0(sizeof(Job));
	uint8		id[16];

	memcpy(job->id, task, TASK_ID_TEXT);
	if (!trigger_id_parse(job->id, id) || (job->row = model_find(id)) == NULL)
		world_fail("a worker gets an unknown task: %s", job->id);
	job->program = program;
	job->given_us = written_us(program);
	job->version = strtoll(strstr(task, "\"version\":") + strlen("\"version\":"), NULL, 10);
	job->start_by_us = MS_TO_US(strtoll(strstr(task, "\"start_by_ms\":") + strlen("\"start_by_ms\":"), NULL, 10));
	dlist_push_tail(&program->jobs, &job->node);
	judge_hand(program->process, job->row, job->version, job->given_us);
}

static void
take_line(Program *program, const char *line)
{
	static const char begin_task[] = "{\"id\":\"";

	if (strncmp(line, "{\"cancel\":\"", 11) == 0)
		take_cancel(program, line + 11);
	else if (strncmp(line, "{\"hello\"", 8) == 0)
	{
		if (program->refuses)
			say(program, "{\"error\":\"simulated\"}\n");
		else if (program->is_fickle)
			say(program, "{\"ready\":1}\n");
	}
	else if (strstr(line, begin_task) == NULL)
		world_fail("a worker gets an unknown line: %s", line);
	else
		for (const char *at = line; (at = strstr(at, begin_task)) != NULL; at++)
			add_job(program, at + strlen(begin_task));
}

static void
take_lines(Program *program)
{
	char	   *line = program->input.data;
	char	   *end;

	while ((end = strchr(line, '\n')) != NULL)
	{
		*end = '\0';
		program->input.len -= (int) (end + 1 - line);
		take_line(program, line);
		line = end + 1;
	}
	memmove(program->input.data, line, program->input.len + 1);
}

static void
read_input(void *arg)
{
	static char block[65536];
	Program    *program = arg;
	ssize_t		n;

	program->reading = NULL;
	if (program->is_leaving)
		return;
	n = read(program->in, block, world_happens(800) && !program->is_slow ? (int64) sizeof(block) : world_between(1, 400));
	program->is_closed |= n == 0;
	if (n > 0)
	{
		program->nread += n;
		appendBinaryStringInfo(&program->input, block, (int) n);
		take_lines(program);
		sim_loop_look(program->process->loop);
	}
	begin_next(program);
	program_look(program);
}

static int64
reading_us(const Program *program)
{
	if (program->is_slow)
		return world_between(0, SECONDS_TO_US(3));
	if (!acts_happens(HABIT_BAD_WORKERS, 50))
		return world_between(20, 300);
	return world_happens(950) ? world_between(300, MS_TO_US(500)) : world_between(0, SECONDS_TO_US(20));
}

static void
note_written(Program *program)
{
	Mark		mark = {.at_us = world_now_us()};
	int			unread;

	if (ioctl(program->in, FIONREAD, &unread) != 0 || program->nread + unread <= program->nwritten)
		return;
	program->nwritten = mark.nwritten = program->nread + unread;
	appendBinaryStringInfo(&program->marks, (const char *) &mark, sizeof(mark));
}

void
program_look(Program *program)
{
	struct pollfd poll_in = {program->in, POLLIN, 0};

	note_written(program);
	if (program->reading == NULL && !program->is_closed && !program->is_leaving && poll(&poll_in, 1, 0) > 0)
		program->reading = world_after(reading_us(program), read_input, program);
}

/* ---- its life ---- */

Program *
program_new(Process *process, int in, int out, bool tells)
{
	Program    *program = palloc0(sizeof(Program));

	program->process = process;
	program->in = in;
	program->out = out;
	program->tells = tells;
	program->is_fickle = acts_happens(HABIT_BAD_WORKERS, 100);
	program->is_slow = acts_happens(HABIT_BAD_WORKERS, 50);
	program->refuses = acts_happens(HABIT_BAD_WORKERS, 20);
	program->width = tells ? (int) world_between(1, 4) : MODEL_TASKS;
	initStringInfo(&program->input);
	initStringInfo(&program->marks);
	dlist_init(&program->jobs);
	return program;
}

void
program_on_exit(Program *program, ProgramExit exit, void *arg)
{
	program->exit = exit;
	program->exit_arg = arg;
}

/* It has a task that is late, or is not its node's any more: one such task ends the process. */
static bool
has_late_job(const Program *program)
{
	dlist_iter	iter;

	dlist_foreach(iter, (dlist_head *) &program->jobs)
	{
		const Job  *job = dlist_container(Job, node, iter.cur);

		if (!judge_is_in_time(job->row, job->version))
			return true;
	}
	return false;
}

void
program_check_end(const Program *program)
{
	dlist_iter	iter;
	const Job  *job;

	if (program->misbehaves || program->refuses || program->is_leaving || has_late_job(program))
		return;
	dlist_foreach(iter, (dlist_head *) &program->jobs)
	{
		job = dlist_container(Job, node, iter.cur);
		if (job->is_begun)
			judge_end_worker(program->process, job->row, job->version);
	}
}

void
program_free(Program *program)
{
	while (!dlist_is_empty(&program->jobs))
		drop(dlist_head_element(Job, node, &program->jobs));
	if (program->reading != NULL)
		world_cancel(program->reading);
	pfree(program->input.data);
	pfree(program->marks.data);
	pfree(program);
}
