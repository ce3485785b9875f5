/*-------------------------------------------------------------------------
 *
 * test_examples.c
 *		The examples do what they are an example of.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "execute_fixture.h"

/* Some are ahead of others only if the worker says what it takes up. */
static bool
has_ahead(void *arg)
{
	TestTask  **tasks = arg;

	for (int i = 0; i < 200; i++)
		if (tasks[i]->task.is_ahead)
			return true;
	return false;
}

/* More tasks than prefetch lets in, with data that looks like the protocol. */
static void
assert_works(void)
{
	TestTask   *tasks[200];
	int			i;

	for (i = 0; i < 200; i++)
		tasks[i] = start_task("{\"id\": \"\\\"version\\\":7\", \"list\": [1.10, \"\\n\"], "
							  "\"cancel\": null}");
	run_until(has_ahead, tasks);
	start_task(NULL);
	start_payload("\0\n\"", 3);
	wait_for_all();
	assert_int_equal(fixture.reported, 202);
	assert_int_equal(fixture.done, 202);
}

static void
test_shell(void **state)
{
	open_worker(project_file("examples/worker.sh"));
	assert_works();
}

static void
test_python(void **state)
{
	open_worker(project_file("examples/worker.py"));
	assert_works();
}

/* Each line is a list, of which the example makes one answer. */
static void
test_python_batch(void **state)
{
	fixture.config.batch = 30;
	open_worker(project_file("examples/batch.py"));
	for (int i = 0; i < 200; i++)
		start_task("{\"tasks\": [1.10, \"\\n\"]}");
	wait_for_all();
	assert_int_equal(fixture.done, 200);
}

static void
test_node(void **state)
{
	open_command("node", "--version");
	if (run_task(NULL)->result != TASK_DONE)
	{
		print_message("node is not installed: examples/worker.js not tested\n");
		skip();
	}
	close_runner();
	open_worker(project_file("examples/worker.js"));
	assert_works();
	/* U+2028 ends a line for some, and does not here */
	assert_verdict(run_task("{\"to\": \"a\xe2\x80\xa8z\"}"), TASK_DONE, NULL);
}

/*
 * Opens the example with other work in it, which prints and then fails.  Returns its
 * path for close_changed().
 */
static char *
open_changed(const char *example, const char *from, const char *to)
{
	char	   *path = psprintf("%s/changed", fixture.directory);
	char	   *script = psprintf("sed 's/%s/%s/' '%s' >'%s' && chmod 700 '%s'", from, to,
								  project_file(example), path, path);

	assert_int_equal(system(script), 0);
	pfree(script);
	open_worker(path);
	return path;
}

static void
close_changed(char *path)
{
	unlink(path);
	pfree(path);
}

/* Prints of the work end no process, and its error is told with its place. */
static void
test_python_that_fails(void **state)
{
	char	   *path = open_changed("examples/worker.py", "return {\"result\": \"done\"}",
									"print(\"hi\"); return task[\"adress\"]");
	const TestTask *task = run_task(NULL);

	assert_int_equal(task->result, TASK_RETRY);
	assert_ptr_equal(strstr(task->message, "KeyError: 'adress'\nTraceback "), task->message);
	assert_non_null(strstr(task->message, "in do_task"));
	close_changed(path);
}

static void
test_node_that_fails(void **state)
{
	const TestTask *task;
	char	   *path;

	if (system("node --version >/dev/null 2>&1") != 0)
		skip();
	path = open_changed("examples/worker.js", "return { result: \"done\" };",
						"console.log(\"hi\"); console.error(\"ho\"); return task.adress.city;");
	task = run_task(NULL);
	assert_int_equal(task->result, TASK_RETRY);
	assert_ptr_equal(strstr(task->message, "TypeError: "), task->message);
	assert_non_null(strstr(task->message, "at doTask"));
	close_changed(path);
}

static void
test_c(void **state)
{
	char	   *program = psprintf("%s/worker", fixture.directory);

	open_command("cc", "-Wall", "-Wextra", "-Werror", "-o", program,
				 project_file("examples/worker.c"));
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	close_runner();
	open_worker(program);
	assert_works();
	unlink(program);
	pfree(program);
}

static void
test_command(void **state)
{
	TestTask   *task;

	open_command(project_file("examples/command.sh"));
	assert_verdict(run_task("{\"to\": 7}"), TASK_DONE, NULL);
	task = run_task(NULL);
	assert_int_equal(task->result, TASK_ERROR);
	assert_non_null(strstr(task->message, "of type TEST has no data"));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shell),
		TEST(test_python),
		TEST(test_python_batch),
		TEST(test_node),
		TEST(test_python_that_fails),
		TEST(test_node_that_fails),
		TEST(test_c),
		TEST(test_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
