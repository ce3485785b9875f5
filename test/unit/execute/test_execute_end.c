/*-------------------------------------------------------------------------
 *
 * test_execute_end.c
 *		A task whose grab is answered after the end of the drain has not begun.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "execute/execute.h"

static Loop *loop;
static int	nreleased;

/* ---- in place of finish.c ---- */

void
finish_expect(Finish *finish)
{
}

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	assert_int_equal(verdict->result, TASK_RELEASE);
	nreleased++;
}

/* ---- */

static Task *
grabbed(Handler *handler, uint8 number)
{
	Task	   *task = palloc0(sizeof(Task));

	task->id[0] = number;
	task->type = (char *) "A";
	task->handler = handler;
	task->slot = handler_limit(handler);
	limit_keep(task->slot);
	assert_null(slots_book(task->slot, 0));
	slots_start(task->slot);
	task->deadline_us = loop_now_us(loop) + SECONDS_TO_US(3600);
	task->due_place = HEAP_NOWHERE;
	return task;
}

static void
check_end(int late, int expected)
{
	char	   *types[] = {(char *) "A"};
	HandlerConfig about = {
		.kind = (const Section *) &handler_noop, .types = types, .ntypes = 1, .concurrency = 2
	};
	Limit	   *node = limit_new("node", 0, NULL);
	Handler    *handler = handler_new(&about, NULL, node);
	RunnerParts parts = {.loop = loop = loop_new()};
	Execute    *execute = execute_open(&parts);

	nreleased = 0;
	execute_add_handler(execute, handler);
	execute_task(execute, grabbed(handler, 1));
	execute_end(execute);
	execute_task(execute, grabbed(handler, late));
	assert_int_equal(nreleased, expected);
	assert_int_equal(limit_used(node), 0);
	execute_free(execute);
	handler_free(handler);
	limit_free(node);
	loop_free(loop);
}

static void
test_late_grab(void **state)
{
	check_end(2, 1);
}

/* The server lost the grab of a task that ran here, and gives it again. */
static void
test_late_grab_of_same(void **state)
{
	check_end(1, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_grab),
		cmocka_unit_test(test_late_grab_of_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
