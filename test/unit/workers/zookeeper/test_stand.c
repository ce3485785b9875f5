/*-------------------------------------------------------------------------
 *
 * test_stand.c
 *		A candidate stands only until the time that its sidecar names, and says
 *		until when its word holds, again and again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "workers/zookeeper/candidacy.h"
#include "workers/zookeeper/stand.h"

/* ---- a candidacy that ZooKeeper answers at once ---- */

struct Candidacy
{
	LoopFn		on_change;
	void	   *arg;
	bool		stands;
	Standing	standing;		/* while it stands */
	int			nlooks;
};

static Candidacy candidate;

Candidacy *
candidacy_new(Loop *loop, const ZkSettings *settings, LoopFn on_change, void *arg)
{
	memset(&candidate, 0, sizeof(candidate));
	candidate.on_change = on_change;
	candidate.arg = arg;
	return &candidate;
}

void
candidacy_look(Candidacy *candidacy, bool may_stand)
{
	candidacy->stands = may_stand;
	candidacy->nlooks++;
	candidacy->on_change(candidacy->arg);
}

Standing
candidacy_standing(const Candidacy *candidacy, int64 *until_us)
{
	*until_us = SECONDS_TO_US(50);
	return candidacy->stands ? candidacy->standing : STANDING_UNKNOWN;
}

void
candidacy_free(Candidacy *candidacy)
{
	candidacy->stands = false;
}

/* ---- the sidecar ---- */

static StringInfoData words;
static Stand *stand;

static void
set(int64 session_us)
{
	ZkSettings *settings = palloc0(sizeof(ZkSettings));

	settings->node = pstrdup("a");
	settings->session_us = session_us;
	stand_set(stand, settings);
}

static void
begin(int64 session_us)
{
	loop_time = SECONDS_TO_US(10);
	initStringInfo(&words);
	stand = stand_new(NULL, &words);
	set(session_us);
	pass_us(0);
	assert_false(candidate.stands);
}

static void
end(void)
{
	stand_free(stand);
	pfree(words.data);
}

static void
expect_words(const char *expected)
{
	assert_string_equal(words.data, expected);
	resetStringInfo(&words);
}

static void
test_permission(void **state)
{
	begin(SECONDS_TO_US(60));
	stand_take(stand, "{\"stand_until_ms\":15000}");
	pass_us(0);
	assert_true(candidate.stands);
	pass_us(SECONDS_TO_US(5) - 1);
	assert_true(candidate.stands);
	pass_us(1);
	assert_false(candidate.stands);
	stand_take(stand, "{\"stand_until_ms\":30000}");
	pass_us(0);
	assert_true(candidate.stands);
	set(SECONDS_TO_US(60));		/* the log only */
	assert_true(candidate.stands);
	stand_take(stand, "{\"stand_until_ms\":0}");
	pass_us(0);
	assert_false(candidate.stands);
	stand_take(stand, "{\"something\":1}");
	stand_take(stand, "not JSON");
	pass_us(0);
	assert_false(candidate.stands);
	end();
}

static void
test_words(void **state)
{
	begin(SECONDS_TO_US(60));
	expect_words("{\"leads\":null}\n");
	stand_take(stand, "{\"stand_until_ms\":100000}");
	pass_us(0);
	expect_words("{\"leads\":null}\n");
	candidate.standing = STANDING_BEHIND;
	candidate.on_change(candidate.arg);
	candidate.on_change(candidate.arg);
	expect_words("{\"leads\":false,\"until_ms\":50000}\n");
	candidate.standing = STANDING_FIRST;
	candidate.on_change(candidate.arg);
	expect_words("{\"leads\":true,\"until_ms\":50000}\n");
	stand_take(stand, "{\"stand_until_ms\":0}");
	pass_us(0);
	expect_words("{\"leads\":null}\n");
	end();
}

/* A word at least every 2 s or sixth of the session; none for a sidecar that reads nothing. */
static void
test_looks(void **state)
{
	begin(SECONDS_TO_US(60));
	resetStringInfo(&words);
	pass_us(SECONDS_TO_US(2));
	expect_words("{\"leads\":null}\n");
	pass_us(SECONDS_TO_US(600));
	expect_words("{\"leads\":null}\n");
	end();
	begin(MS_TO_US(600));
	candidate.nlooks = 0;
	pass_us(SECONDS_TO_US(1));
	assert_int_equal(candidate.nlooks, 10);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permission),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
