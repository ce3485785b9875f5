/*-------------------------------------------------------------------------
 *
 * test_task_clock.c
 *		The database's clock, as each node of a process has been told.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"

#include "node/task_clock.h"

/* Each clock goes on from what it was told, by the loop's clock. */
static void
test_two_clocks(void **state)
{
	TaskClock  *one = task_clock_new(NULL);
	TaskClock  *two = task_clock_new(NULL);

	assert_int_equal(task_clock_tell(one, SECONDS_TO_US(1000)), 0);
	assert_int_equal(task_clock_tell(two, SECONDS_TO_US(5000)), 0);
	pass_us(MS_TO_US(250));
	assert_int_equal(task_clock_us(one), SECONDS_TO_US(1000) + MS_TO_US(250));
	assert_int_equal(task_clock_us(two), SECONDS_TO_US(5000) + MS_TO_US(250));
	task_clock_free(one);
	task_clock_free(two);
}

/* The answer to each further time is how far the database's clock has jumped. */
static void
test_step(void **state)
{
	TaskClock  *clock = task_clock_new(NULL);

	(void) task_clock_tell(clock, SECONDS_TO_US(1000));
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(task_clock_tell(clock, SECONDS_TO_US(1001)), 0);
	assert_int_equal(task_clock_tell(clock, SECONDS_TO_US(901)), SECONDS_TO_US(-100));
	assert_int_equal(task_clock_us(clock), SECONDS_TO_US(901));
	task_clock_free(clock);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_clocks),
		cmocka_unit_test(test_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
