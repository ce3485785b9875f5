/*-------------------------------------------------------------------------
 *
 * test_chance.c
 *		Random parts of delays.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "check.h"

/* Two waits that begin at once seldom end at once. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delays_by_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
