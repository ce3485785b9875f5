/*-------------------------------------------------------------------------
 *
 * test_helper.c
 *		A helper's process: its hello, its lines, its end, and what is told of one
 *		that ends again and again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <unistd.h>

#include "base/chance.h"
#include "process/bundled.h"
#include "execute_fixture.h"
#include "helper/helper.h"

#define LINES 64

static Helper *helper;
static const char *script;		/* the program's argument */
static char lines[LINES][128];
static int	nlines;
static int	nready;
static int	ngone;
static int64 longest_us;		/* delay before a start */

/* Takes the place of the one of the configuration. */
char *
bundled_path(const char *name)
{
	return pstrdup(project_file(strcmp(name, "run") == 0 ? "workers/run/twtasks-run" :
								"test/handlers/helper.sh"));
}

/* Takes the place of the one in the base: no test waits for seconds. */
int64
chance_delay(int64 us)
{
	longest_us = Max(longest_us, us);
	return us > 0 ? 1000 : 0;
}

static void
on_ready(void *arg)
{
	nready++;
}

static void
on_line(void *arg, const char *line, size_t len)
{
	assert_int_equal(strlen(line), len);
	assert_true(nlines < LINES);
	snprintf(lines[nlines++], sizeof(lines[0]), "%s", line);
}

static void
on_gone(void *arg)
{
	ngone++;
}

/* The helper runs this script; its environment has one variable of ours. */
static void
open_helper(const char *text)
{
	static const char *const passed[] = {"TWT_PASS", NULL};
	static HelperProgram program = {
		.component = "test",
		.subject = "helper \"test\"",
		.bundled = "test",
		.variables = passed,
		.leave_us = SECONDS_TO_US(60),
		.on_ready = on_ready,
		.on_line = on_line,
		.on_gone = on_gone
	};

	script = text;
	program.use = script;
	helper = helper_new(fixture.loop, &program, NULL);
	helper_run(helper, "{\"hello\":1}");
}

static int
set_up(void **state)
{
	nlines = nready = ngone = 0;
	longest_us = 0;
	return fixture_setup(state);
}

static int
tear_down(void **state)
{
	helper_free(helper);
	return fixture_teardown(state);
}

/* ---- conditions ---- */

static bool
is_ready(void *arg)
{
	return helper_is_ready(helper);
}

static bool
is_down(void *arg)
{
	return helper_is_down(helper);
}

static bool
has_lines(void *arg)
{
	return nlines >= *(int *) arg;
}

static bool
has_gone(void *arg)
{
	return ngone >= *(int *) arg;
}

static bool
has_trouble(void *arg)
{
	const char *trouble = helper_trouble(helper);

	return trouble != NULL && strstr(trouble, arg) != NULL;
}

static void
wait_for_lines(int n)
{
	run_until(has_lines, &n);
}

static void
wait_for_ends(int n)
{
	run_until(has_gone, &n);
}

/* ---- tests ---- */

#define READY "echo '{\"ready\":1}'; "
#define ECHO "while read -r line; do echo \"$line\"; done; "

/* The hello comes first, the lines after it in order, and an end of input ends it. */
static void
test_lines(void **state)
{
	open_helper("read -r hello; " READY "echo \"$hello\"; " ECHO "echo last; exit 3");
	assert_false(helper_send(helper, "early", 5));
	run_until(is_ready, NULL);
	assert_true(helper_send(helper, "one", 3));
	assert_true(helper_send(helper, "two", 3));
	wait_for_lines(3);
	helper_end(helper, "the test asks for it");
	assert_false(helper_send(helper, "late", 4));
	run_until(is_down, NULL);
	assert_int_equal(nready, 1);
	assert_int_equal(ngone, 1);
	assert_int_equal(nlines, 4);
	assert_string_equal(lines[0], "{\"hello\":1}");
	assert_string_equal(lines[1], "one");
	assert_string_equal(lines[2], "two");
	assert_string_equal(lines[3], "last");
	assert_null(helper_trouble(helper));
}

/* Nothing but the variables that were named, and no settings. */
static void
test_environment(void **state)
{
	setenv("TWT_PASS_ON", "yes", 1);
	setenv("TWT_KEEP", "secret", 1);
	open_helper(READY "echo \"$TWT_PASS_ON$TWT_KEEP\"; " ECHO);
	wait_for_lines(1);
	assert_string_equal(lines[0], "yes");
}

/* A process that is done starts anew for another hello, and not for the same. */
static void
test_other_hello(void **state)
{
	open_helper("read -r hello; " READY "echo \"$hello\"; " ECHO);
	run_until(is_ready, NULL);
	helper_run(helper, "{\"hello\":1}");
	assert_true(helper_is_ready(helper));
	helper_run(helper, "{\"hello\":2}");
	assert_false(helper_is_ready(helper));
	wait_for_lines(2);
	assert_string_equal(lines[1], "{\"hello\":2}");
	assert_int_equal(longest_us, 0);
	assert_null(helper_trouble(helper));
}

/* One sentence, which lasts, and growing delays. */
static void
test_crash_loop(void **state)
{
	open_helper(READY "kill -9 $$");
	wait_for_ends(5);
	assert_string_equal(helper_trouble(helper), "helper \"test\": was ended by signal 9 (Killed)");
	assert_int_equal(longest_us, MS_TO_US(100) << 4);
	helper_end(helper, "the test asks for it");
	assert_null(helper_trouble(helper));
}

static void
test_refusal(void **state)
{
	open_helper("read -r hello; echo '{\"error\":\"too blue\",\"setting\":\"mood\"}'; exit 78");
	wait_for_ends(2);
	assert_string_equal(helper_trouble(helper), "helper \"test\": mood: too blue");
	assert_int_equal(nready, 0);
	assert_int_equal(nlines, 0);
	helper_run(helper, "{\"hello\":2}");
	assert_int_equal(nready, 0);
}

/* A process that has closed its output is of no use. */
static void
test_closed_output(void **state)
{
	open_helper(READY "exec >&-; " ECHO "exit 4");
	run_until(has_trouble, "exited with status 4");
}

static void
test_long_line(void **state)
{
	open_helper(READY "head -c 2000000 /dev/zero | tr '\\0' x; " ECHO);
	run_until(has_trouble, "wrote a line that is longer than 1 MB");
}

/* No process outlives its helper. */
static void
test_no_process_is_left(void **state)
{
	int			pid;

	open_helper(READY "echo $$; trap '' TERM; exec tail -f /dev/null");
	wait_for_lines(1);
	pid = atoi(lines[0]);
	helper_free(helper);
	assert_int_equal(kill(pid, 0), -1);
	open_helper(READY);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_environment),
		TEST(test_other_hello),
		TEST(test_crash_loop),
		TEST(test_refusal),
		TEST(test_closed_output),
		TEST(test_long_line),
		TEST(test_no_process_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
