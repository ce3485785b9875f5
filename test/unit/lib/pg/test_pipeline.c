/*-------------------------------------------------------------------------
 *
 * test_pipeline.c
 *		Calls are sent when only the server can have news of them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "pg/pipeline.h"

static int	unsent;				/* as PQflush() returns it: -1 is a failure */
static bool awaits_answer;

int
PQflush(PGconn *conn)
{
	(void) conn;
	return unsent;
}

int
PQisBusy(PGconn *conn)
{
	(void) conn;
	return awaits_answer;
}

static void
test_sent_calls_await_an_answer(void **state)
{
	unsent = 0;
	awaits_answer = true;
	assert_true(pipeline_is_sent(NULL));
}

static void
test_unsent_and_broken_calls_are_not_sent(void **state)
{
	awaits_answer = true;
	unsent = 1;
	assert_false(pipeline_is_sent(NULL));
	unsent = -1;
	assert_false(pipeline_is_sent(NULL));
}

/* libpq has read it while the socket was full; no event tells of it. */
static void
test_an_answer_at_hand_is_news(void **state)
{
	unsent = 0;
	awaits_answer = false;
	assert_false(pipeline_is_sent(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent_calls_await_an_answer),
		cmocka_unit_test(test_unsent_and_broken_calls_are_not_sent),
		cmocka_unit_test(test_an_answer_at_hand_is_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
