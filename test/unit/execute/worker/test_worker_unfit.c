/*-------------------------------------------------------------------------
 *
 * test_worker_unfit.c
 *		A program that is missing or ends at once has no task, whatever it says,
 *		and a drain gives back what waits for a process.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>
#include <unistd.h>

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define HELLO "read -r hello; "

static const char *
trouble(void)
{
	return fixture.kind->trouble(fixture.runner);
}

/* A file with a line for each start. */
static const char *
starts_path(void)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/starts", fixture.directory);
	return path;
}

/* No try is counted for a task of this program, and the words say why. */
static void
assert_unfit(const char *script, const char *message)
{
	TestTask   *task;

	open_worker("sh", "-c", script);
	task = run_task(NULL);
	assert_verdict(task, TASK_RELEASE, message);
	assert_int_equal(task->delay_us, TASK_DELAY_UNFIT);
	assert_non_null(strstr(trouble(), message));
	close_runner();
}

static void
test_ends_at_once(void **state)
{
	assert_unfit("exit 2", "worker exited with status 2");
	assert_unfit("exit 0", "worker exited with status 0");
	assert_unfit("echo 'sh: no such file' >&2; exit 2", "worker exited with status 2: sh: no such file");
	assert_unfit("echo first >&2; printf 'last\\033[1m' >&2; exit 2",
				 "worker exited with status 2: last\\x1b[1m");
	assert_unfit("exec <&-; kill $$", "worker was ended by signal 15 (Terminated)");
}

/* Some interpreters say it on stdout. */
static void
test_ends_with_words(void **state)
{
	TestTask   *task;

	open_worker("sh", "-c", "echo Could not open input file: /nothere.php; exit 1");
	task = run_task(NULL);
	assert_int_equal(task->result, TASK_RELEASE);
	assert_non_null(strstr(task->message, ": \"Could not open input file: /nothere.php\""));
}

/* Also after the hello, since the tasks come behind it. */
static void
test_ends_after_the_hello(void **state)
{
	TestTask   *task;

	open_worker("sh", "-c", HELLO "echo no database >&2; exit 3");
	do
	{
		task = run_task(NULL);
		assert_int_equal(task->result, TASK_RELEASE);
	} while (task->message == NULL);
	assert_verdict(task, TASK_RELEASE, "worker exited with status 3: no database");
}

/* A descendant that holds the input is gone before anything is given back. */
static void
test_no_descendant_reads_on(void **state)
{
	TestTask   *task;

	open_worker("sh", "-c", HELLO
				"setsid sh -c 'exec 9>$0; echo here >&9; tail -f /dev/null; read -r line' $0 <&0 &\n"
				"read go <$1; kill $$", fixture.path, fixture.go_path);
	task = start_task(NULL);
	wait_until_given(task);
	wait_for_holder();
	send_go();
	wait_for(task);
	assert_verdict(task, TASK_RELEASE, NULL);
	assert_true(is_fifo_free(NULL));
}

/* A program that works again has tasks again. */
static void
test_trouble_ends(void **state)
{
	char	   *path = psprintf("%s/fits", fixture.directory);
	TestTask   *task;

	open_worker("sh", "-c", "[ -e $0 ] && exec $1; exit 1", path, PUPPET);
	assert_int_equal(run_task(NULL)->result, TASK_RELEASE);
	assert_string_equal(trouble(), "worker exited with status 1");
	assert_int_equal(symlink(PUPPET, path), 0);
	do
		task = run_task(NULL);
	while (task->result == TASK_RELEASE);
	assert_verdict(task, TASK_DONE, NULL);
	assert_null(trouble());
	unlink(path);
	pfree(path);
}

/* Each start writes a line. */
static bool
has_started(int n)
{
	struct stat st;

	return stat(starts_path(), &st) == 0 && st.st_size >= 2 * n;
}

static bool
has_started_once(void *arg)
{
	return has_started(1);
}

static bool
has_started_twice(void *arg)
{
	return has_started(2);
}

static bool
has_started_four_times(void *arg)
{
	return has_started(4);
}

/* Pauses grow: at least half of 100, 200, 400 ms. */
static void
test_backoff(void **state)
{
	int64		start_us = loop_now_us(fixture.loop);

	open_worker("sh", "-c", "echo . >>$0", starts_path());
	run_until(has_started_four_times, NULL);
	assert_true(loop_now_us(fixture.loop) - start_us >= MS_TO_US(350));
	unlink(starts_path());
}

/* The second process does not read its hello, so that a trouble of the first one lasts. */
#define ONCE "echo . >>$0; [ $(wc -c <$0) -gt 2 ] && exec tail -f /dev/null; "

static void
assert_no_trouble(void)
{
	run_until(has_started_twice, NULL);
	assert_null(trouble());
	close_runner();
	unlink(starts_path());
}

/* A program that has worked, or that we have ended, is fit, however soon it ends. */
static void
test_ends_soon_and_is_fit(void **state)
{
	open_worker("sh", "-c", ONCE HELLO "echo '{\"ready\": true}'; exit 1", starts_path());
	assert_no_trouble();

	open_worker("sh", "-c", ONCE "exec $1", starts_path(), PUPPET);
	assert_verdict(run_task("[[\"reply\", {\"result\": \"done\"}], [\"exit\", 1]]"), TASK_DONE, NULL);
	assert_no_trouble();

	open_worker("sh", "-c", ONCE "exec $1", starts_path(), PUPPET);
	run_until(has_started_once, NULL);
	fixture.kind->reload(fixture.runner, &fixture.config);
	assert_no_trouble();
}

/* An answer to the hello is as good as its reading. */
static void
test_answers_without_reading(void **state)
{
	open_worker("sh", "-c", "echo '{\"ready\": true}'; exec tail -f /dev/null");
	wait_until_given(start_task(NULL));
}

/* It skipped the hello: the error belongs to the task that it has read. */
static void
test_error_during_the_first_task(void **state)
{
	open_worker("sh", "-c", HELLO "read -r task; echo '{\"error\": \"boom\"}'; read -r more");
	assert_verdict(run_task(NULL), TASK_FAILURE, "worker refused its settings: boom");
}

static void
test_drain_gives_back(void **state)
{
	TestTask   *given;
	TestTask   *waiting;

	fixture.config.prefetch = 1;
	open_worker("sh", "-c", HELLO "read -r task; read -r more");
	given = start_task(NULL);
	waiting = start_task(NULL);
	wait_until_given(given);
	fixture.kind->give_back(fixture.runner);
	wait_for(waiting);
	assert_verdict(waiting, TASK_RELEASE, NULL);
	assert_verdict(run_task(NULL), TASK_RELEASE, NULL);
	assert_int_equal(given->reports, 0);
}

/*
 * The first has been read; the second fills the pipe, and the third is unwritten.  No
 * process has room for the others, of which one was asked to stop.
 */
static void
test_close_gives_back(void **state)
{
	StringInfoData data;
	TestTask   *read;
	TestTask   *large;
	TestTask   *unwritten;
	TestTask   *waiting;
	TestTask   *stopped;

	initStringInfo(&data);
	appendStringInfoChar(&data, '"');
	appendStringInfoSpaces(&data, 200 * 1024);
	appendStringInfoChar(&data, '"');
	fixture.config.prefetch = 3;
	open_worker("sh", "-c", HELLO "read -r task; echo >$0; exec tail -f /dev/null", fixture.path);
	read = start_task(NULL);
	wait_for_holder();
	large = start_task(data.data);
	unwritten = start_task(NULL);
	wait_until_given(unwritten);
	run_turn();
	waiting = start_task(NULL);
	stopped = start_task(NULL);
	fixture.kind->stop_task(fixture.runner, &stopped->task, "over");
	close_runner();
	assert_int_equal(read->reports, 0);
	assert_verdict(large, TASK_RELEASE, NULL);
	assert_verdict(unwritten, TASK_RELEASE, NULL);
	assert_verdict(waiting, TASK_RELEASE, NULL);
	assert_verdict(stopped, TASK_RELEASE, NULL);
	pfree(data.data);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ends_at_once),
		TEST(test_ends_with_words),
		TEST(test_ends_after_the_hello),
		TEST(test_no_descendant_reads_on),
		TEST(test_trouble_ends),
		TEST(test_backoff),
		TEST(test_ends_soon_and_is_fit),
		TEST(test_answers_without_reading),
		TEST(test_error_during_the_first_task),
		TEST(test_drain_gives_back),
		TEST(test_close_gives_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
