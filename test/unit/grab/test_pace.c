/*-------------------------------------------------------------------------
 *
 * test_pace.c
 *		How long a grab of few tasks waits after others.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"

#include "grab/pace.h"

/* The number of grabs, each of which takes that time, until one has to wait. */
static int
grabs_at_once(Pace *pace, int64 took_us)
{
	int			n = 0;

	while (n < 1000 && !pace_must_wait(pace))
	{
		pace_spend(pace, took_us);
		n++;
	}
	return n;
}

/* The same in a second, when each goes as soon as it may. */
static int
grabs_in_a_second(Pace *pace, int64 took_us)
{
	int64		until = loop_time + SECONDS_TO_US(1);
	int			n = 0;

	for (; loop_time < until; pass_us(100))
	{
		if (pace_must_wait(pace))
			continue;
		pass_us(took_us);
		pace_spend(pace, took_us);
		n++;
	}
	return n;
}

static void
test_off(void **state)
{
	Pace	   *pace = pace_new(NULL);

	assert_int_equal(grabs_at_once(pace, 1000), 1000);
	pace_free(pace);
}

/* A few tasks start at once, each with a grab of its own; then a stream pays. */
static void
test_stream(void **state)
{
	Pace	   *pace = pace_new(NULL);

	pace_set(pace, true);
	assert_in_range(grabs_at_once(pace, 1000), 4, 8);
	assert_in_range(grabs_in_a_second(pace, 1000), 100, 140);
	assert_in_range(grabs_in_a_second(pace, 300), 350, 450);
	pace_free(pace);
}

/* Tasks that come 20 ms apart never wait, also where a grab takes long. */
static void
test_lone(void **state)
{
	Pace	   *pace = pace_new(NULL);

	pace_set(pace, true);
	for (int i = 0; i < 500; i++)
	{
		assert_false(pace_must_wait(pace));
		pace_spend(pace, i % 2 == 0 ? 1000 : 15000);
		pass_us(20000);
	}
	pace_free(pace);
}

/* Grabs that did not wait, for lack of slots, leave no long debt. */
static void
test_debt(void **state)
{
	Pace	   *pace = pace_new(NULL);

	pace_set(pace, true);
	for (int i = 0; i < 1000; i++)
		pace_spend(pace, 1000);
	assert_true(pace_must_wait(pace));
	pass_us(20001);
	assert_false(pace_must_wait(pace));
	pace_free(pace);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_lone),
		cmocka_unit_test(test_debt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
