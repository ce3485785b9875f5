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
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "execute/process/child.h"
#include "execute/process/run_token.h"
#include "execute/process/spawn.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* How long spawn_free() waits for a killed child to be gone. */
#define REAP_MS 1000

struct Child
{
	dlist_node	node;			/* in children, until it is reaped */
	Loop	   *loop;
	LoopFn		exited;
	void	   *arg;
	pid_t		pid;
	int			pidfd;			/* -1: reaped */
	LoopIo	   *io;
	LoopTimer  *kill_timer;		/* runs between TERM and KILL */
	int			code;			/* si_code once it has exited, 0 before */
	int			status;			/* exit status or signal */
	char		token[RUN_TOKEN_TEXT + 1];
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

static char **
build_environment(char **more, const char *token)
{
	char	  **environment;
	int			nmore = 0;
	int			n = 0;
	int			i;

	while (more && more[nmore])
		nmore++;
	environment = palloc((lengthof(inherited) + nmore + 2) * sizeof(char *));
	for (i = 0; i < (int) lengthof(inherited); i++)
	{
		const char *value = getenv(inherited[i]);

		if (value)
			environment[n++] = psprintf("%s=%s", inherited[i], value);
	}
	environment[n++] = psprintf(RUN_TOKEN_NAME "%s", token);
	for (i = 0; i < nmore; i++)
		environment[n++] = pstrdup(more[i]);
	environment[n] = NULL;
	return environment;
}

static void
free_environment(char **environment)
{
	char	  **entry;

	for (entry = environment; *entry; entry++)
		pfree(*entry);
	pfree(environment);
}

/* ---- exit ---- */

/* All that run: waiting for any process concerns the whole of ours. */
static dlist_head children = DLIST_STATIC_INIT(children);

static void
kill_group(const Child *child, int signo)
{
	kill(-child->pid, signo);
}

/*
 * Notes an exit, kills the rest of the group, and only then reaps the child.
 * False while the child runs.
 */
static bool
reap(Child *child)
{
	siginfo_t	info;

	info.si_pid = 0;
	if (waitid(P_PIDFD, child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) != 0
		|| info.si_pid == 0)
		return false;
	child->code = info.si_code;
	child->status = info.si_status;
	kill_group(child, SIGKILL);
	waitid(P_PIDFD, child->pidfd, &info, WEXITED);

	dlist_delete(&child->node);
	loop_io_free(child->io);
	close(child->pidfd);
	child->pidfd = -1;
	loop_timer_stop(child->kill_timer);
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
	dlist_iter	iter;

	dlist_foreach(iter, &children)
	{
		Child	   *child = dlist_container(Child, node, iter.cur);

		if (child->pid != pid)
			continue;
		on_pidfd(child, LOOP_READ);
		return true;
	}
	return false;
}

static void
on_kill_timer(void *arg)
{
	kill_group(arg, SIGKILL);
}

void
spawn_stop(Child *child, int64 grace_us)
{
	if (child->pidfd < 0)
		return;
	kill_group(child, SIGTERM);
	kill_group(child, SIGCONT); /* a stopped process does not handle TERM */
	loop_timer_start(child->kill_timer, grace_us);
}

bool
spawn_has_exited(const Child *child)
{
	siginfo_t	info;

	if (child->pidfd < 0)
		return true;
	info.si_pid = 0;
	return waitid(P_PIDFD, child->pidfd, &info,
				  WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

void
spawn_wait(const Child *child, int timeout_ms)
{
	struct pollfd exited = {.fd = child->pidfd, .events = POLLIN};

	poll(&exited, 1, timeout_ms);
}

int
spawn_exit_status(const Child *child)
{
	return child->code == CLD_EXITED ? child->status : -1;
}

void
spawn_describe_exit(const Child *child, StringInfo out)
{
	if (child->code == CLD_EXITED)
		appendStringInfo(out, "exited with status %d", child->status);
	else
		appendStringInfo(out, "was ended by signal %d (%s)", child->status,
						 strsignal(child->status));
}

const char *
spawn_token(const Child *child)
{
	return child->token;
}

int
spawn_pid(const Child *child)
{
	return child->pid;
}

/* ---- start ---- */

/* We wait for our children ourselves, and write() reports a closed pipe. */
static void
prepare_signals(void)
{
	static bool done = false;
	struct sigaction action;

	if (done)
		return;
	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	done = true;
}

static void
fail(SpawnFailure *failure, const SpawnRequest *request,
	 const ChildFailure *why)
{
	const char *what = request->argv[0];
	const char *doing = "could not execute";

	if (why->step == CHILD_DIRECTORY)
	{
		doing = "could not change directory to";
		what = request->directory;
	}
	else if (why->step != CHILD_EXECUTE)
		doing = "could not start a process for";

	failure->is_temporary = why->error == EAGAIN || why->error == ENOMEM ||
		why->error == EMFILE || why->error == ENFILE || why->error == ETXTBSY;
	failure->is_unfit = !failure->is_temporary && why->error != E2BIG;
	failure->message = psprintf("%s \"%s\": %s", doing, what,
								strerror(why->error));
}

static Child *
child_new(Loop *loop, const SpawnRequest *request)
{
	Child	   *child = palloc0(sizeof(Child));

	child->loop = loop;
	child->exited = request->exited;
	child->arg = request->arg;
	child->pidfd = -1;
	run_token_make(child->token);
	return child;
}

/* Starts the program; sets child->pid and child->pidfd. */
static bool
start_child(Child *child, const SpawnRequest *request, SpawnPipes *theirs,
			ChildFailure *why)
{
	ChildPlan	plan = {
		.argv = request->argv,
		.directory = request->directory ? request->directory : "/",
		.stdin_fd = theirs->in.fd,
		.stdout_fd = theirs->out.fd,
		.stderr_fd = request->shares_stderr ? STDERR_FILENO : theirs->err.fd
	};
	char	   *program = find_program(request->argv[0]);

	if (program == NULL)
	{
		why->step = CHILD_EXECUTE;
		why->error = ENOENT;
		return false;
	}
	plan.program = program;
	plan.environment = build_environment(request->environment, child->token);
	child->pid = child_start(&plan, &child->pidfd, why);
	free_environment(plan.environment);
	pfree(program);
	return child->pid >= 0;
}

Child *
spawn_start(Loop *loop, const SpawnRequest *request, SpawnPipes *pipes,
			SpawnFailure *failure)
{
	Child	   *child = child_new(loop, request);
	SpawnPipes	theirs = no_pipes;
	ChildFailure why = {CHILD_CREATE, 0};
	bool		started;

	prepare_signals();
	*pipes = no_pipes;
	started = open_pipes(pipes, &theirs, request);
	if (!started)
		why.error = errno;
	else
		started = start_child(child, request, &theirs, &why);
	close_pipes(&theirs);
	if (!started)
	{
		close_pipes(pipes);
		fail(failure, request, &why);
		pfree(child);
		return NULL;
	}
	dlist_push_tail(&children, &child->node);
	child->kill_timer = loop_timer_new(loop, on_kill_timer, child);
	child->io = loop_io_new(loop, child->pidfd, on_pidfd, child);
	loop_io_want(child->io, LOOP_READ);
	return child;
}

void
spawn_free(Child *child)
{
	if (child->pidfd >= 0)
	{
		kill_group(child, SIGKILL);
		spawn_wait(child, REAP_MS);
		if (!reap(child))
		{
			dlist_delete(&child->node);
			loop_io_free(child->io);	/* init will reap the child */
			close(child->pidfd);
		}
	}
	loop_timer_free(child->kill_timer);
	loop_defer_free(child->loop, child);
}
