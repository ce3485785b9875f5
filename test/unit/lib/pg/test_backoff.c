/*-------------------------------------------------------------------------
 *
 * test_backoff.c
 *		The first connection that gets a session ends the wait of the others.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "check.h"
#include "pg/backoff.h"

#define HERE "dbname=here"
#define THERE "dbname=there"

static Backoff first;
static Backoff second;
static Backoff elsewhere;
static int	attempts;

static void
on_attempt(void *arg)
{
	backoff_end(arg);
	attempts++;
}

static void
set_up_one(Backoff *backoff, const char *conninfo)
{
	backoff_init(backoff, loop_timer_new(NULL, on_attempt, backoff), conninfo);
}

static int
set_up(void **state)
{
	attempts = 0;
	set_up_one(&first, HERE);
	set_up_one(&second, HERE);
	set_up_one(&elsewhere, THERE);
	return 0;
}

static int
tear_down(void **state)
{
	Backoff    *all[] = {&first, &second, &elsewhere};

	for (size_t i = 0; i < lengthof(all); i++)
	{
		backoff_end(all[i]);
		loop_timer_free(all[i]->timer);
	}
	return 0;
}

/* The server is away for so long that the waits are at their longest. */
static void
wait_long(Backoff *backoff)
{
	for (int i = 0; i < 10; i++)
		backoff_wait(backoff, true);
}

static void
test_the_others_try_at_once(void **state)
{
	wait_long(&first);
	wait_long(&second);
	backoff_end(&first);
	backoff_connected(&first);
	pass_us(0);
	assert_int_equal(attempts, 1);
	assert_false(second.waits);
}

static void
test_another_server_tells_nothing(void **state)
{
	wait_long(&first);
	wait_long(&elsewhere);
	backoff_end(&first);
	backoff_connected(&first);
	pass_us(0);
	assert_int_equal(attempts, 0);
	pass_us(BACKOFF_MAX_US);
	assert_int_equal(attempts, 2);
}

/* A session that was had, and failed, may fail again. */
static void
test_a_session_that_failed_waits_on(void **state)
{
	wait_long(&first);
	for (int i = 0; i < 10; i++)
		backoff_wait(&second, false);
	backoff_end(&first);
	backoff_connected(&first);
	pass_us(0);
	assert_int_equal(attempts, 0);
}

/* A session that opens as usual, such as after its rest, ends no wait. */
static void
test_a_session_that_opens_as_usual(void **state)
{
	wait_long(&second);
	backoff_connected(&first);
	pass_us(0);
	assert_int_equal(attempts, 0);
}

static void
test_waits_grow_and_begin_anew(void **state)
{
	backoff_wait(&first, true);
	pass_us(MS_TO_US(50));
	assert_int_equal(attempts, 1);
	wait_long(&first);
	pass_us(BACKOFF_MAX_US / 2 - 1);
	assert_int_equal(attempts, 1);
	pass_us(BACKOFF_MAX_US / 2 + 1);
	assert_int_equal(attempts, 2);
	backoff_reset(&first);
	backoff_wait(&first, true);
	pass_us(MS_TO_US(50));
	assert_int_equal(attempts, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_others_try_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_server_tells_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_session_that_failed_waits_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_session_that_opens_as_usual, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_grow_and_begin_anew, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
