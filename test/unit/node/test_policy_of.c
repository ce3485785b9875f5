/*-------------------------------------------------------------------------
 *
 * test_policy_of.c
 *		The policy of one type, from the rows of the database and the file.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "common/pattern.h"
#include "node/policies.h"
#include "calls/calls.h"

/* However long the last reading took. */
#define READ_PAUSE_US SECONDS_TO_US(6)

static Pg	control = {.is_up = true};

Pg *
node_pg(const Node *node)
{
	return &control;
}

static char *types[] = {"*"};
static char *buckets[] = {"default"};
static HandlerConfig handler = {
	.types = types,
	.ntypes = 1,
	.timeout_us = MS_TO_US(600),
	.stuck = STUCK_FAIL,
	.retry = {.delay_us = 7, .max_tries = 3}
};
static HandlerConfig *handlers[] = {&handler, NULL};
static Config config = {
	.node = "a",
	.buckets = buckets,
	.nbuckets = 1,
	.handlers = handlers,
	.nhandlers = 1
};

static Policies *policies;
static PGresult *rows;			/* that the next reading brings */

static int
start(void **state)
{
	policies = policies_open(NULL, &config, NULL);
	rows = make_result(POLICIES_CONCURRENCY + 1);
	handler.is_atomic = false;
	return 0;
}

static int
end_test(void **state)
{
	PQclear(rows);
	policies_free(policies);
	return 0;
}

/* A row that sets nothing; returns its number. */
static int
put_rule(const char *pattern)
{
	int			row = PQntuples(rows);

	put_text(rows, row, POLICIES_KIND, "policy");
	put_text(rows, row, POLICIES_NAME, pattern);
	put_bool(rows, row, POLICIES_RUNS_HERE, true);
	return row;
}

static void
put_timeout(const char *pattern, int ms)
{
	put_int8(rows, put_rule(pattern), POLICIES_TIMEOUT_MS, ms);
}

static void
put_stuck(const char *pattern, const char *stuck)
{
	put_text(rows, put_rule(pattern), POLICIES_STUCK, stuck);
}

static void
put_aging(const char *pattern, int ms)
{
	put_int8(rows, put_rule(pattern), POLICIES_AGING_MS, ms);
}

static void
read_rows(void)
{
	pass_us(READ_PAUSE_US);
	policies_read(policies);
	answer("policies", rows);
	rows = make_result(POLICIES_CONCURRENCY + 1);
}

static int64
timeout_of(const char *type)
{
	return policies_of(policies, type)->timeout_us / 1000;
}

static StuckRule
stuck_of(const char *type)
{
	return policies_of(policies, type)->stuck;
}

static void
test_pattern_fit(void **state)
{
	assert_true(pattern_fit("A", "A") == PATTERN_EXACT);
	assert_true(pattern_fit("A|*", "A|B") == 3);
	assert_true(pattern_fit("A|*", "A|") == 3);
	assert_true(pattern_fit("*", "A") == 1);
	assert_true(pattern_fit("*", "") == 1);
	assert_true(pattern_fit("A", "AB") == 0);
	assert_true(pattern_fit("AB", "A") == 0);
	assert_true(pattern_fit("AB*", "A") == 0);
	assert_true(pattern_fit("a*", "A") == 0);
	assert_true(pattern_fit("", "A") == 0);
}

/* A row that leaves an option open, or no row at all: the file decides. */
static void
test_handler_alone(void **state)
{
	for (int round = 0; round < 2; round++)
	{
		Policy	   *policy = policies_of(policies, "A");

		assert_int_equal(policy->timeout_us, MS_TO_US(600));
		assert_int_equal(policy->stuck, STUCK_FAIL);
		assert_int_equal(policy->max_tries, 3);
		assert_true(policy->is_taken);
		assert_true(policy->aging_us == 0);
		assert_string_equal(policy->retry,
							"{\"delay\": \"7us\", \"multiplier\": 0, \"max_delay\": \"0us\", "
							"\"max_tries\": 3, \"jitter\": 0}");
		put_rule("*");
		read_rows();
	}
}

/* The order of the rows does not matter. */
static void
test_most_special_wins(void **state)
{
	put_timeout("PAY|*", 2);
	put_timeout("PAY|CARD", 4);
	put_timeout("*", 1);
	put_timeout("PAY|CA*", 3);
	read_rows();
	assert_int_equal(timeout_of("PAY|CARD"), 4);
	assert_int_equal(timeout_of("PAY|CARDS"), 3);
	assert_int_equal(timeout_of("PAY|CASH"), 3);
	assert_int_equal(timeout_of("PAY|BANK"), 2);
	assert_int_equal(timeout_of("PAY"), 1);
}

/* The type itself is more special than a beginning of the same length. */
static void
test_exact_beats_longer(void **state)
{
	put_timeout("PAY", 1);
	put_timeout("PAY*", 2);
	read_rows();
	assert_int_equal(timeout_of("PAY"), 1);
	assert_int_equal(timeout_of("PAY|A"), 2);
}

/* A bucket may have the name of a type. */
static void
test_buckets_are_no_patterns(void **state)
{
	put_text(rows, 0, POLICIES_KIND, "bucket");
	put_text(rows, 0, POLICIES_NAME, "A");
	read_rows();
	assert_true(policies_of(policies, "A")->is_taken);
}

static void
test_sql_handlers_run_again(void **state)
{
	put_stuck("*", "error");
	read_rows();
	assert_int_equal(stuck_of("A"), STUCK_ERROR);
	handler.is_atomic = true;
	assert_int_equal(stuck_of("B"), STUCK_RETRY);
}

/* An ignored task is never looked at, so its function would never be asked. */
static void
test_function_and_ignore(void **state)
{
	int			row = put_rule("ASKED*");

	put_bool(rows, row, POLICIES_ASKS_STUCK, true);
	put_text(rows, row, POLICIES_STUCK, "ignore");
	row = put_rule("ASKED|RETRY");
	put_bool(rows, row, POLICIES_ASKS_STUCK, true);
	put_text(rows, row, POLICIES_STUCK, "retry");
	put_stuck("OTHER", "ignore");
	read_rows();
	assert_int_equal(stuck_of("ASKED"), STUCK_ERROR);
	assert_int_equal(stuck_of("ASKED|RETRY"), STUCK_RETRY);
	assert_int_equal(stuck_of("OTHER"), STUCK_IGNORE);
}

static void
test_tries(void **state)
{
	put_int4(rows, put_rule("ASKED"), POLICIES_MAX_TRIES, 0);
	put_int4(rows, put_rule("ONCE"), POLICIES_MAX_TRIES, 1);
	read_rows();
	assert_int_equal(policies_of(policies, "ASKED")->max_tries, 0);
	assert_int_equal(policies_of(policies, "ONCE")->max_tries, 1);
	assert_int_equal(policies_of(policies, "OPEN")->max_tries, 3);
}

static void
test_not_here(void **state)
{
	put_bool(rows, put_rule("A*"), POLICIES_RUNS_HERE, false);
	put_timeout("A|B", 1);
	read_rows();
	assert_false(policies_take(policies, 0, "A"));
	assert_true(policies_take(policies, 0, "A|B"));
	assert_true(policies_take(policies, 0, "OTHER"));
}

static void
test_aging(void **state)
{
	put_timeout("Z", 1);
	read_rows();
	assert_true(policies_aging_us(policies) == 0);
	assert_true(policies_of(policies, "A")->aging_us == 0);
	put_aging("*", 500);
	put_aging("B*", 300);
	put_aging("B|C", 0);
	read_rows();
	assert_true(policies_aging_us(policies) == MS_TO_US(300));
	assert_true(policies_of(policies, "A")->aging_us == MS_TO_US(500));
	assert_true(policies_of(policies, "B")->aging_us == MS_TO_US(300));
	assert_true(policies_of(policies, "B|C")->aging_us == 0);
}

/* A task keeps its policy when another one is in force. */
static void
test_references(void **state)
{
	Policy	   *policy;

	put_timeout("A", 9);
	read_rows();
	policy = policy_ref(policies_of(policies, "A"));
	put_timeout("A", 10);
	read_rows();
	assert_int_equal(policy->timeout_us, MS_TO_US(9));
	assert_int_equal(timeout_of("A"), 10);
	policy_unref(policy);
	policy_unref(NULL);
}

/* Tests against the rule itself: the best fit among the rows. */
static void
test_random(void **state)
{
	static const char *const patterns[] = {
		"*", "A*", "A", "AB*", "AB", "ABC*", "ABC", "B*", "B", "BA*"
	};
	static const char *const tried[] = {"A", "AB", "ABC", "ABCD", "B", "BA", "C"};
	Chance		chance;

	chance_init(&chance, test_seed());
	for (int round = 0; round < 2000; round++)
	{
		int			set[lengthof(patterns)] = {0};

		for (int i = 0; i < 6; i++)
		{
			int			at = chance_below(&chance, lengthof(patterns));

			if (set[at] != 0)
				continue;
			set[at] = 1 + i;
			put_timeout(patterns[at], set[at]);
		}
		read_rows();
		for (int t = 0; t < (int) lengthof(tried); t++)
		{
			int64		expected = 600;
			size_t		best = 0;

			for (int i = 0; i < (int) lengthof(patterns); i++)
			{
				size_t		fit = pattern_fit(patterns[i], tried[t]);

				if (set[i] == 0 || fit <= best)
					continue;
				best = fit;
				expected = set[i];
			}
			check_that(4711, round, timeout_of(tried[t]) == expected);
		}
	}
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern_fit),
		UNIT(test_handler_alone),
		UNIT(test_most_special_wins),
		UNIT(test_exact_beats_longer),
		UNIT(test_buckets_are_no_patterns),
		UNIT(test_tries),
		UNIT(test_sql_handlers_run_again),
		UNIT(test_function_and_ignore),
		UNIT(test_not_here),
		UNIT(test_aging),
		UNIT(test_references),
		UNIT(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
