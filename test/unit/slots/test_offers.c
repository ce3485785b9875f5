/*-------------------------------------------------------------------------
 *
 * test_offers.c
 *		Freed slots on their way to the database, and turns from there.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "calls/calls.h"
#include "slots/offers.h"
#include "slots/slots.h"

static Limits *all;
static Limit *node;
static TypeLimits *limits;
static Limit *leaf;
static Offers *offers;

int64
node_incarnation(const Node *incarnation_of)
{
	return 7;
}

static int64
clock_us(void *arg)
{
	return 1;
}

static int
start(void **state)
{
	static const Config config;
	const LimitRule rule = {.pattern = "A", .is_shared = true, .terms = {.max = 1}};

	all = limits_new(clock_us, NULL);
	node = limit_new_root(all, "node", 0);
	limits = type_limits_new(node);
	type_limits_set(limits, &rule, 1);
	leaf = type_limits_leaf(limits, "A", NULL, NULL);
	offers = offers_open(NULL, &config, NULL, all, limits);
	come_up(last_pg);
	return 0;
}

static void
ignore_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
}

static int
end_test(void **state)
{
	offers_free(offers);
	limits_take_freed(all, ignore_freed, NULL);
	limit_release(leaf);
	type_limits_free(limits);
	limit_free(node);
	limits_free(all);
	return 0;
}

static void
use_slot(void)
{
	assert_null(slots_book(leaf, 5));
	slots_start(leaf);
	slots_free(leaf);
}

/* Bytes of an array on the wire before its elements, each of which has a length. */
#define ARRAY_HEADER (5 * (int) sizeof(int32))

/* How many freed slots the call under way reports for how many limits. */
static void
check_sent(int noffers, int freed)
{
	const FakeCall *call = find_call("offer_slots");

	assert_non_null(call);
	assert_int_equal((call->sizes[1] - ARRAY_HEADER) / (int) (sizeof(int32) + sizeof(int64)), noffers);
	assert_int_equal(call->int8s[1], freed);
}

/* turns below 0: the limit is busy. */
static void
answer_turns(int n, int turns)
{
	PGresult   *result = make_result(OFFER_TURNS + 1);

	for (int i = 0; i < n; i++)
	{
		put_text(result, i, OFFER_NAME, "A");
		if (turns >= 0)
			put_int4(result, i, OFFER_TURNS, turns);
	}
	answer("offer_slots", result);
}

/* Slots that are freed while two calls are under way go with the next one. */
static void
test_two_calls_at_a_time(void **state)
{
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	for (int i = 0; i < 2; i++)
	{
		use_slot();
		offers_pump(offers);
		check_sent(1, 1);
	}
	use_slot();
	use_slot();
	offers_pump(offers);
	assert_int_equal(pg_in_flight(last_pg), 2);
	answer_turns(1, 1);
	answer_turns(1, 1);
	offers_pump(offers);
	check_sent(1, 2);
	answer_turns(1, 2);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
}

static void
test_busy_is_asked_again(void **state)
{
	use_slot();
	offers_pump(offers);
	answer_turns(1, -1);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	use_slot();
	pass_us(MS_TO_US(2));
	offers_pump(offers);
	check_sent(2, 1);
	answer_turns(2, 1);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
}

/* An offer is a hint: it may get lost. */
static void
test_lost(void **state)
{
	use_slot();
	offers_pump(offers);
	lose_calls(last_pg);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	use_slot();
	offers_pump(offers);
	check_sent(1, 1);
}

static void
test_told_for_others(void **state)
{
	offers_read(offers, "8 1 A");
	offers_read(offers, "7 0 A");
	offers_read(offers, "7 1 ");
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	offers_read(offers, "7 1 A");
	offers_read(offers, "7 3 unknown");
	offers_pump(offers);
	check_sent(2, 3);
}

static void
test_flood_of_notifications(void **state)
{
	for (int i = 0; i < 100000; i++)
		offers_read(offers, "7 1 unknown");
	use_slot();
	offers_pump(offers);
	check_sent(1001, 1);
}

static void
do_nothing(SlotWaiter *waiter)
{
}

/* The limit of the node has no room for the task that has the turn. */
static void
test_turn_that_another_limit_refuses(void **state)
{
	SlotWaiter	task = {.wake = do_nothing, .wants = leaf};
	Limit	   *shared = type_limits_find_shared(limits, "A");

	limit_set_max(node, 1);
	limit_book(node);
	limit_refuse(shared, 0);
	slots_wait(shared, &task);
	offers_read(offers, "7 1 A");
	assert_null(task.limit);
	assert_ptr_equal(slots_book(leaf, 5), node);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	slots_wait(node, &task);
	offers_pump(offers);
	check_sent(1, 1);
	slots_unwait(&task);
	limit_end_grab(node);
	limit_free_here(node);
	limit_forget_shared(node);
}

#define TASKS 4

/*
 * The node is told of a slot while it grabs the first task, and has no room for the next
 * two.  The last one waits for the limit of the cluster.
 */
static void
be_told_during_a_grab(SlotWaiter *tasks)
{
	const LimitRule rule = {.pattern = "A", .is_shared = true, .terms = {.max = 2}};
	Limit	   *shared = type_limits_find_shared(limits, "A");

	type_limits_set(limits, &rule, 1);
	limit_set_max(node, 1);
	limit_refuse(shared, 0);
	for (int i = 0; i < TASKS; i++)
	{
		tasks[i] = (SlotWaiter)
		{
			.wake = do_nothing, .wants = leaf, .sequence = i
		};
		slots_wait(shared, &tasks[i]);
	}
	assert_true(limit_offer(shared, 1, TURNS_ANSWERED));
	assert_null(slots_book(leaf, 5));
	assert_ptr_equal(slots_book(leaf, 5), node);
	slots_wait(node, &tasks[1]);
	offers_read(offers, "7 1 A");
	assert_null(tasks[2].limit);
	slots_wait(node, &tasks[2]);
	assert_ptr_equal(tasks[3].limit, shared);
}

/* The grab opens the limit, and the last task finds no room at the node either. */
static void
test_turn_during_a_grab(void **state)
{
	SlotWaiter	tasks[TASKS];

	be_told_during_a_grab(tasks);
	slots_start(leaf);
	slots_grant(leaf);
	assert_null(tasks[3].limit);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	slots_wait(node, &tasks[3]);
	offers_pump(offers);
	check_sent(1, 1);
	for (int i = 1; i < TASKS; i++)
		slots_unwait(&tasks[i]);
	slots_free(leaf);
}

/* A task that starts since the limit is open uses the turn, which goes to nobody else. */
static void
test_turn_used_after_a_grab(void **state)
{
	SlotWaiter	tasks[TASKS];

	be_told_during_a_grab(tasks);
	slots_start(leaf);
	slots_grant(leaf);
	for (int i = 1; i < TASKS - 1; i++)
		slots_unwait(&tasks[i]);
	limit_set_max(node, 2);
	assert_null(slots_book(leaf, 5));
	slots_start(leaf);
	slots_wait(node, &tasks[3]);
	offers_pump(offers);
	assert_null(find_call("offer_slots"));
	slots_unwait(&tasks[3]);
	slots_free(leaf);
	slots_free(leaf);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_two_calls_at_a_time),
		UNIT(test_busy_is_asked_again),
		UNIT(test_lost),
		UNIT(test_told_for_others),
		UNIT(test_flood_of_notifications),
		UNIT(test_turn_that_another_limit_refuses),
		UNIT(test_turn_during_a_grab),
		UNIT(test_turn_used_after_a_grab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
