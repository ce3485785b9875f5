/*-------------------------------------------------------------------------
 *
 * test_policies.c
 *		The configuration in the database: read, and taken over when it is new.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "node/policies.h"
#include "calls/calls.h"
#include "slots/limit_reader.h"
#include "slots/slots.h"

/* However long the last reading took. */
#define READ_PAUSE_US SECONDS_TO_US(6)

static Pg	control = {.is_up = true};
static int	nchanges;
static int	nsame;
static int	nmissed;
static int	nwoken;
static Policies *policies;

Pg *
node_pg(const Node *node)
{
	return &control;
}

static void
count(void *arg)
{
	++*(int *) arg;
}

static void
count_wake(SlotWaiter *waiter)
{
	nwoken++;
}

static char *types[] = {"A*"};
static char *buckets[] = {"default"};
static HandlerConfig handler = {.types = types, .ntypes = 1};
static HandlerConfig *handlers[] = {&handler, NULL};
static Config config = {
	.node = "a",
	.buckets = buckets,
	.nbuckets = 1,
	.handlers = handlers,
	.nhandlers = 1
};

static int
start(void **state)
{
	nchanges = nsame = nmissed = nwoken = 0;
	policies = policies_open(NULL, &config, NULL);
	policies_on(policies, POLICIES_CHANGED, count, &nchanges);
	policies_on(policies, POLICIES_SAME, count, &nsame);
	return 0;
}

static int
end_test(void **state)
{
	policies_free(policies);
	return 0;
}

/* The database says that tasks of this pattern, or bucket, are not to be started. */
static void
read_pause(const char *kind, const char *name)
{
	PGresult   *result = make_result(POLICIES_CONCURRENCY + 1);

	put_text(result, 0, POLICIES_KIND, kind);
	put_text(result, 0, POLICIES_NAME, name);
	put_bool(result, 0, POLICIES_RUNS_HERE, false);
	pass_us(READ_PAUSE_US);
	policies_read(policies);
	answer("policies", result);
}

static void
read_nothing(void)
{
	pass_us(READ_PAUSE_US);
	policies_read(policies);
	answer("policies", NULL);
}

static void
test_changes(void **state)
{
	read_nothing();
	assert_true(policies_are_read(policies));
	assert_int_equal(nchanges, 1);
	read_pause("policy", "A");
	assert_int_equal(nchanges, 2);
	assert_false(policies_take(policies, 0, "A"));
	read_pause("policy", "AB");
	assert_int_equal(nchanges, 3);
	assert_true(policies_take(policies, 0, "A"));
	assert_false(policies_take(policies, 0, "AB"));
	read_pause("bucket", "default");
	assert_int_equal(nchanges, 4);
	assert_false(policies_take(policies, 0, "A"));
	read_nothing();
	assert_int_equal(nchanges, 5);
	assert_true(policies_take(policies, 0, "A"));
}

/* How often they are read when somebody notifies all the time, in 10 s. */
static int
count_reads(int64 each_takes_us)
{
	int			n = 0;

	for (int64 end = loop_now_us(NULL) + SECONDS_TO_US(10); loop_now_us(NULL) < end;)
	{
		policies_read(policies);
		pass_us(MS_TO_US(1));
		if (find_call("policies") == NULL)
			continue;
		pass_us(each_takes_us);
		answer("policies", NULL);
		n++;
	}
	return n;
}

static void
test_many_notifications(void **state)
{
	assert_in_range(count_reads(0), 95, 101);
	assert_in_range(count_reads(MS_TO_US(58)), 6, 10);
	assert_in_range(count_reads(SECONDS_TO_US(1)), 2, 3);
}

static void
test_no_change(void **state)
{
	read_pause("policy", "A");
	for (int i = 0; i < 3; i++)
		read_pause("policy", "A");
	assert_int_equal(nchanges, 1);
	assert_int_equal(nsame, 3);
	assert_false(policies_take(policies, 0, "A"));
	read_nothing();
	read_nothing();
	assert_int_equal(nchanges, 2);
}

static PGresult *
limit_of(int max)
{
	PGresult   *result = make_result(LIMITS_BURST + 1);

	put_text(result, 0, LIMITS_PATTERN, "A");
	put_bool(result, 0, LIMITS_IS_SHARED, false);
	put_int4(result, 0, LIMITS_CONCURRENCY, max);
	for (int i = LIMITS_STRETCH; i <= LIMITS_BURST; i++)
		put_int4(result, 0, i, 0);
	return result;
}

static void
read_limit(int max)
{
	read_nothing();
	answer("read_limits", limit_of(max));
}

static void
test_limits(void **state)
{
	Limit	   *node = limit_new("node", 0, NULL);
	TypeLimits *limits = type_limits_new(node);
	LimitReader *rules = limit_reader_open(policies, NULL, limits, count, &nmissed);
	Limit	   *leaf = type_limits_leaf(limits, "A", NULL, NULL);
	SlotWaiter	waiter = {.wants = leaf, .wake = count_wake};

	read_limit(0);
	slots_wait(slots_book(leaf, 5), &waiter);
	read_limit(0);
	assert_int_equal(nwoken, 0);
	/* a limit that is not known here has to be looked for all the same */
	limit_reader_miss(rules);
	pass_us(READ_PAUSE_US);
	answer("policies", NULL);
	answer("read_limits", limit_of(0));
	assert_int_equal(nmissed, 1);
	read_limit(1);
	assert_int_equal(nwoken, 1);
	assert_null(slots_book(leaf, 5));
	slots_cancel(leaf);
	limit_release(leaf);
	limit_reader_free(rules);
	type_limits_free(limits);
	limit_free(node);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_changes),
		UNIT(test_many_notifications),
		UNIT(test_no_change),
		UNIT(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
