/*-------------------------------------------------------------------------
 *
 * test_execute_sql.c
 *		SQL handlers: tasks that wait, and the end with a statement under way.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "execute/handler.h"
#include "execute/runner.h"

static Pg	control = {.is_up = true};
static Policy policy = {.refs = 1, .timeout_us = SECONDS_TO_US(10)};

/* ---- what the runner asks of others ---- */

Pg *
node_pg(const Node *node)
{
	return &control;
}

static bool is_locked;

int64
node_may_start(const Node *node)
{
	return is_locked ? 0 : 7;
}

bool
node_is_locked(const Node *node)
{
	return is_locked;
}

int64
node_incarnation(const Node *node)
{
	return 1;
}

int64
node_next_token(Node *node)
{
	return 1;
}

Policy *
policies_of(Policies *policies, const char *type)
{
	return &policy;
}

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	fail();
}

bool
offers_refused(Offers *offers, const char *limit, int64 until_us)
{
	fail();
	return false;
}

/* ---- */

static bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	*tag = arg;
	*limit = handler_limit(arg);
	limit_keep(*limit);
	return true;
}

static void
test_wait_and_end(void **state)
{
	char	   *types[] = {"A"};
	char	   *buckets[] = {"default"};
	HandlerConfig about = {
		.types = types,
		.ntypes = 1,
		.function = "app.work",
		.processes = 1,
		.prefetch = 1,
		.concurrency = 1
	};
	Config		config = {.buckets = buckets, .nbuckets = 1};
	Limit	   *node = limit_new("node", 0, NULL);
	Handler    *handler = handler_new(&about, NULL, node);
	Table	   *table = table_new(10, 0, resolve, handler);
	RunnerParts parts = {.config = &config};
	Runner	   *sql = handler_sql.open(&parts, &about, NULL, NULL);
	Trigger		trigger = {.type_len = 1, .type = "A"};

	come_up(last_pg);
	assert_int_equal(table_push(table, &trigger, NULL), TABLE_ADDED);

	/* No task waits for a tick that cannot succeed. */
	is_locked = true;
	handler_sql.grabs->take(sql, table, table_pop(table));
	handler_sql.grabs->pump(sql);
	assert_int_equal(handler_sql.grabs->running(sql), 0);

	is_locked = false;
	handler_sql.grabs->take(sql, table, table_pop(table));
	handler_sql.grabs->pump(sql);
	assert_non_null(find_call("execute"));
	assert_int_equal(handler_sql.grabs->running(sql), 1);
	handler_sql.close(sql);
	assert_int_equal(limit_used(node), 0);
	table_free(table);
	handler_free(handler);
	limit_free(node);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
