/*-------------------------------------------------------------------------
 *
 * test_cancels.c
 *		When requests to cancel are read again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "calls/calls.h"
#include "node/cancels.h"

static Pg	control = {.is_up = true};
static Cancels *cancels;
static bool is_stopped;			/* the requested task */

Pg *
node_pg(const Node *node)
{
	return &control;
}

int64
node_incarnation(const Node *node)
{
	return 7;
}

static bool
try_to_stop(void *arg, const CancelRequest *request)
{
	return !is_stopped;
}

static int
start(void **state)
{
	is_stopped = false;
	cancels = cancels_open(NULL, NULL, try_to_stop, NULL);
	return 0;
}

static int
end_test(void **state)
{
	cancels_free(cancels);
	return 0;
}

static void
answer_request(void)
{
	static const uint8 id[16];
	PGresult   *result = make_result(CANCELS_WHY + 1);

	put_bytes(result, 0, CANCELS_ID, id, sizeof(id));
	put_int8(result, 0, CANCELS_VERSION, 0);
	put_bool(result, 0, CANCELS_IS_OURS, false);
	put_text(result, 0, CANCELS_WHY, "cancelled");
	answer("take_cancels", result);
}

/* The time until the next look; -1: none comes. */
static int64
next_look_us(void)
{
	int64		since_us = loop_time;
	const LoopTimer *timer = first_timer(PG_INT64_MAX);

	if (timer == NULL)
		return -1;
	pass_us(timer->at - loop_time);
	cancels_pump(cancels);
	return loop_time - since_us;
}

static void
ask(void)
{
	cancels_want(cancels);
	cancels_pump(cancels);
	assert_non_null(find_call("take_cancels"));
}

/* A row may be locked for long, and all sidecars ask. */
static void
test_ever_later_while_locked(void **state)
{
	static const int64 expected_ms[] = {200, 400, 800, 1000, 1000};

	ask();
	for (int i = 0; i < (int) lengthof(expected_ms); i++)
	{
		answer_request();
		assert_int_equal(next_look_us(), MS_TO_US(expected_ms[i]));
		assert_non_null(find_call("take_cancels"));
	}
	is_stopped = true;
	answer_request();
	assert_int_equal(next_look_us(), -1);
}

/* A request that comes meanwhile is not kept waiting. */
static void
test_soon_after_news(void **state)
{
	ask();
	for (int i = 0; i < 5; i++)
	{
		answer_request();
		(void) next_look_us();
	}
	answer_request();
	ask();
	answer_request();
	assert_int_equal(next_look_us(), MS_TO_US(200));
	answer("take_cancels", NULL);
	assert_int_equal(next_look_us(), -1);
}

static void
test_again_after_a_failure(void **state)
{
	ask();
	lose_calls(&control);
	assert_int_equal(next_look_us(), MS_TO_US(200));
	answer("take_cancels", NULL);
	assert_int_equal(next_look_us(), -1);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_ever_later_while_locked),
		UNIT(test_soon_after_news),
		UNIT(test_again_after_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
