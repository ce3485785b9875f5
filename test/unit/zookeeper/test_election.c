/*-------------------------------------------------------------------------
 *
 * test_election.c
 *		A claim of the lead lasts no longer than the word of the helper, and the
 *		helper stands no longer than the node's lease.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "helper/helper.h"
#include "zookeeper/election.h"

#define FALLBACK_S 30
#define SESSION_S 12
#define LOOK_S 2				/* a sixth of it */

/* ---- a node ---- */

static bool node_lives;
static int64 lease_end_us;
static NodeClaimFn ask_claim;
static void *claim_arg;
static int	nlooks;

bool
node_is_alive(const Node *node)
{
	return node_lives;
}

int64
node_lease_end_us(const Node *node)
{
	return lease_end_us;
}

void
node_look(Node *node)
{
	nlooks++;
}

void
node_on_claim(Node *node, NodeClaimFn fn, void *arg)
{
	ask_claim = fn;
	claim_arg = arg;
}

/* ---- a helper ---- */

static const HelperProgram *program;
static bool is_ready;
static int	nstarts;
static char *sent;				/* the last line */
static int	nsent;

Helper *
helper_new(Loop *loop, const HelperProgram *given, void *arg)
{
	program = given;
	return NULL;
}

void
helper_free(Helper *helper)
{
}

void
helper_run(Helper *helper, const char *hello)
{
	nstarts++;
}

void
helper_end(Helper *helper, const char *why)
{
	is_ready = false;
}

bool
helper_is_ready(const Helper *helper)
{
	return is_ready;
}

bool
helper_is_down(const Helper *helper)
{
	return !is_ready;
}

bool
helper_send(Helper *helper, const char *line, size_t len)
{
	if (!is_ready)
		return false;
	nsent++;
	pfree(sent);
	sent = pstrdup(line);
	return true;
}

void
helper_add_trouble(const Helper *helper, json_t *list)
{
}

/* ---- the tests ---- */

static char hello[] = "{\"hello\":1}";
static Config config = {
	.election_line = hello,
	.zookeeper = {
		.session_us = SECONDS_TO_US(SESSION_S),
		.fallback_us = SECONDS_TO_US(FALLBACK_S)
	}
};
static Election *election;

static void
get_ready(void)
{
	is_ready = true;
	program->on_ready(election);
}

static void
begin(void)
{
	loop_time = SECONDS_TO_US(1000);
	node_lives = true;
	lease_end_us = SECONDS_TO_US(2000);
	is_ready = false;
	nstarts = 0;
	election = election_open(NULL, &config, NULL);
	pass_us(0);
	get_ready();
}

static void
end(void)
{
	election_free(election);
	pfree(sent);
	sent = NULL;
}

static void
say(const char *word)
{
	program->on_line(election, word, strlen(word));
}

static void
say_lead(int64 until_ms)
{
	char	   *line = psprintf("{\"leads\":true,\"until_ms\":" INT64_FORMAT "}", until_ms);

	say(line);
	pfree(line);
}

static void
expect_claim(NodeClaim expected)
{
	assert_int_equal(ask_claim(claim_arg, false), expected);
}

/* Nothing else happens: the helper stands still, or the pipe is full. */
static void
test_end_of_word(void **state)
{
	begin();
	expect_claim(CLAIM_FOLLOW);
	say_lead(1008000);
	expect_claim(CLAIM_LEAD);
	nlooks = 0;
	pass_us(SECONDS_TO_US(8) - 1);
	expect_claim(CLAIM_LEAD);
	assert_int_equal(nlooks, 0);
	pass_us(1);
	expect_claim(CLAIM_FOLLOW);
	assert_int_equal(nlooks, 1);
	end();
}

/* An old word that a frozen helper, or a frozen sidecar, finds in the pipe. */
static void
test_late_word(void **state)
{
	begin();
	say_lead(999999);
	expect_claim(CLAIM_FOLLOW);
	say("{\"leads\":true}");
	expect_claim(CLAIM_FOLLOW);
	end();
}

static void
test_end_of_helper(void **state)
{
	begin();
	say_lead(1008000);
	nlooks = 0;
	is_ready = false;
	program->on_gone(election);
	expect_claim(CLAIM_FOLLOW);
	assert_int_equal(nlooks, 1);
	say_lead(1008000);			/* the rest of its pipe */
	expect_claim(CLAIM_FOLLOW);
	end();
}

static void
test_other_words(void **state)
{
	begin();
	say_lead(1008000);
	say("{\"leads\":null}");
	expect_claim(CLAIM_FOLLOW);
	say_lead(1008000);
	say("{\"leads\":false,\"until_ms\":1008000}");
	expect_claim(CLAIM_FOLLOW);
	say_lead(1008000);
	say("{\"news\":7}");
	say("[]");
	say("not JSON");
	expect_claim(CLAIM_LEAD);
	end();
}

static void
expect_permission(int64 until_ms)
{
	char	   *line = psprintf("{\"stand_until_ms\":" INT64_FORMAT "}", until_ms);

	assert_string_equal(sent, line);
	pfree(line);
}

static void
test_permission(void **state)
{
	begin();
	expect_permission(1012000);
	pass_us(SECONDS_TO_US(LOOK_S));
	expect_permission(1014000);
	lease_end_us = SECONDS_TO_US(1010);
	pass_us(SECONDS_TO_US(LOOK_S));
	expect_permission(1010000);
	node_lives = false;
	pass_us(SECONDS_TO_US(LOOK_S));
	expect_permission(0);
	end();
}

/* The fallback begins when the node lives, and a leader in PostgreSQL ends it. */
static void
test_fallback(void **state)
{
	begin();
	pass_us(SECONDS_TO_US(FALLBACK_S) - 1);
	expect_claim(CLAIM_FOLLOW);
	pass_us(1);
	expect_claim(CLAIM_NONE);
	get_ready();
	say("{\"leads\":false,\"until_ms\":2000000}");
	expect_claim(CLAIM_NONE);
	assert_int_equal(ask_claim(claim_arg, true), CLAIM_FOLLOW);
	end();
	begin();
	node_lives = false;
	pass_us(SECONDS_TO_US(2 * FALLBACK_S));
	node_lives = true;
	expect_claim(CLAIM_FOLLOW);
	end();
}

/* The helper, and each later one, hears of other settings of the log. */
static void
test_reload(void **state)
{
	static char other_hello[] = "{\"hello\":1,\"level\":\"debug\"}";
	static Config other = {.election_line = other_hello};

	begin();
	election_reload(election, &other);
	assert_string_equal(sent, other_hello);
	assert_int_equal(nstarts, 1);
	nsent = 0;
	get_ready();
	assert_int_equal(nsent, 2);
	election_reload(election, &config);
	nsent = 0;
	get_ready();
	assert_int_equal(nsent, 1);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_of_word),
		cmocka_unit_test(test_late_word),
		cmocka_unit_test(test_end_of_helper),
		cmocka_unit_test(test_other_words),
		cmocka_unit_test(test_permission),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
