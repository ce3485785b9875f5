/*-------------------------------------------------------------------------
 *
 * test_worker_batch.c
 *		Batches: many tasks in one line, and one answer for many tasks.
 *
 * The tasks of a test wait until the process has started, so they meet in one line.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define SIZE "[[\"size\"]]"
#define QUIET "[[\"say\", \"\"]]"
#define ALL_DONE "[\"all\", {\"result\": \"done\"}]"
#define DIED "worker exited with status 3"

static const char *const why = "deadline of 5 s passed";

static void
open_batches(int batch, int prefetch, const char *argument)
{
	fixture.config.batch = batch;
	fixture.config.prefetch = prefetch;
	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET, argument);
}

static TestTask *
start_try(const char *data, int tries, int max_tries)
{
	TestTask   *task = new_task(data);

	task->task.tries = tries;
	task->task.max_tries = max_tries;
	fixture.kind->start(fixture.runner, &task->task);
	return task;
}

static void
test_one_answer_for_all(void **state)
{
	TestTask   *task[5];

	open_batches(3, 1, "");
	for (int i = 0; i < 5; i++)
		task[i] = start_task(i == 0 || i == 3 ? SIZE : NULL);
	wait_for_all();
	for (int i = 0; i < 5; i++)
		assert_verdict(task[i], TASK_ERROR, i < 3 ? "3" : "2");
}

static void
test_lone_task_does_not_wait(void **state)
{
	open_batches(100, 1, "");
	assert_verdict(run_task(SIZE), TASK_ERROR, "1");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

/* An answer for some of the tasks, before one for the rest. */
static void
test_some_fail(void **state)
{
	TestTask   *bad;
	TestTask   *good;

	open_batches(10, 1, "");
	good = start_task(QUIET);
	bad = start_task("[[\"reply\", {\"result\": \"retry\", \"message\": \"no such account\"}], " ALL_DONE "]");
	wait_for_all();
	assert_verdict(good, TASK_DONE, NULL);
	assert_verdict(bad, TASK_RETRY, "no such account");
	assert_int_equal(bad->reports, 1);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

static void
test_death_in_the_middle(void **state)
{
	TestTask   *task[3];

	open_batches(3, 1, "");
	task[0] = start_task("[[\"reply\", {\"result\": \"done\"}], [\"exit\", 3]]");
	task[1] = start_task(NULL);
	task[2] = start_task(NULL);
	wait_for_all();
	assert_verdict(task[0], TASK_DONE, NULL);
	assert_verdict(task[1], TASK_FAILURE, DIED);
	assert_verdict(task[2], TASK_FAILURE, DIED);
}

/* Two lines of two tasks, to a worker that has reported what it takes up. */
static void
open_batches_of_teller(void)
{
	open_batches(2, 2, "");
	assert_verdict(run_task("[[\"start\"], " ALL_DONE "]"), TASK_DONE, NULL);
}

/* Two tasks had the batch that ended the process, and two the next one. */
static void
assert_first_batch_died(TestTask *const *task)
{
	wait_for_all();
	assert_verdict(task[0], TASK_FAILURE, DIED);
	assert_verdict(task[1], TASK_FAILURE, DIED);
	assert_verdict(task[2], TASK_RELEASE, NULL);
	assert_verdict(task[3], TASK_RELEASE, NULL);
}

/* The report for one task of a batch is for the whole batch, and for no other one. */
static void
test_batch_is_taken_up_whole(void **state)
{
	TestTask   *task[4];

	open_batches_of_teller();
	task[0] = start_task("[[\"start\"], [\"exit\", 3]]");
	for (int i = 1; i < 4; i++)
		task[i] = start_task(NULL);
	assert_first_batch_died(task);
}

/* Without a report, any task of the oldest batch may be what ended the process. */
static void
test_oldest_batch_counts_as_taken_up(void **state)
{
	TestTask   *task[4];

	open_batches_of_teller();
	task[0] = start_task(QUIET);
	task[1] = start_task("[[\"exit\", 3]]");
	task[2] = start_task(NULL);
	task[3] = start_task(NULL);
	assert_first_batch_died(task);
}

/* A second batch that the worker reports first leaves the oldest one in the pipe. */
static void
test_batches_in_any_order(void **state)
{
	TestTask   *task[4];
	TestTask   *last;
	char	   *data;

	open_batches_of_teller();
	last = new_task(NULL);
	data = psprintf("[[\"write\", \"{\\\"ids\\\":[\\\"%s\\\"],\\\"versions\\\":[%d],\\\"started\\\":true}\\n\"],"
					" [\"exit\", 3]]", last->task.id_text, (int) last->task.version);
	task[0] = start_task(data);
	task[1] = start_task(NULL);
	task[2] = start_task(NULL);
	fixture.kind->start(fixture.runner, &last->task);
	wait_for_all();
	assert_verdict(task[0], TASK_RELEASE, NULL);
	assert_verdict(task[1], TASK_RELEASE, NULL);
	assert_verdict(task[2], TASK_FAILURE, DIED);
	assert_verdict(last, TASK_FAILURE, DIED);
	pfree(data);
}

static void
test_deadline_of_a_batch(void **state)
{
	TestTask   *late;
	TestTask   *other;

	open_batches(2, 1, "deaf");
	late = start_task("[[\"stay\"]]");
	other = start_task(NULL);
	wait_until_given(late);
	fixture.kind->stop_task(fixture.runner, &late->task, why);
	wait_for_all();
	assert_verdict(late, TASK_FAILURE, why);
	assert_verdict(other, TASK_FAILURE, "worker was stopped because another task passed its deadline");
}

/* Twice in the list, not in flight, and of another version: the other one counts. */
static void
test_odd_list(void **state)
{
	TestTask   *task;

	open_batches(2, 1, "");
	task = start_task("[[\"write\", \"{\\\"ids\\\":[\\\"0190d1a2-0000-7000-8000-999999999999\\\",\\\"@ID@\\\","
					  "\\\"@ID@\\\",\\\"@ID@\\\"],\\\"versions\\\":[1,99,@VERSION@,@VERSION@],"
					  "\\\"result\\\":\\\"done\\\"}\\n\"]]");
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
	assert_int_equal(task->reports, 1);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

/* A list with a flaw answers nothing, and costs nothing. */
static void
test_broken_list(void **state)
{
	open_batches(2, 1, "");
	assert_verdict(run_task("[[\"write\", \"{\\\"ids\\\":[\\\"@ID@\\\",7],\\\"versions\\\":[@VERSION@,1],"
							"\\\"result\\\":\\\"error\\\"}\\n\"], "
							"[\"write\", \"{\\\"ids\\\":[\\\"@ID@\\\"],\\\"versions\\\":[],"
							"\\\"result\\\":\\\"error\\\"}\\n\"], "
							"[\"write\", \"{\\\"ids\\\":[],\\\"versions\\\":[],"
							"\\\"result\\\":\\\"error\\\"}\\n\"], " ALL_DONE "]"),
				   TASK_DONE, NULL);
}

static void
test_answer_in_pieces(void **state)
{
	TestTask   *first;
	TestTask   *second;

	open_batches(2, 1, "");
	first = start_task("[[\"write\", \"{\\\"ids\\\":[\\\"@ID@\\\"\"], [\"write\", \",\"]]");
	second = start_task("[[\"write\", \"\\\"@ID@\\\"],\\\"versions\\\":[\"], [\"write\", \"@VERSION@,@VERSION@],\"], "
						"[\"write\", \"\\\"result\\\":\\\"done\\\"}\\n\"]]");
	second->task.version = first->task.version;
	wait_for_all();
	assert_verdict(first, TASK_DONE, NULL);
	assert_verdict(second, TASK_DONE, NULL);
}

static void
test_add_needs_one_task(void **state)
{
	TestTask   *first;
	TestTask   *second;

	open_batches(2, 1, "");
	first = start_task("[[\"all\", {\"result\": \"done\", \"add\": [{\"type\": \"NEXT\"}]}]]");
	second = start_task(NULL);
	wait_for_all();
	assert_int_equal(first->result, TASK_ERROR);
	assert_int_equal(second->result, TASK_ERROR);
	assert_non_null(strstr(first->message, "member \"add\" goes with one \"id\" only"));
}

/* Failed tries make the batch smaller, and the last try has one of its own. */
static void
test_batches_after_failures(void **state)
{
	TestTask   *alone;
	TestTask   *small[5];
	TestTask   *fresh;

	open_batches(16, 1, "");
	alone = start_try(SIZE, 3, 3);
	for (int i = 0; i < 5; i++)
		small[i] = start_try(i == 0 || i == 4 ? SIZE : NULL, 2, 3);
	fresh = start_try(NULL, 1, 3);
	wait_for_all();
	assert_verdict(alone, TASK_ERROR, "1");
	for (int i = 0; i < 4; i++)
		assert_verdict(small[i], TASK_ERROR, "4");
	assert_verdict(small[4], TASK_ERROR, "2");
	assert_verdict(fresh, TASK_ERROR, "2");
}

static void
test_last_of_two_tries_is_alone(void **state)
{
	TestTask   *last;
	TestTask   *fresh;

	open_batches(100, 1, "");
	last = start_try(SIZE, 2, 2);
	fresh = start_try(SIZE, 1, 2);
	wait_for_all();
	assert_verdict(last, TASK_ERROR, "1");
	assert_verdict(fresh, TASK_ERROR, "1");
}

/* Prefetch counts lines: with 1, the next batch waits for the answer to the last task. */
static void
test_prefetch_counts_lines(void **state)
{
	TestTask   *task[4];
	char	   *data;

	open_batches(2, 1, "");
	data = psprintf("[[\"reply\", {\"result\": \"done\"}], [\"wait\", \"%s\"]]", fixture.go_path);
	task[0] = start_task(data);
	task[1] = start_task("[[\"reply\", {\"result\": \"done\"}]]");
	task[2] = start_task(NULL);
	task[3] = start_task(NULL);
	wait_for(task[0]);
	assert_non_null(task[1]->task.run);
	assert_null(task[2]->task.run);
	assert_null(task[3]->task.run);
	send_go();
	wait_for_all();
	assert_int_equal(fixture.done, 4);
	pfree(data);
}

static void
test_only_try_has_neighbours(void **state)
{
	TestTask   *task[3];

	open_batches(16, 1, "");
	for (int i = 0; i < 3; i++)
		task[i] = start_try(i == 0 ? SIZE : NULL, 1, i % 2);
	wait_for_all();
	for (int i = 0; i < 3; i++)
		assert_verdict(task[i], TASK_ERROR, "3");
}

static void
test_long_line_gets_no_more(void **state)
{
	StringInfoData data;
	TestTask   *first;
	TestTask   *second;
	TestTask   *third;

	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"size\"], [\"say\", \"\"");
	for (int i = 0; i < 60 * 1024; i++)
		appendStringInfoString(&data, ", \"123456\"");
	appendStringInfoString(&data, "]]");
	open_batches(16, 1, "");
	first = start_task(data.data);
	second = start_task(data.data);
	third = start_task(SIZE);
	wait_for_all();
	assert_string_equal(first->message, "2");
	assert_string_equal(second->message, "2");
	assert_string_equal(third->message, "1");
	pfree(data.data);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_answer_for_all),
		TEST(test_lone_task_does_not_wait),
		TEST(test_some_fail),
		TEST(test_death_in_the_middle),
		TEST(test_batch_is_taken_up_whole),
		TEST(test_oldest_batch_counts_as_taken_up),
		TEST(test_batches_in_any_order),
		TEST(test_deadline_of_a_batch),
		TEST(test_odd_list),
		TEST(test_broken_list),
		TEST(test_answer_in_pieces),
		TEST(test_add_needs_one_task),
		TEST(test_batches_after_failures),
		TEST(test_last_of_two_tries_is_alone),
		TEST(test_prefetch_counts_lines),
		TEST(test_only_try_has_neighbours),
		TEST(test_long_line_gets_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
