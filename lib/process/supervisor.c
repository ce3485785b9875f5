/*-------------------------------------------------------------------------
 *
 * supervisor.c
 *		A process of twtasks-run, from its start until it is reaped.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/words.h"
#include "process/bundled.h"
#include "process/supervisor.h"

void
supervisor_init(Supervisor *supervisor, const char *command)
{
	memset(supervisor, 0, sizeof(*supervisor));
	supervisor->command = command;
	supervisor->pidfd = supervisor->report_fd = -1;
}

const char *
supervisor_path(void)
{
	static char *path = NULL;

	if (path == NULL)
		path = bundled_path("run");
	return path;
}

/* ---- reports ---- */

static void
take_report(Supervisor *supervisor, const RunReport *report)
{
	switch (report->news)
	{
		case RUN_STARTED:
			supervisor->program = report->value;
			break;
		case RUN_ENDED:
			supervisor->status = report->value;
			supervisor->has_ended = true;
			break;
		case RUN_LEFT:
			log_line(TWT_LOG_WARN, "execute", "processes that %s[%d] has left do not die of KILL",
					 supervisor->command, (int) supervisor->program);
			supervisor->has_left = true;
			break;
		default:
			supervisor->failure = *report;
	}
}

void
supervisor_take_reports(Supervisor *supervisor)
{
	RunReport	report;
	ssize_t		n;

	while ((n = read(supervisor->report_fd, &report, sizeof(report))) == sizeof(report) || (n < 0 && errno == EINTR))
		if (n > 0)
			take_report(supervisor, &report);
}

/* ---- start ---- */

/* The arguments of twtasks-run. */
static char **
supervised(const ChildPlan *plan, const char *sidecar, const char *directory)
{
	static const char *const name = "twtasks-run";
	int			n = words_count(plan->argv);
	char	  **argv = palloc((n + 5) * sizeof(char *));

	argv[0] = unconstify(char *, name);
	argv[1] = unconstify(char *, sidecar);
	argv[2] = unconstify(char *, directory);
	argv[3] = unconstify(char *, plan->program);
	memcpy(argv + 4, plan->argv, (n + 1) * sizeof(char *));
	return argv;
}

/* Our end must not block: we read until there is no more. */
static bool
open_report(int report[2])
{
	int			error;

	if (pipe2(report, O_CLOEXEC) != 0)
		return false;
	if (fcntl(report[0], F_SETFL, O_NONBLOCK) == 0)
		return true;
	error = errno;
	close(report[0]);
	close(report[1]);
	errno = error;
	return false;
}

/* False: there is no process; see errno. */
static bool
start_process(Supervisor *supervisor, ChildPlan *plan, const char *directory)
{
	char		sidecar[16];
	int			report[2];
	int			error;

	if (!open_report(report))
		return false;
	snprintf(sidecar, sizeof(sidecar), "%d", (int) getpid());
	supervisor->report_fd = report[0];
	plan->report_fd = report[1];
	plan->argv = supervised(plan, sidecar, directory);
	plan->program = supervisor_path();
	supervisor->pid = child_start(plan, &supervisor->pidfd);
	error = errno;
	close(report[1]);
	pfree(plan->argv);
	errno = error;
	return supervisor->pid >= 0;
}

void
supervisor_start(Supervisor *supervisor, const ChildPlan *plan, const char *directory, int wait_ms)
{
	ChildPlan	ours = *plan;
	struct pollfd report = {.events = POLLIN};

	if (!start_process(supervisor, &ours, directory))
	{
		supervisor->failure = (RunReport)
		{
			RUN_NOT_CREATED, errno
		};
		return;
	}
	report.fd = supervisor->report_fd;
	if (wait_ms > 0)
		poll(&report, 1, wait_ms);
	supervisor_take_reports(supervisor);
}

/* ---- signals ---- */

/*
 * The C library has pidfd_send_signal() since glibc 2.36 only.  valgrind does not
 * know it, and some sandboxes refuse it, so kill() replaces it there.  The process
 * is not reaped yet, so its id is not another one's.
 */
static void
send_signal(const Supervisor *supervisor, int signo)
{
	if (syscall(SYS_pidfd_send_signal, supervisor->pidfd, signo, NULL, 0) != 0 && (errno == ENOSYS || errno == EPERM))
		kill(supervisor->pid, signo);
}

void
supervisor_ask_to_end(const Supervisor *supervisor)
{
	send_signal(supervisor, SIGTERM);
	send_signal(supervisor, SIGCONT);
}

void
supervisor_kill(const Supervisor *supervisor)
{
	send_signal(supervisor, RUN_KILL_SIGNAL);
	send_signal(supervisor, SIGCONT);
}

/* ---- end ---- */

/* No such descriptor is open: only a kernel without P_PIDFD calls that invalid. */
bool
supervisor_is_possible(void)
{
	siginfo_t	info;

	return waitid(P_PIDFD, INT_MAX, &info, WEXITED | WNOHANG) == 0 || errno != EINVAL;
}

/*
 * A supervisor exits with 0 when it has told how the command ended, so without that
 * report nobody knows it.
 */
static void
take_exit(Supervisor *supervisor, const siginfo_t * info)
{
	if (info->si_code != CLD_EXITED)
		supervisor->status = info->si_status;
	else if (info->si_status != 0)
		supervisor->status = info->si_status << 8;
	else
	{
		supervisor->status = SUPERVISOR_STATUS_LOST;
		supervisor->has_left = true;
	}
}

/* The kernel gives us what a supervisor had that was killed. */
bool
supervisor_reap(Supervisor *supervisor)
{
	siginfo_t	info;

	info.si_pid = 0;
	if (waitid(P_PIDFD, supervisor->pidfd, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
		return false;
	supervisor_take_reports(supervisor);
	if (!supervisor->has_ended && supervisor->failure.news == RUN_NO_NEWS)
		take_exit(supervisor, &info);
	supervisor->has_left |= info.si_code != CLD_EXITED;
	return true;
}

void
supervisor_wait(Supervisor *supervisor)
{
	siginfo_t	info;

	if (supervisor->pidfd >= 0)
		waitid(P_PIDFD, supervisor->pidfd, &info, WEXITED);
	supervisor_close(supervisor);
}

void
supervisor_close(Supervisor *supervisor)
{
	if (supervisor->pidfd >= 0)
		close(supervisor->pidfd);
	if (supervisor->report_fd >= 0)
		close(supervisor->report_fd);
	supervisor->pidfd = supervisor->report_fd = -1;
}
