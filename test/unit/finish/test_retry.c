/*-------------------------------------------------------------------------
 *
 * test_retry.c
 *		When, if ever, a failed task is tried again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <math.h>

#include "base/chance.h"
#include "check.h"
#include "finish/retry.h"

#define JUST_BELOW_ONE (1.0 - 1e-16)

static const RetryConfig usual = {
	.delay_us = 5000000,
	.multiplier = 2,
	.max_delay_us = INT64CONST(7200000000),
	.max_tries = 20,
	.jitter = 0
};

/* The delay, or -1: no more tries. */
static int64
delay_after(const RetryConfig *retry, int tries, double random)
{
	int64		delay_us;

	return retry_delay(retry, tries, random, &delay_us) ? delay_us : -1;
}

static void
test_backs_off(void **state)
{
	(void) state;
	assert_true(delay_after(&usual, 1, 0) == 5000000);
	assert_true(delay_after(&usual, 2, 0) == 10000000);
	assert_true(delay_after(&usual, 3, 0) == 20000000);
	assert_true(delay_after(&usual, 11, 0) == INT64CONST(5120000000));
	assert_true(delay_after(&usual, 12, 0) == usual.max_delay_us);
	assert_true(delay_after(&usual, 19, 0) == usual.max_delay_us);
}

static void
test_constant_delay(void **state)
{
	RetryConfig retry = usual;

	(void) state;
	retry.multiplier = 1;
	retry.max_tries = PG_INT32_MAX;
	assert_true(delay_after(&retry, 1, 0) == 5000000);
	assert_true(delay_after(&retry, PG_INT32_MAX - 1, 0) == 5000000);
}

static void
test_tries_used_up(void **state)
{
	RetryConfig retry = usual;

	(void) state;
	assert_true(delay_after(&usual, 19, 0) >= 0);
	assert_true(delay_after(&usual, 20, 0) == -1);
	assert_true(delay_after(&usual, 21, 0) == -1);
	assert_true(delay_after(&usual, PG_INT32_MAX, 0) == -1);
	retry.max_tries = 1;
	assert_true(delay_after(&retry, 1, 0) == -1);
}

static void
test_tries_below_one(void **state)
{
	(void) state;
	assert_true(delay_after(&usual, 0, 0) == 5000000);
	assert_true(delay_after(&usual, PG_INT32_MIN, 0) == 5000000);
}

/* Of two that begin to wait at once, seldom do both come back at once. */
static void
test_delays_by_chance(void **state)
{
	int64		before = chance_delay(SECONDS_TO_US(1));
	int			same = 0;

	for (int i = 0; i < 1000; i++)
	{
		int64		delay = chance_delay(SECONDS_TO_US(1));

		assert_in_range(delay, MS_TO_US(500), SECONDS_TO_US(1));
		same += delay == before;
		before = delay;
	}
	assert_in_range(same, 0, 10);
}

static void
test_jitter(void **state)
{
	RetryConfig retry = usual;

	(void) state;
	retry.jitter = 0.1;
	assert_true(delay_after(&retry, 1, 0) == 5000000);
	assert_true(delay_after(&retry, 1, 0.5) == 4750000);
	assert_true(delay_after(&retry, 1, JUST_BELOW_ONE) >= 4500000);
	assert_true(delay_after(&retry, 1, JUST_BELOW_ONE) <= 4500001);
	assert_true(delay_after(&retry, 15, 0.5) ==
				retry.max_delay_us - retry.max_delay_us / 20);
	retry.jitter = 1;
	assert_true(delay_after(&retry, 1, JUST_BELOW_ONE) <= 1);
}

/* Nothing that config_read() would let pass, and still never absurd. */
static void
test_saturates(void **state)
{
	static const double odd[] = {
		-INFINITY, -1, 0, 0.5, 1, 1.5, 1e300, INFINITY, NAN
	};
	static const int64 times[] = {
		PG_INT64_MIN, -1, 0, 1, PG_INT64_MAX - 1, PG_INT64_MAX
	};
	static const int tries[] = {
		PG_INT32_MIN, 0, 1, 2, 63, 64, 5000, PG_INT32_MAX - 1
	};
	size_t		i;

	(void) state;
	for (i = 0; i < 9 * 9 * 9 * 6 * 6 * 8; i++)
	{
		RetryConfig retry;
		int64		delay;

		retry.multiplier = odd[i % 9];
		retry.jitter = odd[i / 9 % 9];
		retry.delay_us = times[i / 729 % 6];
		retry.max_delay_us = times[i / 729 / 6 % 6];
		retry.max_tries = PG_INT32_MAX;
		delay = delay_after(&retry, tries[i / 729 / 36], odd[i / 81 % 9]);
		assert_true(delay >= 0);
		assert_true(delay <= Max(retry.max_delay_us, 0));
	}
}

static void
test_longest(void **state)
{
	RetryConfig retry = usual;

	(void) state;
	retry.max_delay_us = PG_INT64_MAX;
	retry.max_tries = PG_INT32_MAX;
	assert_true(delay_after(&retry, 1000000, 0) == PG_INT64_MAX);
	retry.delay_us = PG_INT64_MAX;
	retry.jitter = 1;
	assert_true(delay_after(&retry, 2, 0) == PG_INT64_MAX);
	assert_true(delay_after(&retry, 2, 1) == 0);
}

/* ---- plans ---- */

/* The delay in milliseconds, or -1: no more tries. */
static int64
plan_after(const char *json, int tries, double random)
{
	RetryPlan  *plan = retry_plan_parse(json);
	int64		delay_us;
	bool		again;

	assert_non_null(plan);
	again = retry_plan_delay(plan, tries, random, &delay_us);
	retry_plan_free(plan);
	return again ? delay_us / 1000 : -1;
}

static int
tries_of(const char *json)
{
	RetryPlan  *plan = retry_plan_parse(json);
	RetryPlan  *copy;
	int			tries;

	assert_non_null(plan);
	copy = retry_plan_copy(plan);
	retry_plan_free(plan);
	tries = retry_plan_tries(copy);
	retry_plan_free(copy);
	return tries;
}

#define BACKOFF(tries) \
	"{\"delay_ms\": 1000, \"multiplier\": 3, \"max_delay_ms\": 20000, \"max_tries\": " tries ", \"jitter\": 0}"
#define LIST "{\"delays_ms\": [5, 70, 0], \"jitter\": 0}"

static void
test_plan_none(void **state)
{
	assert_true(plan_after("[]", 1, 0) == -1);
	assert_int_equal(tries_of("[]"), 1);
}

static void
test_plan_list(void **state)
{
	static const int64 delays[] = {5, 70, 0, -1, -1};

	for (int tries = 1; tries <= 5; tries++)
		assert_true(plan_after("[" LIST "]", tries, 0) == delays[tries - 1]);
	assert_int_equal(tries_of("[" LIST "]"), 4);
	assert_true(plan_after("[" LIST "]", 0, 0) == 5);
	assert_true(plan_after("[" LIST "]", PG_INT32_MIN, 0) == 5);
	assert_true(plan_after("[" LIST "]", PG_INT32_MAX, 0) == -1);
	assert_true(plan_after("[{\"delays_ms\": [100], \"jitter\": 0.5}]", 1, 0.5) == 75);
}

/* One part after the other, each as if it were alone. */
static void
test_plan_chain(void **state)
{
	static const int64 delays[] = {
		1000, 3000, 5, 70, 0, 1000, 3000, 9000, 20000, -1, -1
	};
	const char *chain = "[" BACKOFF("3") ", " LIST ", " BACKOFF("1") ", " BACKOFF("5") "]";

	for (int tries = 1; tries <= 11; tries++)
		assert_true(plan_after(chain, tries, 0) == delays[tries - 1]);
	assert_int_equal(tries_of(chain), 10);
}

static void
test_plan_of_file(void **state)
{
	RetryPlan  *plan = retry_plan_new(&usual);
	int64		delay_us;
	char	   *json;

	for (int tries = 1; tries <= 21; tries++)
	{
		bool		again = retry_plan_delay(plan, tries, 0, &delay_us);

		assert_true(again == (delay_after(&usual, tries, 0) >= 0));
		assert_true(!again || delay_us == delay_after(&usual, tries, 0));
	}
	assert_int_equal(retry_plan_tries(plan), 20);
	retry_plan_free(plan);
	json = retry_json(&usual);
	for (int tries = 1; tries <= 20; tries++)
		assert_true(plan_after(json, tries, 0) * (tries < 20 ? 1000 : 1) == delay_after(&usual, tries, 0));
	pfree(json);
	plan = retry_plan_new(NULL);
	assert_false(retry_plan_delay(plan, 1, 0, &delay_us));
	retry_plan_free(plan);
}

static void
test_plan_saturates(void **state)
{
	const char *longest = "[{\"delay_ms\": 9223372036854775, \"multiplier\": 1e300,"
	" \"max_delay_ms\": 9223372036854775, \"max_tries\": 2147483647, \"jitter\": 0},"
	" {\"delay_ms\": 1, \"multiplier\": 1, \"max_delay_ms\": 1,"
	" \"max_tries\": 2147483647, \"jitter\": 0}]";

	assert_int_equal(tries_of(longest), PG_INT32_MAX);
	assert_true(plan_after(longest, 1, 0) == INT64CONST(9223372036854775));
	assert_true(plan_after(longest, PG_INT32_MAX - 1, 0) == INT64CONST(9223372036854775));
	assert_true(plan_after(longest, PG_INT32_MAX, 0) == 1);
	assert_true(plan_after("[{\"delay_ms\": 1, \"multiplier\": 1, \"max_delay_ms\": 1,"
						   " \"max_tries\": 1e300, \"jitter\": 0}]", 1, 0) == -1);
}

static void
test_plan_refused(void **state)
{
	static const char *const wrong[] = {
		"", "null", "{}", "1", "[1]", "[null]", "[[]]", "[{}]", "[" LIST, "[" LIST ", {}]",
		"[{\"delays_ms\": [], \"jitter\": 0}]", "[{\"delays_ms\": [-1], \"jitter\": 0}]",
		"[{\"delays_ms\": [1.5], \"jitter\": 0}]", "[{\"delays_ms\": [\"1\"], \"jitter\": 0}]",
		"[{\"delays_ms\": 1, \"jitter\": 0}]", "[{\"delays_ms\": [1]}]",
		"[{\"delays_ms\": [9223372036854776], \"jitter\": 0}]",
		"[{\"delay_ms\": 1, \"multiplier\": 1, \"max_delay_ms\": 1, \"max_tries\": 1}]",
		"[{\"delay_ms\": 1, \"multiplier\": \"2\", \"max_delay_ms\": 1, \"max_tries\": 1, \"jitter\": 0}]",
		"[{\"delay_ms\": 1, \"multiplier\": 1, \"max_delay_ms\": 1, \"jitter\": 0}]",
	};

	for (size_t i = 0; i < lengthof(wrong); i++)
		assert_null(retry_plan_parse(wrong[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backs_off),
		cmocka_unit_test(test_constant_delay),
		cmocka_unit_test(test_tries_used_up),
		cmocka_unit_test(test_tries_below_one),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_delays_by_chance),
		cmocka_unit_test(test_saturates),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_plan_none),
		cmocka_unit_test(test_plan_list),
		cmocka_unit_test(test_plan_chain),
		cmocka_unit_test(test_plan_of_file),
		cmocka_unit_test(test_plan_saturates),
		cmocka_unit_test(test_plan_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
