/*-------------------------------------------------------------------------
 *
 * test_worker_replaced.c
 *		A reload replaces the processes of a worker one after the other, and no
 *		task is lost; a line that is no reply is shown with the tasks that failed.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")
#define PATIENCE_SECONDS 60

/* A worker whose code can be changed: what it answers, with its process id. */
static char *
write_worker(const char *answer)
{
	char	   *path = psprintf("%s/worker", fixture.directory);
	char	   *new_path = psprintf("%s.new", path);
	FILE	   *file = fopen(new_path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", answer);
	fclose(file);
	assert_int_equal(chmod(new_path, 0755), 0);
	assert_int_equal(rename(new_path, path), 0);
	pfree(new_path);
	return path;
}

/* Members in their order; an error with this message. */
static char *
answer_with(const char *message)
{
	return psprintf("while IFS= read -r line; do\n"
					"case $line in *hello*) continue ;; esac\n"
					"id=${line#*:\\\"}; id=${id%%%%\\\"*}; version=${line#*version\\\":}; version=${version%%%%,*}\n"
					"echo \"{\\\"id\\\":\\\"$id\\\",\\\"version\\\":$version,\\\"result\\\":\\\"error\\\","
					"\\\"message\\\":\\\"%s\\\"}\"\ndone", message);
}

/* Runs tasks until two in a row, one for each process, were of the new code. */
static bool
is_new(TestTask *task, const char *message)
{
	wait_for(task);
	assert_int_equal(task->result, TASK_ERROR);
	return strcmp(task->message, message) == 0;
}

static void
run_until_new(const char *message)
{
	time_t		deadline = time(NULL) + PATIENCE_SECONDS;
	bool		all_new = false;

	while (!all_new)
	{
		TestTask   *first = start_task(NULL);
		TestTask   *second = start_task(NULL);

		assert_true(time(NULL) < deadline);
		run_turn();
		all_new = is_new(first, message) & is_new(second, message);
	}
}

static void
test_new_code_runs_after_a_replacement(void **state)
{
	char	   *old_code = answer_with("old");
	char	   *new_code = answer_with("new");
	char	   *path = write_worker(old_code);

	fixture.config.processes = 2;
	fixture.config.prefetch = 1;
	open_worker(path);
	run_until_new("old");
	pfree(write_worker(new_code));
	fixture.kind->reload(fixture.runner, &fixture.config);
	run_until_new("new");
	unlink(path);
	pfree(path);
	pfree(old_code);
	pfree(new_code);
}

/* Tasks in flight end before their process does. */
static void
test_replacement_loses_no_task(void **state)
{
	TestTask   *running;
	TestTask   *waiting;
	char	   *data;

	open_worker(PUPPET);
	data = psprintf("[[\"wait\", \"%s\"], [\"reply\", {\"result\": \"done\"}]]", fixture.go_path);
	running = start_task(data);
	wait_until_given(running);
	fixture.kind->reload(fixture.runner, &fixture.config);
	waiting = start_task(NULL);
	run_turn();
	send_go();
	wait_for_all();
	assert_verdict(running, TASK_DONE, NULL);
	assert_verdict(waiting, TASK_DONE, NULL);
	pfree(data);
}

static void
test_print_is_shown(void **state)
{
	StringInfoData data;
	TestTask   *task;

	open_worker(PUPPET);
	task = run_task("[[\"write\", \"Loading\\tmodel\\n\"], [\"stay\"]]");
	assert_verdict(task, TASK_FAILURE, "worker broke the protocol: reply is not JSON: "
				   "syntax error at byte 7: \"Loading\\tmodel\"");
	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"write\", \"");
	for (int i = 0; i < 1000; i++)
		appendStringInfoString(&data, "print ");
	appendStringInfoString(&data, "\\n\"], [\"stay\"]]");
	task = run_task(data.data);
	assert_int_equal(task->result, TASK_FAILURE);
	assert_in_range(strlen(task->message), 200, 400);
	pfree(data.data);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_code_runs_after_a_replacement),
		TEST(test_replacement_loses_no_task),
		TEST(test_print_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
