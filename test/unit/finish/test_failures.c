/*-------------------------------------------------------------------------
 *
 * test_failures.c
 *		Tries of one type that fail together have one line, and one with their number.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "finish/failures.h"

static Loop *loop;
static StringInfoData said;

static void
end_loop(void *arg)
{
	loop_stop(loop);
}

/* Runs the loop beyond the end of a window, and notes what the log said since. */
static void
read_log(int reader)
{
	LoopTimer  *timer = loop_timer_new(loop, end_loop, NULL);
	char		block[8192];
	ssize_t		n;

	loop_timer_start(timer, MS_TO_US(1500));
	loop_run(loop);
	loop_timer_free(timer);
	resetStringInfo(&said);
	while ((n = read(reader, block, sizeof(block))) > 0)
		appendBinaryStringInfo(&said, block, n);
}

static int
lines_with(const char *text)
{
	int			n = 0;

	for (const char *p = said.data; (p = strstr(p, text)) != NULL; p++)
		n++;
	return n;
}

static void
test_one_line_per_type_and_second(void **state)
{
	Task		tasks[] = {{.type = "A", .tries = 1}, {.type = "B", .tries = 2}};
	int			fds[2];
	int			before = dup(STDERR_FILENO);
	Failures   *failures;

	initStringInfo(&said);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	loop = loop_new();
	failures = failures_open(loop);
	dup2(fds[1], STDERR_FILENO);
	for (int i = 0; i < 1000; i++)
		failures_note(failures, &tasks[0], "next one in 5.000 s", "no luck");
	failures_note(failures, &tasks[1], "next one in 5.000 s", "no money");
	read_log(fds[0]);
	dup2(before, STDERR_FILENO);
	assert_int_equal(lines_with("\n"), 3);
	assert_int_equal(lines_with("try 1 failed, next one in 5.000 s: no luck"), 1);
	assert_int_equal(lines_with("try 2 failed, next one in 5.000 s: no money"), 1);
	assert_int_equal(lines_with("999 more tries of type \"A\" failed within a second"), 1);

	dup2(fds[1], STDERR_FILENO);
	failures_note(failures, &tasks[0], "next one in 5.000 s", "no luck");
	failures_note(failures, &tasks[0], "next one in 5.000 s", "no luck");
	failures_free(failures);
	read_log(fds[0]);
	dup2(before, STDERR_FILENO);
	assert_int_equal(lines_with("try 1 failed, next one in 5.000 s: no luck"), 1);
	assert_int_equal(lines_with("1 more tries of type \"A\" failed within a second"), 1);
	loop_free(loop);
	pfree(said.data);
	close(fds[0]);
	close(fds[1]);
	close(before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line_per_type_and_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
