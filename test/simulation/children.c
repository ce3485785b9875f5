/*-------------------------------------------------------------------------
 *
 * children.c
 *		The processes of workers in the simulation, which take the place of lib/process/spawn.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "acts.h"
#include "children.h"
#include "command.h"
#include "faults.h"
#include "kafka.h"
#include "process/spawn.h"
#include "program.h"
#include "sim_loop.h"
#include "world.h"

struct Child
{
	dlist_node	node;
	Process    *process;
	Program    *program;		/* a worker, until it ends */
	Command    *command;		/* a command, until it ends */
	Kafka	   *kafka;			/* a helper, until it ends */
	SpawnFailure failure;		/* its message is NULL: it was executed */
	bool		has_ended;
	LoopFn		exited;
	void	   *arg;
	Event	   *end;			/* when it ends, or is gone with all below it */
	int64		end_us;
	int			status;			/* -1: a signal has ended it */
	int			pid;
	int			fds[3];			/* its ends of the pipes */
};

static int	last_pid;

extern ssize_t __wrap_write(int fd, const void *bytes, size_t n);
extern ssize_t __real_write(int fd, const void *bytes, size_t n);

static void
note_write(void)
{
	if (process_current() != NULL)
		process_current()->has_written = true;
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t n)
{
	note_write();
	return __real_write(fd, bytes, n);
}

/* To ask the kernel about each pipe in each turn would take a third of a run. */
void
children_look(Process *process)
{
	dlist_iter	iter;

	if (!process->has_written)
		return;
	process->has_written = false;
	dlist_foreach(iter, &process->children)
	{
		Child	   *child = dlist_container(Child, node, iter.cur);

		if (child->program != NULL)
			program_look(child->program);
		if (child->kafka != NULL)
			kafka_look(child->kafka);
	}
}

/* ---- ends ---- */

static void
set_end(Child *child, int64 us, EventFn fn)
{
	if (child->end != NULL)
		world_cancel(child->end);
	child->end = world_after(us, fn, child);
	child->end_us = world_now_us() + us;
}

static void
tell_end(void *arg)
{
	Child	   *child = arg;

	child->end = NULL;
	sim_loop_call(child->process->loop, child->exited, child->arg);
}

static void
end_program(Child *child)
{
	if (child->program != NULL)
		program_free(child->program);
	if (child->command != NULL)
		command_free(child->command);
	if (child->kafka != NULL)
		kafka_free(child->kafka);
	child->program = NULL;
	child->command = NULL;
	child->kafka = NULL;
	child->has_ended = true;
	for (int i = 0; i < (int) lengthof(child->fds); i++)
		if (child->fds[i] >= 0)
			close(child->fds[i]);
	sim_loop_look(child->process->loop);
}

static void
on_end(void *arg)
{
	Child	   *child = arg;

	child->end = NULL;
	world_tell("process %d of %s ends", child->pid, child->process->name);
	end_program(child);
	set_end(child, world_between(0, world_happens(50) ? MS_TO_US(300) : 500), tell_end);
}

/* An earlier end stays. */
static void
end_in(Child *child, int64 us, int status)
{
	if (child->has_ended || (child->end != NULL && child->end_us <= world_now_us() + us))
		return;
	child->status = status;
	set_end(child, us, on_end);
}

static void
on_exit_wanted(void *arg, int status)
{
	end_in(arg, 0, status);
}

/* The sidecar ends a program only for a reason. */
static void
check_end(const Child *child)
{
	if (child->program != NULL && !child->process->is_draining && child->end == NULL)
		program_check_end(child->program);
}

void
spawn_stop(Child *child, int64 grace_us)
{
	check_end(child);
	end_in(child, world_happens(800) ? Min(world_between(0, MS_TO_US(20)), grace_us) : world_between(0, grace_us), -1);
}

void
spawn_kill(Child *child)
{
	check_end(child);
	end_in(child, world_between(0, 500), -1);
}

void
spawn_wait(const Child *child, int timeout_ms)
{
	if (!child->has_ended)
		end_program(unconstify(Child *, child));
}

/* ---- starts ---- */

static void
make_pipe(SpawnPipe *ours, int *its, int our_end)
{
	int			fds[2];

	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0)
		world_fail("could not make a pipe: %m");
	ours->fd = fds[our_end];
	ours->io = NULL;
	*its = fds[1 - our_end];
}

static bool
cannot_start(SpawnFailure *failure)
{
	memset(failure, 0, sizeof(*failure));
	if (!faults_last() || !acts_happens(HABIT_BAD_STARTS, 20))
		return false;
	failure->is_temporary = world_happens(500);
	failure->is_unfit = !failure->is_temporary;
	failure->message = pstrdup("simulated");
	return true;
}

static bool
is_helper(const SpawnRequest *request)
{
	return request->argv[1] != NULL && strcmp(request->argv[1], "triggers") == 0;
}

static void
start_helper(Child *child, SpawnPipes *pipes)
{
	make_pipe(&pipes->out, &child->fds[1], 0);
	child->kafka = kafka_new(child->process, child->fds[0], child->fds[1]);
	kafka_on_exit(child->kafka, on_exit_wanted, child);
}

static void
start_worker(Child *child, const SpawnRequest *request, SpawnPipes *pipes)
{
	make_pipe(&pipes->out, &child->fds[1], 0);
	/* A full pipe keeps lines in the sidecar, so that they wait for its gate. */
	if (world_happens(500))
		(void) fcntl(child->fds[0], F_SETPIPE_SZ, PIPE_BUF);
	child->program = program_new(child->process, child->fds[0], child->fds[1], request->argv[1] != NULL);
	program_on_exit(child->program, on_exit_wanted, child);
	world_count(REACHED_WORKERS);
}

/* The supervisor may find out late that the command cannot be executed. */
static void
start_command(Child *child, const SpawnRequest *request, SpawnPipes *pipes)
{
	child->fds[1] = -1;
	if (cannot_start(&child->failure))
		end_in(child, world_between(0, 500), -1);
	else
		child->command = command_new(child->process, request->environment, on_exit_wanted, child);
	world_count(REACHED_COMMANDS);
}

Child *
spawn_start(Loop *loop, const SpawnRequest *request, SpawnPipes *pipes, SpawnFailure *failure)
{
	Child	   *child;

	pipes->in.fd = pipes->out.fd = pipes->err.fd = -1;
	pipes->in.io = pipes->out.io = pipes->err.io = NULL;
	if (cannot_start(failure))
		return NULL;
	child = palloc0(sizeof(Child));
	child->process = sim_loop_process(loop);
	child->exited = request->exited;
	child->arg = request->arg;
	child->pid = ++last_pid;
	make_pipe(&pipes->in, &child->fds[0], 1);
	child->fds[2] = -1;
	if (!request->shares_stderr)
		make_pipe(&pipes->err, &child->fds[2], 0);
	if (is_helper(request))
		start_helper(child, pipes);
	else if (request->wants_stdout)
		start_worker(child, request, pipes);
	else
		start_command(child, request, pipes);
	dlist_push_tail(&child->process->children, &child->node);
	world_tell("%s starts process %d for %s", child->process->name, child->pid, request->argv[0]);
	return child;
}

void
spawn_free(Child *child)
{
	if (child->end != NULL)
		world_cancel(child->end);
	if (!child->has_ended)
		end_program(child);
	sim_loop_forget(child->process->loop, child->arg);
	dlist_delete(&child->node);
	pfree(child);
}

/* ---- the rest of spawn.h ---- */

bool
spawn_note_exit(pid_t pid)
{
	return false;
}

bool
spawn_has_ended(Child *child)
{
	return child->has_ended;
}

int
spawn_exit_status(const Child *child)
{
	return child->has_ended ? child->status : -1;
}

bool
spawn_never_ran(const Child *child, SpawnFailure *failure)
{
	*failure = child->failure;
	return failure->message != NULL;
}

void
spawn_describe_exit(const Child *child, StringInfo out)
{
	appendStringInfo(out, "exited with status %d", child->status);
}

extern char *__wrap_hello_check(const char *path, const char *use, const char *hellos, char **reason);

/* Bundled programs find no fault in their settings, one line for each hello. */
char *
__wrap_hello_check(const char *path, const char *use, const char *hellos, char **reason)
{
	StringInfoData answers;

	initStringInfo(&answers);
	for (; (hellos = strchr(hellos, '\n')) != NULL; hellos++)
		appendStringInfoString(&answers, "{\"ready\":1}\n");
	return answers.data;
}

int
spawn_pid(Child *child)
{
	return child->pid;
}

bool
spawn_can_execute(const char *name)
{
	return true;
}

void
spawn_pipe_watch(SpawnPipe *pipe, Loop *loop, int want, LoopIoFn fn, void *arg)
{
	if (pipe->io == NULL)
		pipe->io = loop_io_new(loop, pipe->fd, fn, arg);
	loop_io_want(pipe->io, want);
}

void
spawn_pipe_close(SpawnPipe *pipe)
{
	if (pipe->io != NULL)
		loop_io_free(pipe->io);
	pipe->io = NULL;
	if (pipe->fd >= 0)
		close(pipe->fd);
	pipe->fd = -1;
	note_write();
}
