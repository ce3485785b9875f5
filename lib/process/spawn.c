/*-------------------------------------------------------------------------
 *
 * spawn.c
 *		Child processes: start, end, exit.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/words.h"
#include "process/adopted.h"
#include "process/spawn.h"
#include "process/supervisor.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* How long spawn_free() waits for a killed child to be gone. */
#define REAP_MS 1000

/* A program starts in far less time, unless its file system or the machine stands still. */
#define START_MS 100

struct Child
{
	dlist_node	node;			/* in children, until it is reaped */
	Loop	   *loop;
	LoopFn		exited;
	void	   *arg;
	Supervisor	supervisor;
	LoopIo	   *io;				/* NULL: it was reaped, or never started */
	LoopTimer  *kill_timer;		/* runs between TERM and KILL */
	char	   *program;		/* as the caller named it */
	char	   *directory;
};

/* The variables of our own environment that a child may see. */
static const char *const inherited[] = {
	"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "TMPDIR"
};

/* ---- pipes ---- */

static const SpawnPipes no_pipes = {{-1, NULL}, {-1, NULL}, {-1, NULL}};

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
	if (pipe->io)
		loop_io_free(pipe->io);
	if (pipe->fd >= 0)
		close(pipe->fd);
	pipe->io = NULL;
	pipe->fd = -1;
}

static void
close_pipes(SpawnPipes *pipes)
{
	spawn_pipe_close(&pipes->in);
	spawn_pipe_close(&pipes->out);
	spawn_pipe_close(&pipes->err);
}

/* Opens a pipe whose end our_end is non-blocking. */
static bool
open_pipe(SpawnPipe *ours, SpawnPipe *theirs, int our_end)
{
	int			fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	ours->fd = fds[our_end];
	theirs->fd = fds[1 - our_end];
	return fcntl(ours->fd, F_SETFL, O_NONBLOCK) == 0;
}

static bool
open_pipes(SpawnPipes *ours, SpawnPipes *theirs, const SpawnRequest *request)
{
	return open_pipe(&ours->in, &theirs->in, 1) &&
		(request->shares_stderr || open_pipe(&ours->err, &theirs->err, 0)) &&
		(!request->wants_stdout || open_pipe(&ours->out, &theirs->out, 0));
}

/* ---- program and environment ---- */

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		access(path, X_OK) == 0;
}

/*
 * The path of a program, found like execvp() does.  An empty entry of PATH,
 * the current directory, is skipped.
 */
static char *
find_program(const char *name)
{
	const char *dir = getenv("PATH");

	if (strchr(name, '/'))
		return pstrdup(name);
	if (dir == NULL)
		dir = DEFAULT_PATH;
	for (; *dir; dir += strspn(dir, ":"))
	{
		size_t		len = strcspn(dir, ":");
		char	   *path = psprintf("%.*s/%s", (int) len, dir, name);

		if (len > 0 && is_program(path))
			return path;
		pfree(path);
		dir += len;
	}
	return NULL;
}

bool
spawn_can_execute(const char *name)
{
	char	   *path = find_program(name);
	bool		found = path != NULL && is_program(path);

	pfree(path);
	return found;
}

static int
count_given(const SpawnRequest *request)
{
	return words_count(request->environment) + words_count(request->variables);
}

static void
add_variables(char ***next, char **entries)
{
	for (; entries != NULL && *entries != NULL; entries++)
		*(*next)++ = *entries;
}

/* The variables of the request come first.  They may hold secrets, and are not copied. */
static char **
build_environment(const SpawnRequest *request)
{
	char	  **environment = palloc0((lengthof(inherited) + count_given(request) + 1) * sizeof(char *));
	char	  **next = environment;

	add_variables(&next, request->environment);
	add_variables(&next, request->variables);
	for (int i = 0; i < (int) lengthof(inherited); i++)
	{
		const char *value = getenv(inherited[i]);

		if (value != NULL && words_variable(environment, inherited[i]) == NULL)
			*next++ = psprintf("%s=%s", inherited[i], value);
	}
	return environment;
}

static void
free_environment(const SpawnRequest *request, char **environment)
{
	for (char **entry = environment + count_given(request); *entry; entry++)
		pfree(*entry);
	pfree(environment);
}

/* ---- exit ---- */

/* All that run: waiting for any process concerns the whole of ours. */
static dlist_head children = DLIST_STATIC_INIT(children);

static Child *
find_child(pid_t pid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &children)
	{
		Child	   *child = dlist_container(Child, node, iter.cur);

		if (child->supervisor.pid == pid)
			return child;
	}
	return NULL;
}

static bool
is_child(pid_t pid)
{
	return find_child(pid) != NULL;
}

static void
forget_supervisor(Child *child)
{
	dlist_delete(&child->node);
	loop_io_free(child->io);
	child->io = NULL;
	loop_timer_stop(child->kill_timer);
	supervisor_close(&child->supervisor);
}

/* False while the child runs. */
static bool
reap(Child *child)
{
	if (!supervisor_reap(&child->supervisor))
		return false;
	if (child->supervisor.has_left)
		adopted_kill(child->loop, is_child);
	forget_supervisor(child);
	return true;
}

static void
on_pidfd(void *arg, int ready)
{
	Child	   *child = arg;

	(void) ready;
	if (reap(child))
		child->exited(child->arg);
}

bool
spawn_note_exit(pid_t pid)
{
	Child	   *child = find_child(pid);

	if (child != NULL)
		on_pidfd(child, LOOP_READ);
	return child != NULL;
}

static void
on_kill_timer(void *arg)
{
	const Child *child = arg;

	supervisor_kill(&child->supervisor);
}

void
spawn_stop(Child *child, int64 grace_us)
{
	if (child->io == NULL)
		return;
	supervisor_ask_to_end(&child->supervisor);
	loop_timer_start(child->kill_timer, grace_us);
}

void
spawn_kill(Child *child)
{
	if (child->io != NULL)
		supervisor_kill(&child->supervisor);
}

bool
spawn_has_ended(Child *child)
{
	supervisor_take_reports(&child->supervisor);
	return child->io == NULL || child->supervisor.has_ended;
}

void
spawn_wait(const Child *child, int timeout_ms)
{
	struct pollfd exited = {.fd = child->supervisor.pidfd, .events = POLLIN};

	poll(&exited, 1, timeout_ms);
}

int
spawn_exit_status(const Child *child)
{
	int			status = child->supervisor.status;

	return child->io == NULL && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
spawn_pid(Child *child)
{
	if (child->supervisor.program == 0)
		supervisor_take_reports(&child->supervisor);
	return child->supervisor.program != 0 ? child->supervisor.program : child->supervisor.pid;
}

/* ---- failure ---- */

static void
describe_failure(const Child *child, StringInfo out)
{
	const RunReport *failure = &child->supervisor.failure;
	const char *what = child->program;
	const char *doing = "could not execute";

	if (failure->news == RUN_NO_DIRECTORY)
	{
		doing = "could not change directory to";
		what = child->directory;
	}
	else if (failure->news == RUN_NOT_SUPERVISED && failure->value != E2BIG)
		what = supervisor_path();
	else if (failure->news == RUN_NOT_CREATED || failure->news == RUN_NOT_PREPARED)
		doing = "could not start a process for";
	appendStringInfo(out, "%s \"%s\": %s", doing, what, strerror(failure->value));
}

bool
spawn_never_ran(const Child *child, SpawnFailure *failure)
{
	int			error = child->supervisor.failure.value;
	StringInfoData message;

	if (child->supervisor.failure.news == RUN_NO_NEWS)
		return false;
	failure->is_temporary = error == EAGAIN || error == ENOMEM || error == EMFILE ||
		error == ENFILE || error == ETXTBSY;
	failure->is_unfit = !failure->is_temporary && error != E2BIG;
	initStringInfo(&message);
	describe_failure(child, &message);
	failure->message = message.data;
	return true;
}

void
spawn_describe_exit(const Child *child, StringInfo out)
{
	int			status = child->supervisor.status;

	if (child->supervisor.failure.news != RUN_NO_NEWS)
		describe_failure(child, out);
	else if (WIFEXITED(status))
		appendStringInfo(out, "exited with status %d", WEXITSTATUS(status));
	else if (status == SUPERVISOR_STATUS_LOST)
		appendStringInfoString(out, "ended, and its status is lost");
	else
		appendStringInfo(out, "was ended by signal %d (%s)", WTERMSIG(status),
						 strsignal(WTERMSIG(status)));
}

/* ---- start ---- */

/*
 * We wait for our children ourselves, get what a killed supervisor leaves, and
 * write() reports a closed pipe.
 */
static void
prepare_process(void)
{
	static bool done = false;
	struct sigaction action;

	if (done)
		return;
	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
	done = true;
}

static Child *
child_new(Loop *loop, const SpawnRequest *request)
{
	Child	   *child = palloc0(sizeof(Child));

	child->loop = loop;
	child->exited = request->exited;
	child->arg = request->arg;
	child->program = pstrdup(request->argv[0]);
	supervisor_init(&child->supervisor, child->program);
	child->directory = pstrdup(request->directory ? request->directory : "/");
	return child;
}

static void
child_free(Child *child)
{
	pfree(child->program);
	pfree(child->directory);
	loop_defer_free(child->loop, child);
}

static void
note_failure(Child *child, RunNews news, int error)
{
	child->supervisor.failure.news = news;
	child->supervisor.failure.value = error;
}

/* Notes the failure if the program did not start, as far as that is known now. */
static void
start_child(Child *child, const SpawnRequest *request, const SpawnPipes *theirs)
{
	char	   *program = find_program(request->argv[0]);
	char	  **environment = build_environment(request);
	ChildPlan	plan = {
		.program = program,
		.argv = request->argv,
		.environment = environment,
		.stdin_fd = theirs->in.fd,
		.stdout_fd = theirs->out.fd,
		.stderr_fd = request->shares_stderr ? STDERR_FILENO : theirs->err.fd
	};

	if (program == NULL)
		note_failure(child, RUN_NOT_EXECUTED, ENOENT);
	else
		supervisor_start(&child->supervisor, &plan, child->directory, request->is_awaited ? START_MS : 0);
	free_environment(request, environment);
	pfree(program);
}

Child *
spawn_start(Loop *loop, const SpawnRequest *request, SpawnPipes *pipes,
			SpawnFailure *failure)
{
	Child	   *child = child_new(loop, request);
	SpawnPipes	theirs = no_pipes;

	prepare_process();
	*pipes = no_pipes;
	if (open_pipes(pipes, &theirs, request))
		start_child(child, request, &theirs);
	else
		note_failure(child, RUN_NOT_CREATED, errno);
	close_pipes(&theirs);
	if (spawn_never_ran(child, failure))
	{
		supervisor_wait(&child->supervisor);
		close_pipes(pipes);
		child_free(child);
		return NULL;
	}
	dlist_push_tail(&children, &child->node);
	child->kill_timer = loop_timer_new(loop, on_kill_timer, child);
	child->io = loop_io_new(loop, child->supervisor.pidfd, on_pidfd, child);
	loop_io_want(child->io, LOOP_READ);
	return child;
}

void
spawn_free(Child *child)
{
	if (child->io != NULL)
	{
		spawn_kill(child);
		spawn_wait(child, REAP_MS);
		if (!reap(child))
			forget_supervisor(child);	/* init will reap it */
	}
	loop_timer_free(child->kill_timer);
	child_free(child);
}
