/*-------------------------------------------------------------------------
 *
 * test_policy_rules.c
 *		What is to be done with the tasks of one type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "common/pattern.h"
#include "node/policy_rules.h"

static const HandlerConfig handler = {
	.timeout_us = 600,
	.stuck = STUCK_FAIL,
	.retry = {.delay_us = 7, .max_tries = 3}
};

static PolicyRules *rules;

static int
make_rules(void **state)
{
	rules = policy_rules_new();
	return 0;
}

static int
free_rules(void **state)
{
	policy_rules_free(rules);
	return 0;
}

static void
add_timeout(const char *pattern, int64 timeout_us)
{
	PolicyRule	rule = policy_rule(pattern);

	rule.timeout_us = timeout_us;
	policy_rules_add(rules, &rule);
}

static void
add_stuck(const char *pattern, StuckRule stuck)
{
	PolicyRule	rule = policy_rule(pattern);

	rule.stuck = stuck;
	policy_rules_add(rules, &rule);
}

static int64
timeout_of(const char *type)
{
	Policy	   *policy = policy_make(rules, &handler, type);
	int64		timeout_us = policy->timeout_us;

	policy_unref(policy);
	return timeout_us;
}

static StuckRule
stuck_of(const HandlerConfig *config, const char *type)
{
	Policy	   *policy = policy_make(rules, config, type);
	StuckRule	stuck = policy->stuck;

	policy_unref(policy);
	return stuck;
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

/* What no rule says is as the file has it. */
static void
test_handler_alone(void **state)
{
	Policy	   *policy = policy_make(rules, &handler, "A");

	assert_int_equal(policy->timeout_us, 600);
	assert_int_equal(policy->stuck, STUCK_FAIL);
	assert_int_equal(policy->max_tries, 3);
	assert_true(policy->is_taken);
	assert_true(policy->aging_us == 0);
	assert_string_equal(policy->retry,
						"{\"delay\": \"7us\", \"multiplier\": 0, \"max_delay\": \"0us\", "
						"\"max_tries\": 3, \"jitter\": 0}");
	policy_unref(policy);
}

/* In whichever order they come. */
static void
test_most_special_wins(void **state)
{
	add_timeout("PAY|*", 2);
	add_timeout("PAY|CARD", 4);
	add_timeout("*", 1);
	add_timeout("PAY|CA*", 3);
	assert_int_equal(timeout_of("PAY|CARD"), 4);
	assert_int_equal(timeout_of("PAY|CARDS"), 3);
	assert_int_equal(timeout_of("PAY|CASH"), 3);
	assert_int_equal(timeout_of("PAY|BANK"), 2);
	assert_int_equal(timeout_of("PAY"), 1);
}

/* A type that is as long as a fitting beginning is still the more special. */
static void
test_exact_beats_longer(void **state)
{
	add_timeout("PAY", 1);
	add_timeout("PAY*", 2);
	assert_int_equal(timeout_of("PAY"), 1);
	assert_int_equal(timeout_of("PAY|A"), 2);
}

static void
test_sql_handlers_run_again(void **state)
{
	HandlerConfig sql = handler;

	sql.is_atomic = true;
	add_stuck("*", STUCK_ERROR);
	assert_int_equal(stuck_of(&sql, "A"), STUCK_RETRY);
	assert_int_equal(stuck_of(&handler, "A"), STUCK_ERROR);
}

/* Nobody would ask about a task that is to be ignored. */
static void
test_function_and_ignore(void **state)
{
	PolicyRule	rule = policy_rule("ASKED*");

	rule.asks_stuck = true;
	rule.stuck = STUCK_IGNORE;
	policy_rules_add(rules, &rule);
	rule.pattern = "ASKED|RETRY";
	rule.stuck = STUCK_RETRY;
	policy_rules_add(rules, &rule);
	add_stuck("OTHER", STUCK_IGNORE);
	assert_int_equal(stuck_of(&handler, "ASKED"), STUCK_ERROR);
	assert_int_equal(stuck_of(&handler, "ASKED|RETRY"), STUCK_RETRY);
	assert_int_equal(stuck_of(&handler, "OTHER"), STUCK_IGNORE);
}

static void
test_tries(void **state)
{
	static const struct
	{
		const char *pattern;
		int			max_tries;
		int			expected;
	}			cases[] = {{"ASKED", 0, 0}, {"ONCE", 1, 1}, {"OPEN", -1, 3}};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		PolicyRule	rule = policy_rule(cases[i].pattern);
		Policy	   *policy;

		rule.max_tries = cases[i].max_tries;
		policy_rules_add(rules, &rule);
		policy = policy_make(rules, &handler, cases[i].pattern);
		assert_int_equal(policy->max_tries, cases[i].expected);
		policy_unref(policy);
	}
}

static bool
is_taken(const char *type)
{
	Policy	   *policy = policy_make(rules, &handler, type);
	bool		taken = policy->is_taken;

	policy_unref(policy);
	return taken;
}

/* Any pattern pauses, whatever more special ones say. */
static void
test_paused(void **state)
{
	assert_true(is_taken("PAY|CARD"));
	add_timeout("PAY|CARD", 1);
	policy_rules_pause(rules, "PAY|*");
	policy_rules_pause(rules, "MAIL");
	assert_false(is_taken("PAY|CARD"));
	assert_false(is_taken("MAIL"));
	assert_true(is_taken("MAIL|X"));
	assert_true(is_taken("PAY"));
}

static void
test_nodes(void **state)
{
	PolicyRule	rule = policy_rule("A*");

	rule.runs_here = false;
	policy_rules_add(rules, &rule);
	add_timeout("A|B", 1);
	assert_false(is_taken("A"));
	assert_true(is_taken("A|B"));
	assert_true(is_taken("OTHER"));
	policy_rules_pause(rules, "A|B");
	assert_false(is_taken("A|B"));
}

static int64
aging_of(const char *type)
{
	Policy	   *policy = policy_make(rules, &handler, type);
	int64		aging_us = policy->aging_us;

	policy_unref(policy);
	return aging_us;
}

static void
add_aging(const char *pattern, int64 aging_us)
{
	PolicyRule	rule = policy_rule(pattern);

	rule.aging_us = aging_us;
	policy_rules_add(rules, &rule);
}

static void
test_aging(void **state)
{
	add_timeout("Z", 1);
	assert_true(policy_rules_aging_us(rules) == 0);
	assert_true(aging_of("A") == 0);
	add_aging("*", 500);
	add_aging("B*", 300);
	add_aging("B|C", 0);
	assert_true(policy_rules_aging_us(rules) == 300);
	assert_true(aging_of("A") == 500);
	assert_true(aging_of("B") == 300);
	assert_true(aging_of("B|C") == 0);
}

/* A task keeps its policy when the rules are gone. */
static void
test_references(void **state)
{
	PolicyRules *gone = policy_rules_new();
	PolicyRule	rule = policy_rule("A");
	Policy	   *policy;

	rule.timeout_us = 9;
	policy_rules_add(gone, &rule);
	policy = policy_ref(policy_make(gone, &handler, "A"));
	policy_rules_free(gone);
	policy_unref(policy);
	assert_int_equal(policy->timeout_us, 9);
	policy_unref(policy);
	policy_unref(NULL);
}

/* Against the rule itself: among those that fit and set it, the best fit. */
static void
test_random(void **state)
{
	static const char *const patterns[] = {
		"*", "A*", "A", "AB*", "AB", "ABC*", "ABC", "B*", "B", "BA*"
	};
	static const char *const types[] = {"A", "AB", "ABC", "ABCD", "B", "BA", "C"};
	Chance		chance;

	chance_init(&chance, test_seed());
	for (int round = 0; round < 2000; round++)
	{
		PolicyRules *some = policy_rules_new();
		int			set[lengthof(patterns)] = {0};

		for (int i = 0; i < 6; i++)
		{
			int			at = chance_below(&chance, lengthof(patterns));
			PolicyRule	rule = policy_rule(patterns[at]);

			if (set[at] != 0)
				continue;
			set[at] = 1 + i;
			rule.timeout_us = set[at];
			policy_rules_add(some, &rule);
		}
		for (int t = 0; t < (int) lengthof(types); t++)
		{
			Policy	   *policy = policy_make(some, &handler, types[t]);
			int64		expected = handler.timeout_us;
			size_t		best = 0;

			for (int i = 0; i < (int) lengthof(patterns); i++)
			{
				size_t		fit = pattern_fit(patterns[i], types[t]);

				if (set[i] == 0 || fit <= best)
					continue;
				best = fit;
				expected = set[i];
			}
			check_that(4711, round, policy->timeout_us == expected);
			policy_unref(policy);
		}
		policy_rules_free(some);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern_fit),
		cmocka_unit_test_setup_teardown(test_handler_alone, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_most_special_wins, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_exact_beats_longer, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_tries, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_sql_handlers_run_again, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_function_and_ignore, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_paused, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_nodes, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_aging, make_rules, free_rules),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
