/*-------------------------------------------------------------------------
 *
 * test_web_silence.c
 *		The session that asks whether any sidecar counts tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "notify/notify.h"
#include "web/web_silence.h"

/* ---- the helper, in place of notify.o ---- */

static int	times_asked;

Notify *
notify_open(Loop *loop, const NotifyConfig *config, const NotifyOwner *owner)
{
	return NULL;
}

void
notify_reload(Notify *notify, const NotifyConfig *config)
{
}

void
notify_ask(Notify *notify)
{
	times_asked++;
}

void
notify_pump(Notify *notify)
{
}

void
notify_stop(Notify *notify)
{
}

bool
notify_is_down(const Notify *notify)
{
	return true;
}

void
notify_free(Notify *notify)
{
}

/* ---- the tests ---- */

static WebSilence *silence;

static int
set_up(void **state)
{
	static const WebConfig config = {.postgres = ""};

	times_asked = 0;
	silence = web_silence_open(NULL, &config);
	come_up(last_pg);
	return 0;
}

static int
tear_down(void **state)
{
	web_silence_close(silence);
	return 0;
}

static void
say_silent(bool is_silent)
{
	PGresult   *result = make_result(1);

	put_bool(result, 0, 0, is_silent);
	answer("judge_silence", result);
}

/* Such a session might wait for an answer without an end. */
static void
test_session_without_a_limit_is_given_up(void **state)
{
	end_call(find_call("limit_silence"), PG_FAILED, NULL);
	assert_false(pg_is_up(last_pg));
	come_up(last_pg);
	answer("limit_silence", NULL);
	assert_true(pg_is_up(last_pg));
}

static void
test_lost_session_is_not_given_up_again(void **state)
{
	end_call(find_call("limit_silence"), PG_LOST, NULL);
	assert_true(pg_is_up(last_pg));
}

static void
test_messages_are_wanted_while_nobody_counts(void **state)
{
	answer("limit_silence", NULL);
	assert_null(find_call("judge_silence"));
	pass_us(SECONDS_TO_US(15));
	say_silent(false);
	assert_int_equal(times_asked, 0);
	pass_us(SECONDS_TO_US(14));
	assert_null(find_call("judge_silence"));
	pass_us(SECONDS_TO_US(1));
	say_silent(true);
	assert_int_equal(times_asked, 1);
	pass_us(SECONDS_TO_US(5));
	say_silent(true);
	assert_int_equal(times_asked, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_session_without_a_limit_is_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_session_is_not_given_up_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_messages_are_wanted_while_nobody_counts, set_up, tear_down)
	};

	return cmocka_run_group_tests_name("web silence", tests, NULL, NULL);
}
