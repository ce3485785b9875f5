/*-------------------------------------------------------------------------
 *
 * test_task.c
 *		The words for what a handler made of a task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/task.h"
#include "check.h"

static void
test_result_names(void **state)
{
	assert_string_equal(task_result_name(TASK_DONE), "done");
	assert_string_equal(task_result_name(TASK_DELETE), "delete");
	assert_string_equal(task_result_name(TASK_RETRY), "retry");
	assert_string_equal(task_result_name(TASK_REPEAT), "repeat");
	assert_string_equal(task_result_name(TASK_ERROR), "error");
	assert_string_equal(task_result_name(TASK_ACCEPTED), "accepted");
	assert_string_equal(task_result_name(TASK_RELEASE), "release");
	assert_string_equal(task_result_name(TASK_FAILURE), "failure");
}

/* A handler may say six of them. */
static void
test_result_parse(void **state)
{
	TaskResult	result;
	int			i;

	for (i = TASK_DONE; i <= TASK_ACCEPTED; i++)
	{
		assert_true(task_result_parse(task_result_name(i), &result));
		assert_int_equal(result, i);
	}
	assert_false(task_result_parse("release", &result));
	assert_false(task_result_parse("failure", &result));
	assert_false(task_result_parse("DONE", &result));
	assert_false(task_result_parse("", &result));
}

/* The sanitizers see what is left. */
static void
test_task_free(void **state)
{
	Task	   *task = palloc0(sizeof(Task));

	task_free(task);
	task = palloc0(sizeof(Task));
	task->unreadable = pstrdup("too large");
	task_free(task);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result_names),
		cmocka_unit_test(test_result_parse),
		cmocka_unit_test(test_task_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
