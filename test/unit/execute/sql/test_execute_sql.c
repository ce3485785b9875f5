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

#include "calls/calls.h"
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

static int	nfailed;
static Limit *unstored;			/* the slot of a failure; NULL: none */

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	assert_int_equal(verdict->result, TASK_FAILURE);
	nfailed++;
	unstored = task->has_shared_slot ? task->slot : NULL;
}

static int	nrefused;

bool
offers_refused(Offers *offers, const char *limit, int64 until_us)
{
	nrefused++;
	return true;
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

static char *types[] = {(char *) "A"};
static char *buckets[] = {(char *) "default"};
static HandlerConfig about = {
	.types = types,
	.ntypes = 1,
	.function = (char *) "app.work",
	.processes = 1,
	.prefetch = 1,
	.concurrency = 1
};
static Config config = {.buckets = buckets, .nbuckets = 1};
static RunnerParts parts = {.config = &config};
static Limits *limits;
static Limit *node;
static Handler *handler;
static Table *table;
static Runner *sql;

static int64
clock_us(void *arg)
{
	return 0;
}

static int
start(void **state)
{
	Trigger		trigger = {.id = {1}, .type_len = 1, .type = "A"};

	limits = limits_new(clock_us, NULL);
	node = limit_new_root(limits, "node", 0);
	handler = handler_new(&about, NULL, node);
	table = table_new(10, 0, resolve, handler);
	sql = handler_sql.open(&parts, &about, NULL, NULL);
	is_locked = false;
	nrefused = nfailed = 0;
	unstored = NULL;
	come_up(last_pg);
	assert_int_equal(table_push(table, &trigger, NULL), TABLE_ADDED);
	return 0;
}

static void
ignore_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
}

static int
end_test(void **state)
{
	handler_sql.close(sql);
	assert_int_equal(limit_used(node), 0);
	if (unstored != NULL)
		slots_free_shared(unstored);
	limits_take_freed(limits, ignore_freed, NULL);
	table_free(table);
	handler_free(handler);
	limit_free(node);
	limits_free(limits);
	return 0;
}

static void
take_and_pump(void)
{
	handler_sql.grabs->take(sql, table, table_pop(table));
	handler_sql.grabs->pump(sql);
}

static void
test_wait_and_end(void **state)
{
	/* No task waits for a tick that cannot succeed. */
	is_locked = true;
	take_and_pump();
	assert_int_equal(handler_sql.grabs->running(sql), 0);

	is_locked = false;
	take_and_pump();
	assert_null(find_call("grab_bare"));
	assert_non_null(find_call("execute"));
	assert_int_equal(handler_sql.grabs->running(sql), 1);
}

/* ---- the grab ahead, under a limit of the cluster ---- */

static PGresult *
grab_answer(bool is_won)
{
	const uint8 id[TASK_ID_BYTES] = {1};
	PGresult   *result = make_result(GRAB_PLACE + 1);

	put_bytes(result, 0, GRAB_ID, id, TASK_ID_BYTES);
	put_text(result, 0, GRAB_TYPE, "A");
	if (!is_won)
		return result;
	put_int8(result, 0, GRAB_VERSION, 1);
	put_int4(result, 0, GRAB_TRIES, 1);
	return result;
}

static void
run_limited(void)
{
	limit_set_shared(node);
	take_and_pump();
	assert_int_equal(pg_in_flight(last_pg), 3);
	assert_string_equal(dlist_head_element(FakeCall, node, &calls)->statement->name, "grab_bare");
}

/* The answers to what was sent behind a refused grab concern nobody. */
static void
test_refused(void **state)
{
	run_limited();
	answer("grab_bare", grab_answer(false));
	assert_int_equal(nrefused, 1);
	assert_int_equal(handler_sql.grabs->running(sql), 0);
	take_and_pump();
	assert_int_equal(handler_sql.grabs->running(sql), 1);
	answer("set_timeout", NULL);
	answer("execute", NULL);
	assert_int_equal(handler_sql.grabs->running(sql), 1);
	lose_calls(last_pg);
	handler_sql.grabs->pump(sql);
	answer("resolve_grab_bare", NULL);
	answer("grab_bare", grab_answer(false));
	assert_int_equal(nfailed, 0);
}

static void
test_taken_by_another(void **state)
{
	run_limited();
	answer("grab_bare", NULL);
	answer("execute", NULL);
	assert_int_equal(handler_sql.grabs->running(sql), 0);
	assert_int_equal(limit_used(node), 0);
}

/* Either answer may be lost: the database knows what became of the task. */
static void
check_lost(void)
{
	lose_calls(last_pg);
	assert_int_equal(handler_sql.grabs->running(sql), 1);
	handler_sql.grabs->pump(sql);
	answer("resolve_grab_bare", grab_answer(true));
	assert_int_equal(nfailed, 1);
	assert_int_equal(handler_sql.grabs->running(sql), 0);
}

static void
test_lost(void **state)
{
	run_limited();
	check_lost();
}

static void
test_lost_while_it_ran(void **state)
{
	run_limited();
	answer("grab_bare", grab_answer(true));
	check_lost();
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_wait_and_end),
		UNIT(test_refused),
		UNIT(test_taken_by_another),
		UNIT(test_lost),
		UNIT(test_lost_while_it_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
