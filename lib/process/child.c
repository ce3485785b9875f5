/*-------------------------------------------------------------------------
 *
 * child.c
 *		Starts a process with guarantees that posix_spawn() cannot give.
 *
 * Until it executes, the child runs in our memory on a stack of its own.  So
 * prepare_and_execute() and its callees use only system calls: no allocation,
 * no logging, no change of data that the parent may read.  All signals stay
 * blocked until the child has reset every handler to its default: none of the
 * parent's handlers may run in the child.
 *
 * clone() returns the pidfd together with the child, unlike vfork().  So no
 * failure can leave a running program that we cannot watch.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/run_report.h"
#include "process/child.h"

/* A small stack is enough: execve() does its work in the kernel. */
#define STACK_BYTES (64 * 1024)

typedef struct Birth
{
	const ChildPlan *plan;
	const sigset_t *changed;	/* signals that the child resets */
	int			report_fd;
} Birth;

/* AddressSanitizer does not know the child's stack. */
#define ON_CHILD_STACK __attribute__((no_sanitize_address))

static void
__attribute__((noreturn)) ON_CHILD_STACK
give_up(int report_fd, RunNews news)
{
	RunReport	report = {news, errno};

	/* A failure of this write cannot be reported. */
	if (write(report_fd, &report, sizeof(report)) < 0)
		_exit(126);
	_exit(127);
}

/*
 * The signals that we handle or ignore.  Asking for all of them costs as much as
 * the rest of the child's preparation, so we ask once.
 */
static const sigset_t *
changed_signals(void)
{
	static sigset_t changed;
	static bool is_known = false;
	struct sigaction action;

	if (is_known)
		return &changed;
	sigemptyset(&changed);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigaction(signo, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			sigaddset(&changed, signo);
	is_known = true;
	return &changed;
}

static void ON_CHILD_STACK
reset_signals(const sigset_t *changed)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(changed, signo) == 1)
			sigaction(signo, &action, NULL);
}

static bool ON_CHILD_STACK
restrict_process(void)
{
	const struct rlimit none = {0, 0};

	umask(077);
	return setsid() >= 0 &&
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		setrlimit(RLIMIT_CORE, &none) == 0;
}

/* An entry of a directory, as the kernel gives it. */
typedef struct Entry
{
	uint64		inode;
	int64		next;
	uint16		length;
	uint8		type;
	char		name[];
} Entry;

/* The number, or -1 for "." and "..". */
static int	ON_CHILD_STACK
descriptor_of(const char *name)
{
	int			fd = 0;

	for (; *name != '\0'; name++)
	{
		if (*name < '0' || *name > '9')
			return -1;
		fd = fd * 10 + (*name - '0');
	}
	return fd;
}

/* Closes what /proc/self/fd lists, which is in the order of the numbers. */
static bool ON_CHILD_STACK
close_listed(int first)
{
	char		buffer[2048] pg_attribute_aligned(8);
	long		size;
	int			folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return false;
	while ((size = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0)
	{
		for (long at = 0; at < size; at += ((const Entry *) (buffer + at))->length)
		{
			int			fd = descriptor_of(((const Entry *) (buffer + at))->name);

			if (fd >= first && fd != folder)
				close(fd);
		}
	}
	close(folder);
	return size == 0;
}

/*
 * Only glibc has closefrom(), and only since 2.34.  A kernel before 5.9 and some
 * sandboxes refuse close_range().  The loop may take a second where the limit is high,
 * so it is for systems without /proc.
 */
static void ON_CHILD_STACK
close_from(int first)
{
	struct rlimit limit;
	rlim_t		fd;

	if (syscall(SYS_close_range, first, ~0U, 0) == 0 || close_listed(first) || getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	for (fd = (rlim_t) first; fd < limit.rlim_cur; fd++)
		close((int) fd);
}

/*
 * Leaves 0, 1, 2 as planned and the report pipe at RUN_REPORT_FD; closes all other
 * descriptors.  The first loop moves them above RUN_REPORT_FD, so that the second
 * one overwrites none.
 */
static bool ON_CHILD_STACK
arrange_descriptors(Birth *birth)
{
	const ChildPlan *plan = birth->plan;
	int			fds[4] = {
		plan->stdin_fd, plan->stdout_fd, plan->stderr_fd, plan->report_fd
	};
	int			i;

	if (fds[1] < 0)
		fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (i = 0; i < 4; i++)
	{
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, RUN_REPORT_FD + 1);
		if (fds[i] < 0)
			return false;
	}
	birth->report_fd = fds[3];
	for (i = 0; i <= RUN_REPORT_FD; i++)
	{
		if (dup2(fds[i], i) < 0)
			return false;
	}
	birth->report_fd = RUN_REPORT_FD;
	close_from(RUN_REPORT_FD + 1);
	return true;
}

static int	ON_CHILD_STACK
prepare_and_execute(void *arg)
{
	Birth	   *birth = arg;
	const ChildPlan *plan = birth->plan;

	reset_signals(birth->changed);
	if (!restrict_process() || !arrange_descriptors(birth))
		give_up(birth->report_fd, RUN_NOT_PREPARED);
	execve(plan->program, plan->argv, plan->environment);
	give_up(birth->report_fd, RUN_NOT_SUPERVISED);
}

/* One thread starts children, one at a time, so one static stack is enough. */
pid_t
child_start(const ChildPlan *plan, int *pidfd)
{
	static char stack[STACK_BYTES] pg_attribute_aligned(16);
	Birth		birth = {plan, changed_signals(), plan->report_fd};
	sigset_t	all;
	sigset_t	before;
	pid_t		pid;
	int			error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = clone(prepare_and_execute, stack + sizeof(stack),
				CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
				&birth, pidfd);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}
