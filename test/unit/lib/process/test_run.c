/*-------------------------------------------------------------------------
 *
 * test_run.c
 *		Nothing of a run is left, whatever its processes do, and whoever dies.
 *
 * All processes of a run hold a fifo open.  This program is also a handler: it
 * then gets a word and the path of the fifo.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/adopted.h"
#include "execute_fixture.h"

#define SELF "/proc/self/exe"
#define BOMB_DEPTH 5

static char self[MAXPGPATH];

/* ---- this program as a handler ---- */

/* Forks as fast as it can, each time into another session, and exits. */
static void
hop(void)
{
	for (;;)
	{
		pid_t		pid = fork();

		if (pid > 0)
			_exit(0);
		if (pid == 0)
			setsid();
	}
}

/* A tree, in which each process has a session of its own and ignores TERM. */
static void
be_bomb(void)
{
	signal(SIGTERM, SIG_IGN);
	for (int depth = 0; depth < BOMB_DEPTH; depth++)
		for (int i = 0; i < 2; i++)
			if (fork() == 0)
			{
				setsid();
				break;
			}
	for (;;)
		pause();
}

static void
begin(void (*fn) (void))
{
	if (fork() == 0)
	{
		setsid();
		fn();
	}
}

static void
stop_myself(void)
{
	raise(SIGSTOP);
}

/* The words of a handler that stays, after it has begun something. */
static int
be_handler(const char *word, const char *path)
{
	int			fifo = open(path, O_WRONLY);

	if (strcmp(word, "hop") == 0)
		begin(hop);
	else if (strcmp(word, "stopped") == 0)
		begin(stop_myself);
	if (write(fifo, "here\n", 5) != 5)
		return 1;
	if (strcmp(word, "bomb") == 0)
		be_bomb();
	for (;;)
		pause();
}

/* ---- in place of the C library's fcntl() ---- */

/* The number of the call that fails, among those that set flags; 0: none. */
static int	flags_until_failure;

int
fcntl(int fd, int command,...)
{
	va_list		args;
	long		arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	if (command == F_SETFL && flags_until_failure > 0 && --flags_until_failure == 0)
	{
		errno = EINVAL;
		return -1;
	}
	return (int) syscall(SYS_fcntl, fd, command, arg);
}

/* ---- fixture ---- */

/* A process with a session of its own and no environment, deaf to TERM. */
#define CLEARED "setsid env -i /bin/sh \"$0\" hold \"$1\" deaf & "

static const char *
handler(void)
{
	return project_file("test/handlers/command.sh");
}

static void
open_cleared(const char *end)
{
	char	   *script = psprintf("%s%s", CLEARED, end);

	open_command("sh", "-c", script, handler(), fixture.path);
	pfree(script);
}

static TestTask *
start_held(void)
{
	TestTask   *task = start_task(NULL);

	wait_for_holder();
	return task;
}

static void
stop(TestTask *task)
{
	fixture.config.grace_us = 0;
	fixture.kind->stop_task(fixture.runner, &task->task, "deadline");
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, "deadline");
	assert_true(is_fifo_free(NULL));
}

/* The only child of the process, which of a sidecar is its supervisor. */
static pid_t
child_of(pid_t parent)
{
	char	   *path = psprintf("/proc/%d/task/%d/children", (int) parent, (int) parent);
	FILE	   *list = fopen(path, "r");
	int			pid;

	assert_non_null(list);
	assert_int_equal(fscanf(list, "%d", &pid), 1);
	fclose(list);
	pfree(path);
	return pid;
}

/* ---- a run that is stopped ---- */

static void
test_cleared_environment(void **state)
{
	open_cleared("wait");
	stop(start_held());
}

static void
test_daemon(void **state)
{
	open_command("sh", "-c", "(setsid env -i /bin/sh \"$0\" hold \"$1\" deaf &) & exec tail -f /dev/null",
				 handler(), fixture.path);
	stop(start_held());
}

static void
test_stopped_descendant(void **state)
{
	open_command(self, "stopped", fixture.path);
	stop(start_held());
}

static void
test_forks_during_kill(void **state)
{
	open_command(self, "hop", fixture.path);
	stop(start_held());
}

static void
test_bomb(void **state)
{
	open_command(self, "bomb", fixture.path);
	stop(start_held());
}

/* The sidecar waits until twtasks-run is executed, and the mount may be dead. */
static void
test_directory_is_entered_by_supervisor(void **state)
{
	char		path[64];
	char		directory[MAXPGPATH];
	char		ours[MAXPGPATH];
	ssize_t		len;
	TestTask   *task;

	fixture.config.directory = fixture.directory;
	open_cleared("wait");
	task = start_held();
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int) child_of(getpid()));
	len = readlink(path, directory, sizeof(directory) - 1);
	assert_in_range(len, 1, sizeof(directory) - 1);
	directory[len] = '\0';
	assert_string_equal(directory, getcwd(ours, sizeof(ours)));
	stop(task);
}

static void
test_exit_leaves_nothing(void **state)
{
	open_cleared("read -r _ <\"$1.go\"; exit 0");
	start_held();
	send_go();
	wait_for_all();
	assert_int_equal(fixture.done, 1);
	assert_true(is_fifo_free(NULL));
}

static bool
are_gone(void *arg)
{
	(void) arg;
	return adopted_are_gone();
}

/*
 * Makes what the command has started stand for a process that waits for a dead disk:
 * one whose tracer has not looked at its death stays a child of its parent.
 */
static pid_t
hold_death(void)
{
	pid_t		held = child_of(child_of(child_of(getpid())));

	assert_int_equal(ptrace(PTRACE_SEIZE, held, NULL, NULL), 0);
	return held;
}

static void
test_process_left(void **state)
{
	TestTask   *task;
	pid_t		left;

	open_cleared("wait");
	task = start_held();
	left = hold_death();
	stop(task);
	run_until(are_gone, NULL);
	assert_int_equal(kill(left, 0), -1);
}

static bool
is_dead(void *pid)
{
	siginfo_t	info = {0};

	return waitid(P_PID, *(pid_t *) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

/* The status counts, although the deadline passes before twtasks-run exits. */
static void
test_exit_before_deadline(void **state)
{
	TestTask   *task;
	pid_t		left;

	open_cleared("read -r _ <\"$1.go\"; exit 0");
	task = start_held();
	left = hold_death();
	send_go();
	run_until(is_dead, &left);
	fixture.kind->stop_task(fixture.runner, &task->task, "deadline");
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
	run_until(are_gone, NULL);
	assert_int_equal(kill(left, 0), -1);
}

/* ---- deaths ---- */

/* Stands for a sidecar: has a run, and does no more. */
static void
__attribute__((noreturn))
be_sidecar(void)
{
	fixture.loop = loop_new();
	fixture.parts.loop = fixture.loop;
	open_cleared("wait");
	start_task(NULL);
	loop_run(fixture.loop);
	_exit(0);
}

static pid_t
start_sidecar(void)
{
	pid_t		pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		be_sidecar();
	wait_for_holder();
	return pid;
}

/* Its supervisor becomes our child, and exits too. */
static void
kill_sidecar(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	run_until(is_fifo_free, NULL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void
test_sidecar_killed(void **state)
{
	kill_sidecar(start_sidecar());
}

/* It does not see the death, but the kernel wakes it. */
static void
test_sidecar_killed_beside_stopped(void **state)
{
	pid_t		pid = start_sidecar();

	assert_int_equal(kill(child_of(pid), SIGSTOP), 0);
	kill_sidecar(pid);
}

static void
test_supervisor_killed(void **state)
{
	TestTask   *task;

	open_cleared("wait");
	task = start_held();
	assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, "handler was ended by signal 9 (Killed)");
	run_until(are_gone, NULL);
	assert_true(is_fifo_free(NULL));
}

/* The sidecar looks for the rest of a run until it can. */
static void
test_supervisor_killed_without_descriptors(void **state)
{
	struct rlimit before;
	struct rlimit none;
	pid_t		supervisor;
	TestTask   *task;

	open_cleared("wait");
	task = start_held();
	supervisor = child_of(getpid());
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	wait_for(task);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	run_until(are_gone, NULL);
	assert_true(is_fifo_free(NULL));
}

static void
test_supervisor_stopped(void **state)
{
	TestTask   *task;

	open_cleared("wait");
	task = start_held();
	assert_int_equal(kill(child_of(getpid()), SIGSTOP), 0);
	stop(task);
}

/* CONT alone is no order. */
static void
test_supervisor_continued(void **state)
{
	open_cleared("read -r _ <\"$1.go\"; exit 0");
	start_held();
	assert_int_equal(kill(child_of(getpid()), SIGSTOP), 0);
	assert_int_equal(kill(child_of(getpid()), SIGCONT), 0);
	send_go();
	wait_for_all();
	assert_int_equal(fixture.done, 1);
}

/* ---- programs that cannot be executed ---- */

static char *
make_program(const char *text)
{
	char	   *path = psprintf("%s/program", fixture.directory);
	int			fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

/* Twice, since after a failure the next start is awaited. */
static void
check_failure(const char *path, const char *reason)
{
	char	   *message = psprintf("could not execute \"%s\": %s", path, reason);

	open_command(path);
	for (int i = 0; i < 2; i++)
	{
		TestTask   *task = run_task("{}");

		assert_verdict(task, TASK_RELEASE, message);
		assert_string_equal(fixture.kind->trouble(fixture.runner), message);
	}
	close_runner();
	pfree(message);
}

static void
test_not_executable(void **state)
{
	char	   *path = make_program("neither a script nor a program");

	check_failure(path, "Exec format error");
	unlink(path);
	pfree(path);

	path = make_program("#!/nonexistent/interpreter\n");
	check_failure(path, "No such file or directory");
	unlink(path);
	pfree(path);
	check_failure(fixture.directory, "Permission denied");
}

/* While somebody writes to it: this passes, so the task keeps its slot for a moment. */
static void
test_busy_program(void **state)
{
	char	   *path = make_program("#!/bin/sh\nexit 0\n");
	char	   *message = psprintf("could not execute \"%s\": Text file busy", path);
	int			fd = open(path, O_WRONLY | O_CLOEXEC);
	TestTask   *task;

	open_command(path);
	task = run_task(NULL);
	assert_verdict(task, TASK_RELEASE, message);
	assert_int_equal(task->delay_us, TASK_DELAY_BY_POLICY);
	close(fd);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	unlink(path);
	pfree(path);
	pfree(message);
}

/* A pipe of the sidecar that blocks would block the sidecar. */
static void
test_pipe_that_blocks(void **state)
{
	TestTask   *task;

	open_cleared("wait");
	for (int n = 1;; n++)
	{
		flags_until_failure = n;
		task = start_task(NULL);
		if (flags_until_failure > 0)
			break;
		wait_for(task);
		assert_int_equal(task->result, TASK_RELEASE);
		assert_non_null(strstr(task->message, "could not start a process for"));
	}
	flags_until_failure = 0;
	wait_for_holder();
	stop(task);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_cleared_environment),
		TEST(test_daemon),
		TEST(test_stopped_descendant),
		TEST(test_forks_during_kill),
		TEST(test_bomb),
		TEST(test_directory_is_entered_by_supervisor),
		TEST(test_exit_leaves_nothing),
		TEST(test_process_left),
		TEST(test_exit_before_deadline),
		TEST(test_sidecar_killed),
		TEST(test_sidecar_killed_beside_stopped),
		TEST(test_supervisor_killed),
		TEST(test_supervisor_killed_without_descriptors),
		TEST(test_supervisor_stopped),
		TEST(test_supervisor_continued),
		TEST(test_not_executable),
		TEST(test_busy_program),
		TEST(test_pipe_that_blocks),
	};

	if (argc == 3)
		return be_handler(argv[1], argv[2]);
	if (readlink(SELF, self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
