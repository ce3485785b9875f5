/*-------------------------------------------------------------------------
 *
 * test_worker_hello.c
 *		The first line to a worker: its settings, which it takes or refuses.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

static void
test_settings_are_told(void **state)
{
	fixture.config.hello = "{\"hello\":1,\"settings\":{\"mood\":[1.5,null]}}";
	open_worker(PUPPET, "settings");
	assert_verdict(run_task("[[\"settings\"]]"), TASK_ERROR, "{\"mood\": [1.5, null]}");
}

/* A process that is started after a reload has the new ones. */
static void
test_settings_are_reloaded(void **state)
{
	HandlerConfig config;

	test_settings_are_told(state);
	config = fixture.config;
	config.hello = "{\"hello\":1,\"settings\":{\"mood\":2}}";
	fixture.kind->reload(fixture.runner, &config);
	(void) run_task("[[\"exit\", 0]]");
	assert_verdict(run_task("[[\"settings\"]]"), TASK_ERROR, "{\"mood\": 2}");
	close_runner();
}

/* Nothing has begun: no try is counted, whether a task was written or waited. */
static void
test_settings_are_refused(void **state)
{
	TestTask   *task;

	open_worker(PUPPET, "settings");
	for (int i = 0; i < 2; i++)
	{
		task = run_task(NULL);
		assert_int_equal(task->result, TASK_RELEASE);
	}
	while (task->message == NULL)
		task = run_task(NULL);
	assert_verdict(task, TASK_RELEASE, "worker refused its settings: there is no mood");
	assert_int_equal(task->delay_us, TASK_DELAY_UNFIT);
}

/* Its tasks have begun, so they must not go back. */
static void
test_error_of_a_working_worker(void **state)
{
	open_worker(PUPPET);
	assert_verdict(run_task("[[\"start\"], [\"write\", \"{\\\"error\\\": \\\"disk full\\\"}\\n\"],"
							" [\"reply\", {\"result\": \"done\"}]]"), TASK_DONE, NULL);
}

static void
test_given_back(void **state)
{
	TestTask   *task;

	open_worker(PUPPET);
	task = run_task("[[\"reply\", {\"result\": \"release\"}]]");
	assert_verdict(task, TASK_RELEASE, NULL);
	assert_int_equal(task->delay_us, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_settings_are_told),
		TEST(test_settings_are_reloaded),
		TEST(test_settings_are_refused),
		TEST(test_error_of_a_working_worker),
		TEST(test_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
