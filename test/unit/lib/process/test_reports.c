/*-------------------------------------------------------------------------
 *
 * test_reports.c
 *		Reports of twtasks-run that come at odd times.
 *
 * This program takes the place of twtasks-run.  It passes on the reports that the
 * test writes to a fifo, and tells in another one that it has.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/run_report.h"
#include "process/bundled.h"
#include "process/adopted.h"
#include "execute_fixture.h"

static char self[MAXPGPATH];

char *
bundled_path(const char *name)
{
	return pstrdup(self);
}

/* ---- in place of twtasks-run ---- */

/* Somebody kills it, and it leaves a process that holds the fifo open. */
static void
die(void)
{
	if (fork() != 0)
		raise(SIGKILL);
	for (;;)
		pause();
}

/* Exits after RUN_NO_NEWS; returns the exit status. */
static int
be_supervisor(const char *reports, const char *told)
{
	RunReport	report;
	int			from = open(reports, O_RDONLY);
	int			to = open(told, O_WRONLY);

	while (read(from, &report, sizeof(report)) == sizeof(report) && report.news != RUN_NO_NEWS)
	{
		if (report.news == RUN_LEFT)
			die();
		if (write(RUN_REPORT_FD, &report, sizeof(report)) != sizeof(report) ||
			write(to, "told\n", 5) != 5)
			return 1;
	}
	return 0;
}

/* ---- fixture ---- */

static void
tell(RunNews news, int value)
{
	RunReport	report = {news, value};

	assert_int_equal(write(fixture.go, &report, sizeof(report)), sizeof(report));
	if (news != RUN_NO_NEWS && news != RUN_LEFT)
		wait_for_holder();
}

static TestTask *
start_command(void)
{
	open_command(fixture.go_path, fixture.path);
	return start_task(NULL);
}

static void
pass_deadline(TestTask *task)
{
	fixture.kind->stop_task(fixture.runner, &task->task, "deadline");
}

/* ---- the start ---- */

static const char *
trouble(void)
{
	return fixture.kind->trouble(fixture.runner);
}

static bool
has_trouble(void *arg)
{
	return trouble() != NULL;
}

/*
 * Returns a task that waits for a worker whose start fails after the loop has gone on,
 * as on a file system that does not answer.
 */
static TestTask *
fail_late(int error)
{
	TestTask   *task;

	open_worker(fixture.go_path, fixture.path);
	task = start_task(NULL);
	run_turn();
	assert_null(trouble());
	tell(RUN_NOT_EXECUTED, error);
	tell(RUN_NO_NEWS, 0);
	run_until(has_trouble, NULL);
	run_turn();
	return task;
}

static void
test_late_shortage(void **state)
{
	TestTask   *task = fail_late(EAGAIN);

	assert_non_null(strstr(trouble(), "\": Resource temporarily unavailable"));
	assert_int_equal(task->reports, 0);
	close_runner();
	assert_verdict(task, TASK_RELEASE, NULL);
}

static void
test_late_unfit(void **state)
{
	TestTask   *task = fail_late(EIO);
	char	   *message = psprintf("could not execute \"%s\": Input/output error", fixture.go_path);

	wait_for(task);
	assert_verdict(task, TASK_RELEASE, message);
	assert_int_equal(task->delay_us, TASK_DELAY_UNFIT);
	pfree(message);
}

/* ---- the end ---- */

/* Processes that the command has left die after the deadline. */
static void
test_ended_in_time(void **state)
{
	TestTask   *task = start_command();

	tell(RUN_ENDED, 0);
	pass_deadline(task);
	tell(RUN_NO_NEWS, 0);
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
}

static void
test_ended_too_late(void **state)
{
	TestTask   *task = start_command();

	pass_deadline(task);
	tell(RUN_ENDED, 0);
	tell(RUN_NO_NEWS, 0);
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, "deadline");
}

/* A supervisor that exits in order, but could not tell how the command ended. */
static void
test_end_untold(void **state)
{
	TestTask   *task = start_command();

	tell(RUN_STARTED, 1);
	tell(RUN_NO_NEWS, 0);
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, "handler ended, and its status is lost");
}

static bool
are_gone(void *arg)
{
	return adopted_are_gone();
}

/* The command's status counts, and the sidecar kills what the command has left. */
static void
test_killed_after_end(void **state)
{
	TestTask   *task = start_command();

	tell(RUN_ENDED, 0);
	tell(RUN_LEFT, 0);
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
	run_until(are_gone, NULL);
	assert_true(is_fifo_free(NULL));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_late_shortage),
		TEST(test_late_unfit),
		TEST(test_ended_in_time),
		TEST(test_ended_too_late),
		TEST(test_end_untold),
		TEST(test_killed_after_end),
	};

	if (argc > 2)
		return be_supervisor(argv[argc - 2], argv[argc - 1]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
