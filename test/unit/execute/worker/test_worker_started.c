/*-------------------------------------------------------------------------
 *
 * test_worker_started.c
 *		Tasks in a worker's pipe: which of them it has taken up, and what becomes
 *		of the others when it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define START "[\"start\"]"
#define DONE "[\"reply\", {\"result\": \"done\"}]"

static const char *const why = "deadline of 5 s passed";

static bool
is_ahead(void *arg)
{
	return ((TestTask *) arg)->task.is_ahead;
}

static bool
is_taken_up(void *arg)
{
	return !is_ahead(arg);
}

/* A worker that is known to say what it takes up. */
static void
open_telling(const char *argument)
{
	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET, argument);
	assert_verdict(run_task("[" START ", " DONE "]"), TASK_DONE, NULL);
}

static void
test_neighbours_of_a_late_task_are_given_back(void **state)
{
	TestTask   *late;
	TestTask   *first;
	TestTask   *second;

	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET, "deaf");
	late = start_task("[" START ", [\"stay\"]]");
	first = start_task(NULL);
	second = start_task(NULL);
	run_until(is_ahead, first);
	assert_true(is_ahead(second));
	assert_false(is_ahead(late));
	fixture.kind->stop_task(fixture.runner, &late->task, why);
	wait_for_all();
	assert_verdict(late, TASK_FAILURE, why);
	assert_verdict(first, TASK_RELEASE, NULL);
	assert_verdict(second, TASK_RELEASE, NULL);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

static void
test_crash_counts_for_what_ran(void **state)
{
	TestTask   *done;
	TestTask   *crash;
	TestTask   *next;

	open_telling("");
	done = start_task("[" START ", " DONE "]");
	crash = start_task("[" START ", [\"exit\", 3]]");
	next = start_task(NULL);
	wait_for_all();
	assert_verdict(done, TASK_DONE, NULL);
	assert_verdict(crash, TASK_FAILURE, "worker exited with status 3");
	assert_verdict(next, TASK_RELEASE, NULL);
}

/* The oldest may be what ended it, before it could say anything. */
static void
test_crash_before_a_start_counts_for_the_oldest(void **state)
{
	TestTask   *crash;
	TestTask   *next;

	open_telling("");
	crash = start_task("[[\"exit\", 3]]");
	next = start_task(NULL);
	wait_for_all();
	assert_verdict(crash, TASK_FAILURE, "worker exited with status 3");
	assert_verdict(next, TASK_RELEASE, NULL);
}

static void
test_tasks_may_be_taken_up_in_any_order(void **state)
{
	TestTask   *first;
	TestTask   *second;

	open_telling("");
	first = start_task("[[\"say\", \"\"]]");
	run_until(is_taken_up, first);
	second = start_task("[" START ", [\"exit\", 3]]");
	wait_for_all();
	assert_verdict(first, TASK_RELEASE, NULL);
	assert_verdict(second, TASK_FAILURE, "worker exited with status 3");
}

/* Its time runs although the worker has said nothing about it yet. */
static void
test_time_of_the_oldest_runs(void **state)
{
	TestTask   *first;
	TestTask   *second;
	TestTask   *third;

	open_telling("");
	first = start_task("[[\"wait\", \"/dev/null\"], " START ", [\"say\", \"\"]]");
	second = start_task("[[\"say\", \"\"]]");
	third = start_task("[[\"say\", \"\"]]");
	run_until(is_ahead, third);
	assert_false(is_ahead(first));
	assert_true(first->task.taken_us > 0);
	assert_true(is_ahead(second));
	fixture.kind->stop_task(fixture.runner, &first->task, why);
	wait_for(first);
	run_until(is_taken_up, second);
	assert_true(is_ahead(third));
	assert_true(second->task.taken_us >= first->task.taken_us);
}

/* A task that it takes up while it is being ended has run. */
static void
test_start_after_the_end_began_counts(void **state)
{
	TestTask   *last;
	TestTask   *other;
	TestTask   *first;
	char	   *data;

	open_telling("deaf");
	last = new_task("[[\"say\", \"\"]]");
	data = psprintf("[" START ", [\"write\", \"junk\\n{\\\"id\\\":\\\"%s\\\","
					"\\\"version\\\":%d,\\\"started\\\":true}\\n\"], [\"stay\"]]",
					last->task.id_text, (int) last->task.version);
	first = start_task(data);
	fixture.kind->start(fixture.runner, &last->task);
	other = start_task(NULL);
	wait_for_all();
	assert_int_equal(first->result, TASK_FAILURE);
	assert_int_equal(last->result, TASK_FAILURE);
	assert_verdict(other, TASK_RELEASE, NULL);
	pfree(data);
}

/* The end of its process is not its fault, and what it has done is done. */
static void
test_answer_after_the_end_began_counts(void **state)
{
	TestTask   *late;
	TestTask   *other;
	TestTask   *answered;
	char	   *data = psprintf("[" START ", [\"touch\", \"%s\"]]", fixture.path);

	open_worker(PUPPET, "parting");
	late = start_task("[" START ", [\"say\", \"\"]]");
	other = start_task("[" START ", [\"say\", \"\"]]");
	answered = start_task(data);
	wait_for_holder();
	fixture.config.grace_us = 0;
	fixture.kind->stop_task(fixture.runner, &late->task, why);
	wait_for_all();
	assert_verdict(answered, TASK_DONE, NULL);
	assert_verdict(late, TASK_FAILURE, why);
	assert_verdict(other, TASK_FAILURE, "worker was stopped because another task passed its deadline");
	pfree(data);
}

/* A worker that never says so may have begun whatever it could read. */
static void
test_unwritten_tasks_are_given_back(void **state)
{
	StringInfoData data;
	TestTask   *late;
	TestTask   *unwritten;

	initStringInfo(&data);
	appendStringInfoChar(&data, '"');
	appendStringInfoSpaces(&data, 2 * 1024 * 1024);
	appendStringInfoChar(&data, '"');
	fixture.config.grace_us = MS_TO_US(100);
	open_worker("sh", "-c", "read -r hello; exec tail -f /dev/null");
	late = start_task(data.data);
	wait_until_given(late);
	unwritten = start_task("{}");
	fixture.kind->stop_task(fixture.runner, &late->task, why);
	wait_for(late);
	assert_verdict(late, TASK_FAILURE, why);
	fixture.kind->stop_task(fixture.runner, &unwritten->task, why);
	wait_for(unwritten);
	assert_verdict(unwritten, TASK_RELEASE, NULL);
	pfree(data.data);
}

/* The next program need not say what it takes up, also if the last one crashed. */
static void
test_next_program_may_say_nothing(void **state)
{
	TestTask   *crash;
	TestTask   *first;
	TestTask   *second;
	char	   *data;

	open_telling("");
	data = psprintf("[" START ", [\"wait\", \"%s\"], [\"exit\", 3]]", fixture.go_path);
	crash = start_task(data);
	wait_until_given(crash);
	fixture.kind->reload(fixture.runner, &fixture.config);
	first = start_task("[[\"say\", \"\"]]");
	second = start_task("[[\"exit\", 3]]");
	send_go();
	wait_for_all();
	assert_verdict(crash, TASK_FAILURE, "worker exited with status 3");
	assert_verdict(first, TASK_FAILURE, "worker exited with status 3");
	assert_verdict(second, TASK_FAILURE, "worker exited with status 3");
	pfree(data);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* A node that only a new incarnation can confirm must have nothing that waits. */
static void
test_gate_shut(void **state)
{
	TestTask   *running;
	TestTask   *waiting;

	fixture.config.prefetch = 1;
	open_worker(PUPPET);
	running = start_task(NULL);
	waiting = start_task(NULL);
	wait_until_given(running);
	fixture.incarnation = 0;
	fixture.is_shut = true;
	wait_for(waiting);
	assert_verdict(waiting, TASK_RELEASE, NULL);
	assert_null(waiting->task.run);
	wait_for(running);
	assert_verdict(running, TASK_DONE, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_neighbours_of_a_late_task_are_given_back),
		TEST(test_gate_shut),
		TEST(test_crash_counts_for_what_ran),
		TEST(test_crash_before_a_start_counts_for_the_oldest),
		TEST(test_tasks_may_be_taken_up_in_any_order),
		TEST(test_time_of_the_oldest_runs),
		TEST(test_start_after_the_end_began_counts),
		TEST(test_answer_after_the_end_began_counts),
		TEST(test_next_program_may_say_nothing),
		TEST(test_unwritten_tasks_are_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
