/*-------------------------------------------------------------------------
 *
 * test_run_calls.c
 *		The n-th call of twtasks-run to the system fails, whichever it is.
 *
 * This program takes the place of twtasks-run, whose source it includes.  Our variable
 * USER, which each child gets, says which call fails.  In each case no command that
 * failed counts as done, and nothing of it is left running.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/bundled.h"
#include "execute_fixture.h"

/* ---- in place of kernel.h ---- */

#define TWT_KERNEL_H
#define KERNEL_START extern void run_main(char **argv, char **environment) __attribute__((noreturn))
#define KERNEL(number, a, b, c, d, e) \
	(is_failing(#number) ? -fault.error : \
	 kernel_result(syscall(number, (long) (a), (long) (b), (long) (c), (long) (d), (long) (e))))
#define kernel_vfork() (is_failing("vfork") ? -fault.error : kernel_result(vfork()))

typedef struct Fault
{
	char		name[32];
	int			nth;
	int			error;
	char		told[MAXPGPATH];	/* a file that gets F where the call
									 * fails, and P for each pause after it */
	int			ncalls;
} Fault;

static Fault fault;

static void
tell(const char *letter)
{
	int			fd = open(fault.told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, letter, 1) != 1)
		abort();
	close(fd);
}

/* Also the child of vfork() calls it, in our memory. */
static bool
is_failing(const char *name)
{
	if (strcmp(name, "SYS_nanosleep") == 0 && fault.ncalls >= fault.nth)
		tell("P");
	if (strcmp(name, fault.name) != 0 || ++fault.ncalls != fault.nth)
		return false;
	tell("F");
	return true;
}

static long
kernel_result(long result)
{
	return result == -1 ? -errno : result;
}

#include "workers/run/main.c"

static int
be_supervisor(char **argv)
{
	const char *what = getenv("USER");

	if (what == NULL || sscanf(what, "%31s %d %d %1000s", fault.name, &fault.nth, &fault.error, fault.told) != 4)
		return 2;
	run_main(argv, environ);
}

static char self[MAXPGPATH];

char *
bundled_path(const char *name)
{
	return pstrdup(self);
}

/* ---- cases ---- */

typedef struct Case
{
	const char *name;
	int			last;			/* n goes from 1 to it */
	int			error;
} Case;

static int	ncases;
static int	nfailed;

/* Returns the file that tells. */
static char *
set_failing(const Case *of, int nth)
{
	char	   *told = psprintf("%s/told", fixture.directory);
	char	   *what = psprintf("%s %d %d %s", of->name, nth, of->error, told);

	assert_int_equal(setenv("USER", what, 1), 0);
	pfree(what);
	return told;
}

/* Reads the file, and removes it. */
static const char *
read_told(const char *told)
{
	static char letters[16];
	int			fd = open(told, O_RDONLY | O_CLOEXEC);
	ssize_t		n = fd < 0 ? 0 : read(fd, letters, sizeof(letters) - 1);

	assert_in_range(n, 0, sizeof(letters) - 1);
	letters[n] = '\0';
	if (fd >= 0)
		close(fd);
	unlink(told);
	return letters;
}

/* This process gets all that a supervisor leaves. */
static bool
has_no_child(void *arg)
{
	(void) arg;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return errno == ECHILD;
}

static void
end_case(char *told)
{
	run_until(has_no_child, NULL);
	close_runner();
	ncases++;
	nfailed += read_told(told)[0] == 'F';
	pfree(told);
}

static void
try_cases(const Case *cases, int n, void (*fn) (const Case *of))
{
	ncases = nfailed = 0;
	for (int i = 0; i < n; i++)
		for (int nth = 1; nth <= cases[i].last; nth++)
		{
			char	   *told = set_failing(&cases[i], nth);

			fn(&cases[i]);
			end_case(told);
		}
	print_message("of %d calls, %d failed\n", ncases, nfailed);
	if (nfailed <= ncases / 2)
		fail_msg("of %d calls, %d failed", ncases, nfailed);
}

/* Begins a process with a session of its own and no environment, deaf to TERM. */
#define LEFT "setsid env -i /bin/sh \"$0\" hold \"$1\" deaf & "

static void
open_script(const char *script)
{
	open_command("sh", "-c", script, project_file("test/handlers/command.sh"), fixture.path);
}

/* ---- a command that fails ---- */

static void
fail_by_itself(const Case *of)
{
	const TestTask *task;

	open_script(LEFT "exit 3");
	task = run_task(NULL);
	if (task->reports != 1 || task->result == TASK_DONE)
		fail_msg("%s: %d reports, result %d", of->name, task->reports, (int) task->result);
}

static void
test_failure(void **state)
{
	static const Case cases[] = {
		{"vfork", 1, EAGAIN},
		{"SYS_chdir", 1, EIO},
		{"SYS_execve", 1, ENOMEM},
		{"SYS_prctl", 3, EPERM},
		{"SYS_setsid", 1, EPERM},
		{"SYS_write", 2, ENOMEM},
		{"SYS_write", 2, EPIPE},
		{"SYS_rt_sigtimedwait", 2, EINTR},
		{"SYS_waitid", 3, EINTR},
		{"SYS_wait4", 2, EINTR},
		{"SYS_kill", 3, EPERM},
		{"SYS_getpgid", 1, ESRCH},
		{"SYS_openat", 1, EMFILE},
		{"SYS_read", 1, EIO},
		{"SYS_close", 2, EINTR},
	};

	try_cases(cases, lengthof(cases), fail_by_itself);
}

/* ---- a supervisor that cannot keep its promises ---- */

static void
refuse(const Case *of)
{
	const TestTask *task;

	open_script(LEFT "exit 3");
	task = run_task(NULL);
	assert_int_equal(task->result, TASK_RELEASE);
	assert_non_null(strstr(task->message, "could not execute"));
}

static void
test_refusal(void **state)
{
	static const Case cases[] = {
		{"SYS_fcntl", 1, EINVAL},
		{"SYS_prctl", 2, EPERM},
	};

	try_cases(cases, lengthof(cases), refuse);
}

/* ---- a command that is stopped ---- */

static void
stop(const Case *of)
{
	TestTask   *task;

	open_script(LEFT "wait");
	task = start_task(NULL);
	wait_for_holder();
	fixture.config.grace_us = 0;
	fixture.kind->stop_task(fixture.runner, &task->task, "deadline");
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, "deadline");
}

static void
test_stop(void **state)
{
	static const Case cases[] = {
		{"SYS_rt_sigtimedwait", 3, EINTR},
		{"SYS_waitid", 3, EINTR},
		{"SYS_wait4", 2, EINTR},
		{"SYS_kill", 4, EPERM},
		{"SYS_getpgid", 1, ESRCH},
		{"SYS_openat", 1, EMFILE},
		{"SYS_read", 1, EIO},
	};

	try_cases(cases, lengthof(cases), stop);
}

/* ---- reports that cannot be written ---- */

/* The second report tells how the command has ended. */
static void
lose_end(int error, const char *message, bool is_tried_again)
{
	const Case	of = {"SYS_write", 2, error};
	char	   *told = set_failing(&of, 2);

	open_script("exit 3");
	assert_verdict(run_task(NULL), TASK_FAILURE, message);
	assert_string_equal(read_told(told), is_tried_again ? "FP" : "F");
	end_case(told);
}

static void
test_report_that_may_pass(void **state)
{
	static const int errors[] = {ENOMEM, EAGAIN, EINTR};

	for (int i = 0; i < (int) lengthof(errors); i++)
		lose_end(errors[i], "handler exited with status 3", true);
}

static void
test_report_that_never_passes(void **state)
{
	static const int errors[] = {EBADF, EPIPE, EINVAL, ENOSPC};

	for (int i = 0; i < (int) lengthof(errors); i++)
		lose_end(errors[i], "handler ended, and its status is lost", false);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_failure),
		TEST(test_refusal),
		TEST(test_stop),
		TEST(test_report_that_may_pass),
		TEST(test_report_that_never_passes),
	};

	if (strcmp(argv[0], "twtasks-run") == 0)
		return be_supervisor(argv);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
