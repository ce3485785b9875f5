/*-------------------------------------------------------------------------
 *
 * test_finish.c
 *		An outcome that the server refuses does not keep the others.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "finish/finish.h"

static Config config;
static Finish *finish;
static int64 last_token;

int64
node_incarnation(const Node *node)
{
	return 1;
}

int64
node_next_token(Node *node)
{
	return ++last_token;
}

static int
start(void **state)
{
	finish = finish_open(NULL, &config, NULL);
	come_up(last_pg);
	return 0;
}

static int
stop(void **state)
{
	finish_free(finish);
	return 0;
}

static void
add(uint8 number)
{
	Task		task = {.id = {number}, .version = 1};

	finish_add(finish, &task, TASK_DONE, 0, NULL);
	finish_pump(finish);
}

/* How many tasks the call under way is for; 0: there is none. */
static int
tasks_sent(void)
{
	FakeCall   *call = find_call("finish");

	/* 20 bytes of the array's head, then each with its length */
	return call == NULL ? 0 : (call->sizes[0] - 20) / (4 + TASK_ID_BYTES);
}

static void
refuse(void)
{
	end_call(find_call("finish"), PG_FAILED, NULL);
	finish_pump(finish);
}

/* Takes what was sent; of what was sent before, the sidecar asks what became. */
static void
accept(void)
{
	answer("finish", NULL);
	if (find_call("resolve_finish") != NULL)
		answer("resolve_finish", NULL);
	finish_pump(finish);
}

static void
test_others_go_on(void **state)
{
	add(1);
	refuse();
	assert_int_equal(tasks_sent(), 0);
	add(2);
	assert_int_equal(tasks_sent(), 1);
	accept();
	assert_int_equal(finish_pending(finish), 1);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	refuse();
	assert_int_equal(tasks_sent(), 0);
	pass_us(SECONDS_TO_US(1));
	accept();
	assert_int_equal(finish_pending(finish), 0);
}

static void
test_all_wait_when_all_are_refused(void **state)
{
	for (uint8 i = 1; i <= 3; i++)
	{
		add(i);
		refuse();
	}
	add(4);
	assert_int_equal(tasks_sent(), 0);
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(tasks_sent(), 1);
	while (tasks_sent() > 0)
		accept();
	assert_int_equal(finish_pending(finish), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_others_go_on, start, stop),
		cmocka_unit_test_setup_teardown(test_all_wait_when_all_are_refused, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
