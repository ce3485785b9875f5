/*-------------------------------------------------------------------------
 *
 * election.c
 *		The election of a group's leader by ZooKeeper, whose words a helper program
 *		brings.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "helper/helper.h"
#include "zookeeper/election.h"

/* The longest time between two looks. */
#define LOOK_US SECONDS_TO_US(2)

/* Time to end the session in order. */
#define LEAVE_US SECONDS_TO_US(2)

typedef enum Word
{
	WORD_NONE,					/* ZooKeeper's decision is not known */
	WORD_LEAD,
	WORD_FOLLOW
} Word;

struct Election
{
	Loop	   *loop;
	const Config *config;		/* at the start */
	const char *line;			/* the hello with today's settings of the log */
	Node	   *node;
	Helper	   *helper;
	LoopTimer  *timer;			/* the next look */
	LoopTimer  *doubt;			/* the end of the word */
	Word		word;
	int64		until_us;		/* the word holds until then */
	int64		led_us;			/* when a leader was known last, or we began */
	bool		sees_leader;	/* in PostgreSQL another node leads */
	NodeClaim	last_claim;
	LoopFn		end_done;		/* NULL: it goes on */
	void	   *end_arg;
};

/* ---- the claim ---- */

static bool
is_sure(const Election *election)
{
	return election->word != WORD_NONE && loop_now_us(election->loop) < election->until_us;
}

/*
 * The node before ours may be foreign, or left over: then no node leads in
 * PostgreSQL, or only this one, which PostgreSQL chose.
 */
static NodeClaim
judge(Election *election)
{
	int64		now = loop_now_us(election->loop);
	bool		leads = is_sure(election) && election->word == WORD_LEAD;

	if (leads || (is_sure(election) && election->sees_leader))
		election->led_us = now;
	if (leads)
		return CLAIM_LEAD;
	return now - election->led_us < election->config->zookeeper.fallback_us ? CLAIM_FOLLOW : CLAIM_NONE;
}

static NodeClaim
current_claim(void *arg, bool sees_leader)
{
	Election   *election = arg;

	election->sees_leader = sees_leader;
	return judge(election);
}

static void
tell_change(void *arg)
{
	Election   *election = arg;
	NodeClaim	claim = judge(election);

	if (claim == election->last_claim)
		return;
	if (claim == CLAIM_NONE)
		log_line(TWT_LOG_WARN, "zookeeper", "%s for " INT64_FORMAT " s, so PostgreSQL chooses the leader",
				 is_sure(election) ? "the first of the group's nodes does not lead" : "no answer that says who leads",
				 election->config->zookeeper.fallback_us / 1000000);
	else if (election->last_claim == CLAIM_NONE)
		log_line(TWT_LOG_INFO, "zookeeper", "answers again and chooses the leader");
	election->last_claim = claim;
	node_look(election->node);
}

/* ---- the helper ---- */

static void
set_word(Election *election, Word word, int64 until_us)
{
	election->word = word;
	election->until_us = until_us;
	loop_timer_stop(election->doubt);
	if (word != WORD_NONE)
		loop_timer_start(election->doubt, until_us - loop_now_us(election->loop));
	tell_change(election);
}

/* A new helper does not know yet how the log shall be. */
static void
send_line(Election *election)
{
	if (strcmp(election->line, election->config->election_line) != 0)
		(void) helper_send(election->helper, election->line, strlen(election->line));
}

static void
let_stand(Election *election, int64 until_us)
{
	char	   *line = psprintf("{\"stand_until_ms\":" INT64_FORMAT "}", until_us / 1000);

	(void) helper_send(election->helper, line, strlen(line));
	pfree(line);
}

static void
let_stand_again(Election *election)
{
	int64		now = loop_now_us(election->loop);
	int64		until_us = now + election->config->zookeeper.session_us;

	let_stand(election, node_is_alive(election->node) ?
			  Min(until_us, node_lease_end_us(election->node)) : 0);
}

static void
on_ready(void *arg)
{
	send_line(arg);
	let_stand_again(arg);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	Election   *election = arg;
	json_t	   *object = json_loadb(line, len, 0, NULL);
	const json_t *leads = json_object_get(object, "leads");
	int64		until_us = MS_TO_US(json_integer_value(json_object_get(object, "until_ms")));

	if (helper_is_ready(election->helper) && leads != NULL)
		set_word(election, json_is_true(leads) ? WORD_LEAD :
				 json_is_false(leads) ? WORD_FOLLOW : WORD_NONE, until_us);
	json_decref(object);
}

static void
on_gone(void *arg)
{
	Election   *election = arg;

	set_word(election, WORD_NONE, 0);
	if (election->end_done != NULL)
		election->end_done(election->end_arg);
}

static const HelperProgram program = {
	.component = "zookeeper",
	.subject = "helper \"zookeeper\"",
	.bundled = "zookeeper",
	.leave_us = LEAVE_US,
	.on_ready = on_ready,
	.on_line = on_line,
	.on_gone = on_gone
};

/* ---- looks ---- */

static void
on_look(void *arg)
{
	Election   *election = arg;

	if (!node_is_alive(election->node))
		election->led_us = loop_now_us(election->loop);
	let_stand_again(election);
	tell_change(election);
	loop_timer_start(election->timer, Min(election->config->zookeeper.session_us / 6, LOOK_US));
}

Election *
election_open(Loop *loop, const Config *config, Node *node)
{
	Election   *election;

	if (config->election_line == NULL)
		return NULL;
	election = palloc0(sizeof(Election));
	election->loop = loop;
	election->config = config;
	election->line = config->election_line;
	election->node = node;
	election->led_us = loop_now_us(loop);
	election->last_claim = CLAIM_FOLLOW;
	election->helper = helper_new(loop, &program, election);
	election->doubt = loop_timer_new(loop, tell_change, election);
	election->timer = loop_timer_new(loop, on_look, election);
	loop_timer_start(election->timer, 0);
	helper_run(election->helper, election->line);
	node_on_claim(node, current_claim, election);
	return election;
}

void
election_reload(Election *election, const Config *config)
{
	if (election == NULL)
		return;
	election->line = config->election_line;
	(void) helper_send(election->helper, election->line, strlen(election->line));
}

void
election_add_trouble(void *arg, json_t *list)
{
	const Election *election = arg;

	if (election != NULL)
		helper_add_trouble(election->helper, list);
}

void
election_end(Election *election, LoopFn done, void *arg)
{
	if (election == NULL || helper_is_down(election->helper))
	{
		done(arg);
		return;
	}
	loop_timer_stop(election->timer);
	election->end_done = done;
	election->end_arg = arg;
	helper_end(election->helper, "this sidecar stops");
}

void
election_free(Election *election)
{
	if (election == NULL)
		return;
	helper_free(election->helper);
	loop_timer_free(election->timer);
	loop_timer_free(election->doubt);
	pfree(election);
}
