/*-------------------------------------------------------------------------
 *
 * test_node.c
 *		The life of a node: when its tasks may start, and its end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "node/node.h"
#include "calls/calls.h"

static int	nended;
static int	nreturned;
static int	nlost;
static bool is_idle;

static void
ignore(void *arg)
{
}

static void
ignore_leader(void *arg, bool is_leader)
{
}

static void
ignore_look(void *arg, bool has_work, int64 next_us)
{
}

static void
count_end(void *arg)
{
	nended++;
}

static void
count_return(void *arg)
{
	nreturned++;
}

static void
count_lost(void *arg)
{
	nlost++;
}

static bool
tell_idle(void *arg)
{
	return is_idle;
}

static const NodeEvents events = {
	.on_begin = ignore,
	.on_gone = count_lost,
	.is_idle = tell_idle,
	.on_leader = ignore_leader,
	.on_return = count_return,
	.on_clock = ignore,
	.on_config = ignore,
	.on_look = ignore_look,
	.on_cancel = ignore
};

static Config config = {.node = "a", .lease_us = SECONDS_TO_US(60)};

/* Its first tick is under way. */
static Node *
begin_node(void)
{
	Node	   *node = node_open(NULL, &config, &events, NULL);
	PGresult   *started = make_result(START_REFUSAL + 1);

	nended = 0;
	failure_state = "";
	put_int8(started, 0, START_INCARNATION, 7);
	come_up(node_pg(node));
	pass_us(0);
	answer("start_node", started);
	pass_us(0);
	assert_int_equal(node_incarnation(node), 7);
	return node;
}

static PGresult *
ticked(void)
{
	PGresult   *result = make_result(TICK_LOOK_MS + 1);

	put_bool(result, 0, TICK_ALIVE, true);
	put_bool(result, 0, TICK_IS_HELD, true);
	return result;
}

static Node *
begin_ticked(void)
{
	Node	   *node = begin_node();

	answer("tick", ticked());
	return node;
}

/* Ticks that fail will do so with this SQLSTATE. */
static Node *
begin_failing(const char *state)
{
	Node	   *node = begin_ticked();

	nlost = 0;
	is_idle = true;
	failure_state = state;
	return node;
}

/* It waits for its end as long as it said, whatever else is answered. */
static void
test_patience(void **state)
{
	Node	   *node = begin_node();

	node_end(node, count_end, NULL);
	pass_us(SECONDS_TO_US(1));
	answer("tick", ticked());
	pass_us(SECONDS_TO_US(1) - 1);
	assert_int_equal(nended, 0);
	pass_us(1);
	assert_int_equal(nended, 1);
	node_free(node);
}

/* Another tick was wanted while that one was under way. */
static void
test_patience_when_asked_again(void **state)
{
	Node	   *node = begin_node();

	node_look(node);
	pass_us(0);
	node_end(node, count_end, NULL);
	answer("tick", ticked());
	pass_us(0);
	assert_int_equal(nended, 0);
	answer("end_node", NULL);
	answer("recover", NULL);
	assert_int_equal(nended, 1);
	node_free(node);
}

/* One tick is under way at a time, since its answer confirms when it was sent. */
static void
test_one_tick(void **state)
{
	Node	   *node = begin_node();

	node_look(node);
	pass_us(0);
	answer("tick", ticked());
	assert_null(find_call("tick"));
	pass_us(0);
	assert_non_null(find_call("tick"));
	node_free(node);
}

static void
test_ending_is_final(void **state)
{
	Node	   *node = begin_node();

	node_end(node, count_end, NULL);
	answer("tick", ticked());
	assert_int_equal(node_may_start(node), 0);
	pg_reset(node_pg(node), "test");
	come_up(node_pg(node));
	assert_int_equal(node_may_start(node), 0);
	node_free(node);
}

/* The grace of other nodes is 3 s. */
#define WINDOW_US MS_TO_US(2500)

/* Tasks start for a while after each tick, and then a tick is sent. */
static void
test_start_window(void **state)
{
	Node	   *node = begin_ticked();

	pass_us(WINDOW_US - 1);
	assert_int_equal(node_start_now(node), 7);
	assert_null(find_call("tick"));
	pass_us(1);
	assert_int_equal(node_start_now(node), 0);
	pass_us(0);
	answer("tick", ticked());
	assert_int_equal(node_start_now(node), 7);
	node_free(node);
}

/* A grab proves as much as a tick; the time of its answer does not count. */
static void
test_start_after_grab(void **state)
{
	Node	   *node = begin_ticked();
	int64		sent_us;

	pass_us(WINDOW_US);
	sent_us = loop_now_us(NULL);
	pass_us(MS_TO_US(500));
	assert_int_equal(node_start_now(node), 0);
	node_prove(node, sent_us);
	node_prove(node, 0);
	assert_int_equal(node_start_now(node), 7);
	pass_us(WINDOW_US - MS_TO_US(500));
	assert_int_equal(node_start_now(node), 0);
	node_free(node);
}

/* A slow answer confirms a moment that has passed: only the next one counts. */
static void
test_start_after_slow_tick(void **state)
{
	Node	   *node = begin_node();

	pass_us(WINDOW_US);
	assert_int_equal(node_start_now(node), 0);
	pass_us(0);
	answer("tick", ticked());
	pass_us(0);
	assert_null(find_call("tick"));
	assert_int_equal(node_start_now(node), 0);
	pass_us(0);
	answer("tick", ticked());
	assert_int_equal(node_start_now(node), 7);
	node_free(node);
}

/* Ticks that fail are not repeated at once, though tasks wait for one. */
static void
test_start_after_failed_tick(void **state)
{
	Node	   *node = begin_ticked();

	pass_us(WINDOW_US);
	assert_int_equal(node_start_now(node), 0);
	pass_us(0);
	end_call(find_call("tick"), PG_FAILED, NULL);
	assert_int_equal(node_start_now(node), 0);
	pass_us(SECONDS_TO_US(1) - 1);
	assert_int_equal(node_start_now(node), 0);
	assert_null(find_call("tick"));
	pass_us(1);
	assert_non_null(find_call("tick"));
	node_free(node);
}

/* With a new session, nothing starts before its first tick. */
static void
test_start_after_reconnect(void **state)
{
	Node	   *node = begin_ticked();

	nreturned = 0;
	pg_reset(node_pg(node), "test");
	assert_int_equal(node_start_now(node), 0);
	come_up(node_pg(node));
	assert_int_equal(node_start_now(node), 0);
	pass_us(0);
	assert_int_equal(nreturned, 0);
	answer("tick", ticked());
	assert_int_equal(node_start_now(node), 7);
	assert_int_equal(nreturned, 1);
	node_free(node);
}

/* The session that holds the incarnation is not in place until a later tick finds it. */
static void
test_return_once_held(void **state)
{
	Node	   *node = begin_ticked();
	PGresult   *not_held = make_result(TICK_LOOK_MS + 1);

	nreturned = 0;
	put_bool(not_held, 0, TICK_ALIVE, true);
	put_bool(not_held, 0, TICK_IS_HELD, false);
	pg_reset(node_pg(node), "test");
	come_up(node_pg(node));
	pass_us(0);
	answer("tick", not_held);
	assert_int_equal(nreturned, 0);
	pass_us(SECONDS_TO_US(1));
	answer("tick", ticked());
	assert_int_equal(nreturned, 1);
	node_free(node);
}

/* The next tick, a second later, finds the row locked. */
static void
tick_locked(void)
{
	pass_us(SECONDS_TO_US(1));
	end_call(find_call("tick"), PG_FAILED, NULL);
}

/*
 * While its row is locked, the incarnation is left once half the lease is over and
 * nothing of it runs.
 */
static void
test_leave_locked(void **state)
{
	Node	   *node = begin_failing("55P03");

	pass_us(SECONDS_TO_US(6));
	end_call(find_call("tick"), PG_FAILED, NULL);
	assert_true(node_is_locked(node));
	pass_us(SECONDS_TO_US(1));
	answer("tick", ticked());
	assert_false(node_is_locked(node));
	pass_us(SECONDS_TO_US(5));
	for (int i = 0; i < 23; i++)
		tick_locked();
	assert_int_equal(node_incarnation(node), 7);
	is_idle = false;
	tick_locked();
	tick_locked();
	assert_int_equal(nlost, 0);
	is_idle = true;
	tick_locked();
	assert_int_equal(nlost, 1);
	assert_int_equal(node_incarnation(node), 0);
	assert_null(find_call("start_node"));
	pass_us(0);
	assert_non_null(find_call("start_node"));
	node_free(node);
}

/* A node that ends begins no new incarnation. */
static void
test_end_locked(void **state)
{
	Node	   *node = begin_failing("55P03");

	pass_us(SECONDS_TO_US(40));
	node_end(node, count_end, NULL);
	end_call(find_call("tick"), PG_FAILED, NULL);
	assert_int_equal(nlost, 0);
	pass_us(SECONDS_TO_US(2));
	assert_int_equal(nended, 1);
	node_free(node);
}

/* Another failure of its ticks leaves the incarnation as it is. */
static void
test_stay_failing(void **state)
{
	Node	   *node = begin_failing("57014");

	pass_us(SECONDS_TO_US(6));
	for (int i = 0; i < 70; i++)
	{
		end_call(find_call("tick"), PG_FAILED, NULL);
		pass_us(SECONDS_TO_US(1));
	}
	assert_int_equal(nlost, 0);
	assert_int_equal(node_incarnation(node), 7);
	assert_false(node_is_locked(node));
	node_free(node);
}

/* A session that may not listen to one of its channels makes room for another. */
static void
test_listen_refused(void **state)
{
	static const PgStatement *const channels[] =
	{&call_listen_cancels, &call_listen_slots, &call_listen, &call_listen_config};

	for (int i = 0; i < (int) lengthof(channels); i++)
	{
		Node	   *node = begin_node();

		node_set_queue(node, QUEUE_RING);
		end_call(find_call(channels[i]->name), PG_FAILED, NULL);
		assert_false(pg_is_up(node_pg(node)));
		node_free(node);
	}
}

/* Its first start is under way; the addresses that it tells get this answer. */
static Node *
begin_told(PgOutcome outcome, const char *state)
{
	Node	   *node = node_open(NULL, &config, &events, NULL);

	come_up(node_pg(node));
	pass_us(0);
	failure_state = state;
	end_call(find_call("tell_addresses"), outcome, NULL);
	failure_state = "";
	return node;
}

/* A copy of a database does not refuse a session that told it no address. */
static void
test_addresses_untold(void **state)
{
	Node	   *node = begin_told(PG_FAILED, "53200");

	assert_false(pg_is_up(node_pg(node)));
	assert_null(find_call("start_node"));
	assert_int_equal(node_incarnation(node), 0);
	node_free(node);
}

static void
test_addresses_not_wanted(void **state)
{
	Node	   *node = begin_told(PG_FAILED, "42883");

	assert_non_null(find_call("start_node"));
	node_free(node);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_window),
		cmocka_unit_test(test_start_after_grab),
		cmocka_unit_test(test_start_after_slow_tick),
		cmocka_unit_test(test_start_after_failed_tick),
		cmocka_unit_test(test_start_after_reconnect),
		cmocka_unit_test(test_return_once_held),
		cmocka_unit_test(test_leave_locked),
		cmocka_unit_test(test_end_locked),
		cmocka_unit_test(test_stay_failing),
		cmocka_unit_test(test_listen_refused),
		cmocka_unit_test(test_addresses_untold),
		cmocka_unit_test(test_addresses_not_wanted),
		cmocka_unit_test(test_one_tick),
		cmocka_unit_test(test_ending_is_final),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_patience_when_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
