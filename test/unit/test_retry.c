/*-------------------------------------------------------------------------
 *
 * test_retry.c
 *		When, if ever, a failed task is tried again.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include <math.h>

#include "check.h"
#include "retry.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backs_off),
		cmocka_unit_test(test_constant_delay),
		cmocka_unit_test(test_tries_used_up),
		cmocka_unit_test(test_tries_below_one),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_saturates),
		cmocka_unit_test(test_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
