/*-------------------------------------------------------------------------
 *
 * test_notify_queue.c
 *		Messages of a key go in order, a failed one holds up its key alone, and nothing is
 *		sent twice by a list that is older than its end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/notify/notify_queue.h"

static int
set(NotifyQueue *queue, const char *text, int64 now_us)
{
	json_t	   *list = json_loads(text, 0, NULL);
	int			nsent = notify_queue_set(queue, list, now_us);

	assert_non_null(list);
	json_decref(list);
	return nsent;
}

#define MESSAGE(id, state, key) "{\"incident\":" #id ",\"state\":\"" state "\",\"repeat\":0,\"key\":\"" key "\"}"

static void
expect_next(NotifyQueue *queue, int64 now_us, const char *name)
{
	int64		delay_us;
	NotifyMessage *message = notify_queue_start(queue, now_us, &delay_us);

	assert_non_null(message);
	assert_string_equal(message->name, name);
}

static int64
expect_none(NotifyQueue *queue, int64 now_us)
{
	int64		delay_us;

	assert_null(notify_queue_start(queue, now_us, &delay_us));
	return delay_us;
}

static void
test_order(void **state)
{
	NotifyQueue *queue = notify_queue_new();

	assert_int_equal(set(queue, "[" MESSAGE(1, "open", "a") "," MESSAGE(1, "resolve", "a") "," MESSAGE(2, "open", "b") "]", 0), 0);
	expect_next(queue, 0, "1/open/0");
	assert_true(notify_queue_is_busy(queue));
	assert_string_equal(notify_queue_under_way(queue)->name, "1/open/0");
	notify_queue_end(queue, false, "HTTP 503", 0);
	assert_string_equal(notify_queue_trouble(queue)->answer, "HTTP 503");

	/* the other key is not held up */
	expect_next(queue, 0, "2/open/0");
	notify_queue_end(queue, true, "HTTP 200", 0);
	assert_int_equal(expect_none(queue, 0), SECONDS_TO_US(1));
	expect_next(queue, SECONDS_TO_US(1), "1/open/0");
	notify_queue_end(queue, true, "HTTP 200", SECONDS_TO_US(1));
	assert_null(notify_queue_trouble(queue));
	expect_next(queue, SECONDS_TO_US(1), "1/resolve/0");
	notify_queue_end(queue, true, "HTTP 200", SECONDS_TO_US(1));
	assert_int_equal(expect_none(queue, SECONDS_TO_US(9)), -1);
	notify_queue_free(queue);
}

/* From 1 s to 5 min, and never later. */
static void
test_delays(void **state)
{
	NotifyQueue *queue = notify_queue_new();
	int64		now_us = 0;
	int64		longest_us = 0;

	set(queue, "[" MESSAGE(1, "open", "a") "]", 0);
	for (int i = 0; i < 20; i++)
	{
		int64		delay_us;

		expect_next(queue, now_us, "1/open/0");
		notify_queue_end(queue, false, "no", now_us);
		delay_us = expect_none(queue, now_us);
		assert_true(delay_us >= SECONDS_TO_US(1) && delay_us <= SECONDS_TO_US(300));
		longest_us = Max(longest_us, delay_us);
		now_us += delay_us;
	}
	assert_true(longest_us >= SECONDS_TO_US(150));
	assert_int_equal(notify_queue_trouble(queue)->nfailures, 20);
	notify_queue_free(queue);
}

static void
test_lists(void **state)
{
	NotifyQueue *queue = notify_queue_new();

	set(queue, "[" MESSAGE(1, "open", "a") "]", 0);
	expect_next(queue, 0, "1/open/0");

	/* a list without it does not forget what is under way */
	set(queue, "[]", 0);
	notify_queue_end(queue, true, "HTTP 200", 0);

	/* a list that is older than its end: its end is told again */
	assert_int_equal(set(queue, "[" MESSAGE(1, "open", "a") "]", 0), 1);
	assert_int_equal(expect_none(queue, 0), -1);

	/* its successor comes, and it is forgotten */
	assert_int_equal(set(queue, "[" MESSAGE(1, "resolve", "a") "]", 0), 0);
	expect_next(queue, 0, "1/resolve/0");
	notify_queue_end(queue, false, "no", 0);
	set(queue, "[]", 0);
	assert_null(notify_queue_next(queue, NULL));
	assert_null(notify_queue_trouble(queue));
	notify_queue_free(queue);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
