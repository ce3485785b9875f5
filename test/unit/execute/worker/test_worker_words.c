/*-------------------------------------------------------------------------
 *
 * test_worker_words.c
 *		What a worker said before it ended: in the errors of its tasks, and about a
 *		handler whose processes end again and again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define CRASHES "read -r hello; read -r line; echo first >&2; printf 'boom\\033\\n' >&2; exit 3"

static TestTask *
run_crash(void)
{
	TestTask   *task = start_task(NULL);

	wait_for_all();
	return task;
}

static const char *
crashes(void)
{
	return fixture.kind->crashes(fixture.runner);
}

static void
test_tasks_keep_its_words(void **state)
{
	open_worker("sh", "-c", CRASHES);
	assert_verdict(run_crash(), TASK_FAILURE, "worker exited with status 3: first\nboom\\x1b");
	assert_verdict(run_crash(), TASK_FAILURE, "worker exited with status 3: first\nboom\\x1b");
}

static void
test_their_end_is_kept(void **state)
{
	fixture.config.max_output = 5;
	open_worker("sh", "-c", "read -r hello; read -r line; echo first, last >&2; exit 3");
	assert_verdict(run_crash(), TASK_FAILURE, "worker exited with status 3: ...last");
}

static void
test_nothing_is_kept(void **state)
{
	fixture.config.max_output = 0;
	open_worker("sh", "-c", CRASHES);
	assert_verdict(run_crash(), TASK_FAILURE, "worker exited with status 3");
}

/* An earlier task's words may be its data. */
static void
test_words_of_earlier_tasks_are_forgotten(void **state)
{
	open_worker("sh", "-c", "read -r hello; echo early >&2\n"
				"for i in 1 2; do read -r line; printf '%s,\"result\":\"done\"}\\n' \"${line%%,?type*}\"; done\n"
				"read -r line; echo late >&2; exit 3");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	assert_verdict(run_crash(), TASK_FAILURE, "worker exited with status 3: late");
}

static void
test_loop_is_told(void **state)
{
	open_worker("sh", "-c", CRASHES);
	(void) run_crash();
	(void) run_crash();
	assert_null(crashes());
	(void) run_crash();
	assert_string_equal(crashes(), "exited with status 3: boom\\x1b");
}

static void
test_finished_task_ends_the_loop(void **state)
{
	open_worker(PUPPET, "");
	for (int i = 0; i < 3; i++)
		assert_verdict(run_task("[[\"exit\", 3]]"), TASK_FAILURE, "worker exited with status 3");
	assert_string_equal(crashes(), "exited with status 3");
	assert_verdict(run_task("[[\"reply\", {\"result\": \"done\"}]]"), TASK_DONE, NULL);
	assert_null(crashes());
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tasks_keep_its_words),
		TEST(test_their_end_is_kept),
		TEST(test_nothing_is_kept),
		TEST(test_words_of_earlier_tasks_are_forgotten),
		TEST(test_loop_is_told),
		TEST(test_finished_task_ends_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
