/*-------------------------------------------------------------------------
 *
 * test_node.c
 *		The end of a node: told to the database, and over in time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "node/node.h"
#include "pg/calls.h"

static int	nended;

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

static const NodeEvents events = {ignore, ignore, ignore_leader, ignore, ignore,
ignore_look, ignore};

static Config config = {.node = "a", .lease_us = SECONDS_TO_US(60)};

/* Its first tick is under way. */
static Node *
begin_node(void)
{
	Node	   *node = node_open(NULL, &config, &events, NULL);
	PGresult   *started = make_result(START_REFUSAL + 1);

	nended = 0;
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
	return result;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_patience_when_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
