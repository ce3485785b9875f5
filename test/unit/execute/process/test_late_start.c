/*-------------------------------------------------------------------------
 *
 * test_late_start.c
 *		A start of a worker that fails after the loop has gone on, as on a file
 *		system that does not answer: no try is counted, and a shortage passes.
 *
 * This program takes the place of twtasks-run.  It reports the failure when the
 * test says so, through the fifo that is the worker's program.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/run_report.h"
#include "config/bundled.h"
#include "execute_fixture.h"

static char self[MAXPGPATH];

char *
bundled_path(const char *name)
{
	return pstrdup(self);
}

/* In place of twtasks-run; returns the exit status. */
static int
be_supervisor(const char *program)
{
	RunReport	report = {.news = RUN_NOT_EXECUTED};
	int			fd = open(program, O_RDONLY);

	return read(fd, &report.value, sizeof(report.value)) == sizeof(report.value) &&
		write(RUN_REPORT_FD, &report, sizeof(report)) == sizeof(report) ? 0 : 1;
}

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

/* Returns a task that waits for a worker whose start then fails. */
static TestTask *
fail_late(int error)
{
	TestTask   *task;

	open_worker(fixture.go_path);
	task = start_task(NULL);
	run_turn();
	assert_null(trouble());
	assert_int_equal(write(fixture.go, &error, sizeof(error)), sizeof(error));
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

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_late_shortage),
		TEST(test_late_unfit),
	};

	if (argc > 2)
		return be_supervisor(argv[2]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
