/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-run: supervises one command, and leaves nothing of it running.
 *
 *		twtasks-run SIDECAR DIRECTORY PROGRAM ARGV...
 *
 * SIDECAR is the process id of our parent, PROGRAM the path to execute in DIRECTORY,
 * and ARGV all arguments of the command, its name first.  DIRECTORY may be on a dead
 * mount, so we, and not the sidecar, go there.
 *
 * We are a subreaper: each process below us whose parent has died becomes our
 * child, in whatever session, and with whatever environment.  So killing our
 * children until we have none ends all of them.  That begins
 *	- when the command has exited;
 *	- when the sidecar sends RUN_KILL_SIGNAL;
 *	- when the sidecar has died, however.  The kernel tells us by SIGCONT, which
 *	  reaches us also if somebody has stopped us.
 * TERM goes to the command's process group.  The sidecar keeps the time of the
 * grace: it sends TERM first and RUN_KILL_SIGNAL later.
 *
 * If we are killed, the kernel kills the command, and the sidecar is the next
 * subreaper (adopted.h).
 *
 * All signals stay blocked from before our start; we take the four that we know
 * when we wait.  The command gets none of this: it has a session of its own, no
 * signal is blocked or ignored, and it inherits descriptors 0, 1 and 2, which we
 * close.  The sidecar has set all other restrictions (child.h).
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/run_report.h"
#include "kernel.h"

/*
 * Signal sets and times of the kernel's calls, which on 32 bits differ from the C
 * library's.  Signal 1 is the lowest bit.
 */
typedef unsigned long long SignalSet;

typedef struct KernelTime
{
	long		seconds;
	long		nanoseconds;
} KernelTime;

#define SIGNAL(number) (1ULL << ((number) - 1))
#define OUR_SIGNALS \
	(SIGNAL(SIGTERM) | SIGNAL(RUN_KILL_SIGNAL) | SIGNAL(SIGCHLD) | SIGNAL(SIGCONT))

/* Pauses between two rounds of killing, while no child exits. */
#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 100

/* A process that lives on for so long does not die of KILL. */
#define PATIENCE_MS 5000

/* How often, and how long, a report is tried. */
#define REPORT_TRIES 500
#define REPORT_PAUSE_MS 10

#define FOREVER (-1)

typedef struct Run
{
	int			self;
	int			sidecar;
	int			command;		/* process id, and group while it is not
								 * reaped */
	bool		has_ended;		/* the command, as the sidecar was told */
} Run;

KERNEL_START;

static void
__attribute__((noreturn))
leave(int status)
{
	for (;;)
		KERNEL(SYS_exit_group, status, 0, 0, 0, 0);
}

/* Other errors of a write last. */
static bool
can_pass(long error)
{
	return error == -ENOMEM || error == -EAGAIN || error == -EINTR;
}

/*
 * The kernel may lack memory for the pipe for a while.  A sidecar that hears of no end
 * does not take the command for done.
 */
static void
report(RunNews news, int value)
{
	RunReport	line = {news, value};
	KernelTime	pause = {0, REPORT_PAUSE_MS * 1000000};

	for (int i = 0; i < REPORT_TRIES; i++)
	{
		long		n = KERNEL(SYS_write, RUN_REPORT_FD, &line, sizeof(line), 0, 0);

		if (!can_pass(n))
			return;
		KERNEL(SYS_nanosleep, &pause, 0, 0, 0, 0);
	}
}

static bool
is_sidecar_dead(const Run *run)
{
	return KERNEL(SYS_getppid, 0, 0, 0, 0, 0) != run->sidecar;
}

/* Returns the signal; 0: none came in time. */
static int
wait_for_signal(long timeout_ms)
{
	SignalSet	signals = OUR_SIGNALS;
	KernelTime	timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	long		signo = KERNEL(SYS_rt_sigtimedwait, &signals, 0,
							   timeout_ms == FOREVER ? 0 : &timeout, sizeof(signals), 0);

	return signo > 0 ? (int) signo : 0;
}

/* ---- end ---- */

/* While the command is not reaped, no other group can have its number. */
static void
signal_group(const Run *run, int signo)
{
	if (!run->has_ended)
		KERNEL(SYS_kill, -run->command, signo, 0, 0, 0);
}

/* A stopped process does not handle TERM. */
static void
ask_to_end(const Run *run)
{
	signal_group(run, SIGTERM);
	signal_group(run, SIGCONT);
}

/* Reaps all that have exited; false when no child is left. */
static bool
reap(Run *run)
{
	siginfo_t	info;
	int			status;
	long		error;

	for (;;)
	{
		info.si_pid = 0;
		error = KERNEL(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, 0);
		if (error == -EINTR)
			continue;
		if (error < 0)
			return false;
		if (info.si_pid == 0)
			return true;
		if (info.si_pid == run->command)
			signal_group(run, SIGKILL);
		if (KERNEL(SYS_wait4, info.si_pid, &status, 0, 0, 0) != info.si_pid)
			continue;
		if (info.si_pid == run->command && !run->has_ended)
		{
			run->has_ended = true;
			report(RUN_ENDED, status);
		}
	}
}

/*
 * Kills a child with its group, whose members are all below us: the group is in a
 * session that the command or a process below it made.
 */
static void
kill_child(const Run *run, int pid)
{
	long		group = KERNEL(SYS_getpgid, pid, 0, 0, 0, 0);

	if (group > 1 && group != run->self)
		KERNEL(SYS_kill, -group, SIGKILL, 0, 0, 0);
	KERNEL(SYS_kill, pid, SIGKILL, 0, 0, 0);
}

/* The list changes while we read it.  The next round sees a child that we miss. */
static void
kill_children(const Run *run)
{
	char		text[4096];
	long		fd = KERNEL(SYS_openat, AT_FDCWD, "/proc/thread-self/children",
							O_RDONLY | O_CLOEXEC, 0, 0);
	long		n;
	int			pid = 0;

	signal_group(run, SIGKILL);
	while (fd >= 0 && (n = KERNEL(SYS_read, fd, text, sizeof(text), 0, 0)) > 0)
		for (long i = 0; i < n; i++)
			if (text[i] >= '0' && text[i] <= '9')	/* NOLINT: the kernel
													 * wrote n bytes */
				pid = 10 * pid + text[i] - '0';
			else if (pid > 0)
			{
				kill_child(run, pid);
				pid = 0;
			}
	if (fd >= 0)
		KERNEL(SYS_close, fd, 0, 0, 0, 0);
}

/*
 * Each exit wakes us, since it may have made the next children ours.  A command
 * that does not die is waited for, however long: its status is not known.
 */
static void
kill_all(Run *run)
{
	long		pause_ms = PAUSE_MIN_MS;
	long		quiet_ms = 0;

	for (;;)
	{
		kill_children(run);
		if (!reap(run))
			return;
		if (wait_for_signal(pause_ms) != 0)
			continue;
		quiet_ms += pause_ms;
		pause_ms = 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
		if (quiet_ms >= PATIENCE_MS && run->has_ended)
		{
			report(RUN_LEFT, 0);
			return;
		}
	}
}

/* Returns when the command has exited, or all must be killed; true: children are left. */
static bool
supervise(Run *run)
{
	for (;;)
	{
		int			signo = wait_for_signal(FOREVER);

		if (signo == SIGTERM)
			ask_to_end(run);
		if (!reap(run))
			return false;
		if (run->has_ended || signo == RUN_KILL_SIGNAL || is_sidecar_dead(run))
			return true;
	}
}

/* ---- start ---- */

/* Executes the command in the child that vfork() made, or says why not. */
static void
execute(const Run *run, char **argv, char **environment, volatile RunReport *failure)
{
	SignalSet	none = 0;

	KERNEL(SYS_setsid, 0, 0, 0, 0, 0);
	KERNEL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (KERNEL(SYS_getppid, 0, 0, 0, 0, 0) != run->self)
		leave(126);
	KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof(none), 0);
	failure->news = RUN_NO_DIRECTORY;
	failure->value = (int) -KERNEL(SYS_chdir, argv[0], 0, 0, 0, 0);
	if (failure->value != 0)
		return;
	failure->news = RUN_NOT_EXECUTED;
	failure->value = (int) -KERNEL(SYS_execve, argv[1], argv + 2, environment, 0, 0);
}

/* False: the command does not run, which the sidecar was told. */
static bool
start(Run *run, char **argv, char **environment)
{
	volatile RunReport failure = {RUN_NO_NEWS, 0};
	long		pid = kernel_vfork();

	if (pid == 0)
	{
		execute(run, argv, environment, &failure);
		leave(127);
	}
	run->command = (int) pid;
	if (pid < 0)
		report(RUN_NOT_CREATED, (int) -pid);
	else if (failure.value != 0)
	{
		KERNEL(SYS_wait4, pid, 0, 0, 0, 0);
		report(failure.news, failure.value);
	}
	else
		report(RUN_STARTED, run->command);
	return pid > 0 && failure.value == 0;
}

/* Somebody who looks for processes by the arguments of the command finds it alone. */
static void
hide_arguments(char **argv)
{
	for (; *argv; argv++)
		for (volatile char *c = *argv; *c; c++)
			*c = '\0';
}

/* ---- the program ---- */

static int
number(const char *text)
{
	int			value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = 10 * value + *text - '0';
	return value;
}

/*
 * Returns 0 or a negative errno.  Otherwise the command could write reports, what it
 * leaves would not be ours, or we would outlive the sidecar.
 */
static long
prepare(void)
{
	long		error = KERNEL(SYS_fcntl, RUN_REPORT_FD, F_SETFD, FD_CLOEXEC, 0, 0);

	if (error == 0)
		error = KERNEL(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (error == 0)
		error = KERNEL(SYS_prctl, PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	return error;
}

static void
close_descriptors(void)
{
	for (int fd = 0; fd < RUN_REPORT_FD; fd++)
		KERNEL(SYS_close, fd, 0, 0, 0, 0);
}

void
run_main(char **argv, char **environment)
{
	Run			run = {.self = (int) KERNEL(SYS_getpid, 0, 0, 0, 0, 0)};
	SignalSet	all = ~0ULL;
	long		error;

	if (!argv[0] || !argv[1] || !argv[2] || !argv[3] || !argv[4])
		leave(2);
	run.sidecar = number(argv[1]);
	KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof(all), 0);
	error = prepare();
	if (error != 0)
	{
		report(RUN_NOT_SUPERVISED, (int) -error);
		leave(127);
	}

	/* The sidecar may have died before PR_SET_PDEATHSIG was set. */
	if (is_sidecar_dead(&run) || !start(&run, argv + 2, environment))
		leave(127);
	close_descriptors();
	hide_arguments(argv + 2);
	if (supervise(&run))
		kill_all(&run);
	leave(0);
}
