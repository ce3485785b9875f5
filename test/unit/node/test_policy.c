/*-------------------------------------------------------------------------
 *
 * test_policy.c
 *		What is to be done with the tasks of one type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "common/pattern.h"
#include "node/policy.h"

static const HandlerConfig handler = {
	.mode = HANDLER_COMMAND,
	.timeout_us = 600,
	.stuck = STUCK_FAIL,
	.retry = {.delay_us = 7, .max_tries = 3}
};

static PolicyRules *rules;

static int
make_rules(void **state)
{
	rules = policy_rules_new("node-1");
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
	assert_int_equal(retry_plan_tries(policy->retry), 3);
	assert_false(policy->asks_retry);
	assert_true(policy->resets_tries);
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
test_each_option_apart(void **state)
{
	add_timeout("*", 1);
	add_stuck("PAY|*", STUCK_RETRY);
	add_timeout("PAY|CARD", 4);
	assert_int_equal(timeout_of("PAY|CARD"), 4);
	assert_int_equal(stuck_of(&handler, "PAY|CARD"), STUCK_RETRY);
	assert_int_equal(timeout_of("PAY|BANK"), 1);
	assert_int_equal(stuck_of(&handler, "MAIL"), STUCK_FAIL);
}

static void
test_sql_handlers_run_again(void **state)
{
	HandlerConfig sql = handler;

	sql.mode = HANDLER_SQL;
	add_stuck("*", STUCK_ERROR);
	assert_int_equal(stuck_of(&sql, "A"), STUCK_RETRY);
	assert_int_equal(stuck_of(&handler, "A"), STUCK_ERROR);
}

/* Nobody would ask about a task that is to be ignored. */
static void
test_function_and_ignore(void **state)
{
	PolicyRule	rule = policy_rule("ASKED*");
	PolicyRule	none = policy_rule("ASKED|NOT");

	add_stuck("*", STUCK_IGNORE);
	rule.asks_stuck = true;
	policy_rules_add(rules, &rule);
	none.asks_stuck = false;
	policy_rules_add(rules, &none);
	assert_int_equal(stuck_of(&handler, "ASKED"), STUCK_ERROR);
	assert_int_equal(stuck_of(&handler, "ASKED|NOT"), STUCK_IGNORE);
	assert_int_equal(stuck_of(&handler, "OTHER"), STUCK_IGNORE);
	add_stuck("ASKED|RETRY", STUCK_RETRY);
	assert_int_equal(stuck_of(&handler, "ASKED|RETRY"), STUCK_RETRY);
}

static void
test_retry(void **state)
{
	PolicyRule	all = policy_rule("*");
	PolicyRule	one = policy_rule("A");
	Policy	   *policy;

	all.retry = retry_plan_parse("[{\"delays_ms\": [1, 2], \"jitter\": 0}]");
	all.asks_retry = true;
	all.resets_tries = false;
	policy_rules_add(rules, &all);
	one.retry = retry_plan_new(NULL);
	one.asks_retry = false;
	policy_rules_add(rules, &one);
	policy = policy_make(rules, &handler, "B");
	assert_int_equal(retry_plan_tries(policy->retry), 3);
	assert_true(policy->asks_retry);
	assert_false(policy->resets_tries);
	policy_unref(policy);
	policy = policy_make(rules, &handler, "A");
	assert_int_equal(retry_plan_tries(policy->retry), 1);
	assert_false(policy->asks_retry);
	assert_false(policy->resets_tries);
	policy_unref(policy);
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

/* NULL-terminated, for the rules to free. */
static char **
names(const char *first, const char *second)
{
	char	  **list = palloc0(3 * sizeof(char *));

	list[0] = pstrdup(first);
	list[1] = second == NULL ? NULL : pstrdup(second);
	return list;
}

static void
test_nodes(void **state)
{
	static const struct
	{
		const char *pattern;
		const char *first;
		const char *second;
		bool		taken;
	}			cases[] = {
		{"A", "node-1", NULL, true},
		{"B", "node-2", NULL, false},
		{"C", "other", "node-*", true},
		{"D", "node-11", "node", false},
		{"E*", "*", NULL, true},
		{"E|F", "node-2", NULL, false},
		{"G*", "node-2", NULL, false},
		{"G|H", "node-1", NULL, true},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		PolicyRule	rule = policy_rule(cases[i].pattern);

		rule.nodes = names(cases[i].first, cases[i].second);
		policy_rules_add(rules, &rule);
	}
	for (size_t i = 0; i < lengthof(cases); i++)
		assert_int_equal(is_taken(cases[i].pattern), cases[i].taken);
	assert_true(is_taken("OTHER"));
	policy_rules_pause(rules, "A");
	assert_false(is_taken("A"));
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
	add_timeout("A", 1);
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
	PolicyRules *gone = policy_rules_new("node-1");
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
		PolicyRules *some = policy_rules_new("node-1");
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
		cmocka_unit_test_setup_teardown(test_each_option_apart, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_sql_handlers_run_again, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_function_and_ignore, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_retry, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_paused, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_nodes, make_rules, free_rules),
		cmocka_unit_test_setup_teardown(test_aging, make_rules, free_rules),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
