/*-------------------------------------------------------------------------
 *
 * test_handler_memory.c
 *		A handler whose tasks fill its memory gets no more until some end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "execute/execute.h"

#define MEMORY 1000

static Loop *loop;
static Limit *node;
static Handler *handler;
static Execute *execute;
static char *types[] = {(char *) "A"};
static HandlerConfig about;
static int	nwoken;

/* ---- in place of finish.c ---- */

void
finish_expect(Finish *finish)
{
}

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	loop_stop(loop);
}

/* ---- */

static int
set_up(void **state)
{
	RunnerParts parts = {.loop = loop = loop_new()};

	about = (HandlerConfig)
	{
		.kind = (const Section *) &handler_noop, .types = types, .ntypes = 1,
			.concurrency = 5, .memory = MEMORY
	};
	nwoken = 0;
	node = limit_new("node", 0, NULL);
	handler = handler_new(&about, NULL, node);
	execute = execute_open(&parts);
	execute_add_handler(execute, handler);
	return 0;
}

static int
tear_down(void **state)
{
	execute_free(execute);
	assert_int_equal(limit_used(node), 0);
	handler_free(handler);
	limit_free(node);
	loop_free(loop);
	return 0;
}

static void
start_task(uint8 number, int64 size)
{
	Task	   *task = palloc0(sizeof(Task));

	task->id[0] = number;
	task->size = size;
	task->handler = handler;
	task->slot = handler_limit(handler);
	assert_null(slots_book(task->slot, 0));
	slots_start(task->slot);
	task->deadline_us = loop_now_us(loop) + SECONDS_TO_US(3600);
	task->due_place = HEAP_NOWHERE;
	execute_task(execute, task);
}

static int
room(void)
{
	return slots_room(handler_limit(handler), 0);
}

/* The noop handler ends its tasks in the next turn. */
static void
end_tasks(void)
{
	loop_run(loop);
	assert_int_equal(execute_running(execute), 0);
}

static void
note_wake(SlotWaiter *waiter)
{
	nwoken++;
}

static void
test_full(void **state)
{
	start_task(1, MEMORY);
	assert_int_equal(room(), 4);
	start_task(2, 1);
	assert_int_equal(room(), 0);
	end_tasks();
	assert_int_equal(room(), 5);
}

/* A single task may be larger than the whole memory. */
static void
test_large_task(void **state)
{
	start_task(1, 100 * MEMORY);
	assert_int_equal(room(), 0);
	end_tasks();
	start_task(2, 100 * MEMORY);
	assert_int_equal(room(), 0);
}

static void
test_waiter_is_woken(void **state)
{
	SlotWaiter	waiter = {.wants = handler_limit(handler), .wake = note_wake};
	Limit	   *full;

	start_task(1, 2 * MEMORY);
	full = slots_book(handler_limit(handler), 0);
	assert_ptr_equal(full, handler_limit(handler));
	slots_wait(full, &waiter);
	assert_int_equal(nwoken, 0);
	end_tasks();
	assert_int_equal(nwoken, 1);
}

static void
test_reload(void **state)
{
	HandlerConfig more = about;

	start_task(1, 2 * MEMORY);
	more.concurrency = 7;
	handler_reload(handler, &more);
	assert_int_equal(room(), 0);
	more.memory = 2 * MEMORY;
	handler_reload(handler, &more);
	assert_int_equal(room(), 6);
	more.memory = 1;
	handler_reload(handler, &more);
	assert_int_equal(room(), 0);
}

/* The drain took too long: tasks without a verdict leave the memory, too. */
static void
test_end(void **state)
{
	start_task(1, 2 * MEMORY);
	execute_end(execute);
	assert_int_equal(room(), 5);
}

#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		MEMORY_TEST(test_full),
		MEMORY_TEST(test_large_task),
		MEMORY_TEST(test_waiter_is_woken),
		MEMORY_TEST(test_reload),
		MEMORY_TEST(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
