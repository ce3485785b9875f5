/*-------------------------------------------------------------------------
 *
 * node.c
 *		This start of the sidecar in the eyes of the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/sdnotify.h"
#include "node/node.h"
#include "node/task_clock.h"
#include "pg/calls.h"

/* Without shared memory nobody tells that a node is gone: look more often. */
#define TICK_US SECONDS_TO_US(6)
#define WATCHFUL_TICK_US SECONDS_TO_US(3)
#define START_AGAIN_US SECONDS_TO_US(1)
#define ASK_AGAIN_US SECONDS_TO_US(2)

/* Beyond what a slow answer explains. */
#define JUMP_US SECONDS_TO_US(1)
#define WARN_AGAIN_US SECONDS_TO_US(3600)

/* Well within the grace that others give a node without a session. */
#define HOLD_AGAIN_US SECONDS_TO_US(1)
#define END_PATIENCE_US SECONDS_TO_US(2)

struct Node
{
	Loop	   *loop;
	const Config *config;
	NodeEvents	events;
	void	   *arg;
	Pg		   *pg;
	LoopTimer  *timer;			/* next tick */
	int64		incarnation;
	int64		token;
	int64		confirmed_us;	/* when the last confirmed tick was sent */
	int64		asked_us;		/* when the tick under way was sent */
	int64		ahead_us;		/* of it: shifted by a test */
	int64		warned_us;		/* when that was logged */
	char	   *refusal;		/* why the database refused us, as it was
								 * logged */
	bool		is_asking;		/* a tick, or the start, is under way */
	bool		is_asked_again; /* and another one was wanted meanwhile */
	bool		is_confirmed;	/* since the connection came up */
	bool		is_leader;
	int			place;
	int			nodes;
	bool		is_watchful;
	bool		is_listening;	/* for triggers */
	bool		is_ending;
	LoopFn		end_done;
	void	   *end_arg;
};

static void
set_leader(Node *node, bool is_leader)
{
	if (is_leader == node->is_leader)
		return;
	node->is_leader = is_leader;
	log_line(TWT_LOG_INFO, "leader", is_leader ? "this node leads" :
			 "this node no longer leads");
	node->events.on_leader(node->arg, is_leader);
}

static void
begin(Node *node, int64 incarnation)
{
	node->incarnation = incarnation;
	node->confirmed_us = node->asked_us;
	node->is_confirmed = true;
	log_line(TWT_LOG_INFO, "node", "started as incarnation " INT64_FORMAT,
			 incarnation);
	node->events.on_begin(node->arg);
}

static void
declare_gone(Node *node)
{
	log_line(TWT_LOG_ERROR, "node", "incarnation " INT64_FORMAT
			 " was declared gone: its tasks belong to others now",
			 node->incarnation);
	node->incarnation = 0;
	set_leader(node, false);
	node->events.on_gone(node->arg);
}

static void
set_refusal(Node *node, char *refusal)
{
	if (refusal != NULL &&
		(node->refusal == NULL || strcmp(refusal, node->refusal) != 0))
	{
		log_line(TWT_LOG_ERROR, "adoption", "executes nothing in this database: %s; "
				 "see twtasks.adopt()", refusal);
		/* To wait for a person is not to fail to start. */
		sdnotify_ready();
	}
	if (node->refusal != NULL)
		pfree(node->refusal);
	node->refusal = refusal;
}

/*
 * When to ask again after an answer that would have it so.  At the end the
 * timer is another one, which says how long that may take.
 */
static void
ask_after(Node *node, int64 again_us)
{
	if (node->is_ending)
		return;
	loop_timer_start(node->timer, node->is_asked_again ? 0 : again_us);
	node->is_asked_again = false;
}

static void
on_started(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;
	int64		again_us = START_AGAIN_US;

	node->is_asking = false;
	if (outcome == PG_DONE && !node->is_ending)
	{
		set_refusal(node, wire_dup_text(result, 0, START_REFUSAL));
		if (wire_null(result, 0, START_INCARNATION))
			again_us = ASK_AGAIN_US;
		else
		{
			begin(node, wire_get_int8(result, 0, START_INCARNATION));
			again_us = 0;
		}
	}
	ask_after(node, again_us);
}

/* Left on by mistake it must not stay unnoticed. */
static void
warn_of_shift(Node *node, int64 ahead_us)
{
	int64		now = loop_now_us(node->loop);

	if (ahead_us != 0 && (ahead_us != node->ahead_us ||
						  now - node->warned_us >= WARN_AGAIN_US))
	{
		log_line(TWT_LOG_WARN, "clock", "shifted by " INT64_FORMAT
				 " ms for a test; see twtasks.set_clock()", ahead_us / 1000);
		node->warned_us = now;
	}
	node->ahead_us = ahead_us;
}

static void
set_clock(Node *node, int64 unix_us)
{
	int64		step_us = task_clock_tell(unix_us);

	if (step_us > JUMP_US || step_us < -JUMP_US)
		node->events.on_clock(node->arg);
}

static int64
tick_period(const Node *node)
{
	return Min(node->is_watchful ? WATCHFUL_TICK_US : TICK_US,
			   node->config->lease_us / 4);
}

/*
 * Who follows a leader ticks a moment after it has to, so that it learns at
 * once of one that stands still, and ticks no more often.
 */
static int64
next_tick(const Node *node, const PGresult *result)
{
	int64		period_us = tick_period(node);
	int64		look_us;

	if (wire_null(result, 0, TICK_LOOK_MS))
		return period_us;
	look_us = MS_TO_US(wire_get_int8(result, 0, TICK_LOOK_MS));
	if (look_us < 0)
		return Min(period_us, START_AGAIN_US);	/* late, but at work */
	return Min(look_us, period_us + period_us / 4);
}

static void
on_tick(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;

	node->is_asking = false;
	/* Others may wait no longer than the grace for one that came back. */
	ask_after(node, outcome == PG_DONE ? next_tick(node, result) :
			  Min(START_AGAIN_US, tick_period(node)));
	if (outcome != PG_DONE || node->is_ending)
		return;
	if (!wire_get_bool(result, 0, TICK_ALIVE))
	{
		declare_gone(node);
		loop_timer_start(node->timer, 0);
		return;
	}
	if (!wire_get_bool(result, 0, TICK_IS_HELD))
		loop_timer_start(node->timer, HOLD_AGAIN_US);
	node->confirmed_us = node->asked_us;
	node->is_confirmed = true;
	node->place = wire_get_int4(result, 0, TICK_PLACE);
	node->nodes = wire_get_int4(result, 0, TICK_NODES);
	warn_of_shift(node, wire_get_int8(result, 0, TICK_AHEAD_US));
	set_clock(node, wire_get_time(result, 0, TICK_CLOCK));
	set_leader(node, wire_get_bool(result, 0, TICK_IS_LEADER));
	node->events.on_look(node->arg, wire_get_bool(result, 0, TICK_HAS_WORK),
						 wire_null(result, 0, TICK_NEXT_MS) ? -1 :
						 MS_TO_US(wire_get_int8(result, 0, TICK_NEXT_MS)));
}

static void
tick(void *arg)
{
	Node	   *node = arg;
	WireParams	params;

	if (!pg_is_up(node->pg) || node->is_ending)
		return;
	/* Its answer tells how long ago it was asked: one at a time. */
	node->is_asked_again = node->is_asking;
	if (node->is_asking)
		return;
	node->is_asking = true;
	node->asked_us = loop_now_us(node->loop);
	wire_init(&params);
	if (node->incarnation == 0)
	{
		wire_add_text(&params, node->config->node);
		wire_add_int8(&params, node->config->lease_us / 1000);
		wire_add_text(&params, node->config->environment);
		wire_add_text_array(&params, node->config->nbuckets);
		for (int i = 0; i < node->config->nbuckets; i++)
			wire_text(&params, node->config->buckets[i]);
		calls_add_types(&params, node->config);
		pg_send(node->pg, &call_start_node, &params, on_started, node);
		return;
	}
	wire_add_int8(&params, node->incarnation);
	wire_add_int8(&params, tick_period(node) / 1000);
	pg_send(node->pg, &call_tick, &params, on_tick, node);
}

/* Only now does news reach us for sure. */
static void
on_listening(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;

	if (outcome == PG_FAILED)
		pg_reset(node->pg, "could not listen for changes of the configuration");
	if (outcome != PG_DONE || node->is_ending)
		return;
	node->events.on_config(node->arg);
	node->events.on_cancel(node->arg);
}

static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Node	   *node = arg;

	if (node->is_ending)
		return;
	if (strcmp(channel, "twtasks_config") == 0)
		node->events.on_config(node->arg);
	else if (strcmp(channel, "twtasks_cancel") == 0)
		node->events.on_cancel(node->arg);
	else if (strcmp(channel, "twtasks_slots") == 0)
		node->events.on_slots(node->arg, payload);
	else if (node->is_listening && strcmp(channel, "twtasks") == 0)
		node->events.on_triggers(node->arg, payload);
}

static void
on_state(void *arg, bool is_up)
{
	Node	   *node = arg;

	node->is_confirmed = false;
	if (!is_up)
	{
		set_leader(node, false);
		return;
	}
	pg_send(node->pg, &call_listen_cancels, NULL, NULL, NULL);
	pg_send(node->pg, &call_listen_slots, NULL, NULL, NULL);
	if (node->is_listening)
		pg_send(node->pg, &call_listen, NULL, NULL, NULL);
	pg_send(node->pg, &call_listen_config, NULL, on_listening, node);
	ask_after(node, 0);
}

Node *
node_open(Loop *loop, const Config *config, const NodeEvents *events, void *arg)
{
	Node	   *node = palloc0(sizeof(Node));

	node->loop = loop;
	node->config = config;
	node->events = *events;
	node->arg = arg;
	node->nodes = 1;
	node->timer = loop_timer_new(loop, tick, node);
	node->pg = pg_new(loop, config->postgres, "control", on_state, node);
	pg_on_notify(node->pg, on_notify);
	pg_start(node->pg);
	return node;
}

static void
ended(void *arg)
{
	Node	   *node = arg;
	LoopFn		done = node->end_done;

	loop_timer_stop(node->timer);
	node->end_done = NULL;
	if (done != NULL)
		done(node->end_arg);
}

static void
on_recovered(void *arg, PgOutcome outcome, PGresult *result)
{
	ended(arg);
}

/* What this node leaves behind need not wait for others to find it. */
static void
on_ended(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;
	WireParams	params;

	if (outcome != PG_DONE)
	{
		ended(node);
		return;
	}
	wire_init(&params);
	wire_add_bool(&params, false);
	pg_send(node->pg, &call_recover, &params, on_recovered, node);
}

void
node_end(Node *node, LoopFn done, void *arg)
{
	WireParams	params;

	node->is_ending = true;
	node->end_done = done;
	node->end_arg = arg;
	loop_timer_free(node->timer);
	node->timer = loop_timer_new(node->loop, ended, node);
	loop_timer_start(node->timer, END_PATIENCE_US);
	if (!pg_is_up(node->pg) || node->incarnation == 0)
	{
		loop_timer_start(node->timer, 0);
		return;
	}
	wire_init(&params);
	wire_add_int8(&params, node->incarnation);
	pg_send(node->pg, &call_end_node, &params, on_ended, node);
}

void
node_free(Node *node)
{
	node->end_done = NULL;
	pg_close(node->pg);
	loop_timer_free(node->timer);
	if (node->refusal != NULL)
		pfree(node->refusal);
	pfree(node);
}

Pg *
node_pg(const Node *node)
{
	return node->pg;
}

void
node_set_watchful(Node *node, bool watchful)
{
	if (watchful == node->is_watchful)
		return;
	node->is_watchful = watchful;
	/* who waits for the next tick shall know when it comes */
	node_look(node);
}

void
node_listen(Node *node)
{
	if (node->is_listening)
		return;
	node->is_listening = true;
	if (pg_is_up(node->pg) && !node->is_ending)
		pg_send(node->pg, &call_listen, NULL, NULL, NULL);
}

void
node_look(Node *node)
{
	/* a start is under way already, or refused for a while */
	if (!node->is_ending && node->incarnation != 0)
		loop_timer_start(node->timer, 0);
}

int64
node_incarnation(const Node *node)
{
	return node->incarnation;
}

int64
node_lease_end_us(const Node *node)
{
	return node->confirmed_us + node->config->lease_us;
}

bool
node_is_alive(const Node *node)
{
	return node->incarnation != 0 && !node->is_ending &&
		loop_now_us(node->loop) < node_lease_end_us(node);
}

int64
node_may_start(const Node *node)
{
	return node->is_confirmed && node_is_alive(node) ? node->incarnation : 0;
}

const char *
node_refusal(const Node *node)
{
	return node->refusal;
}

int64
node_next_token(Node *node)
{
	return ++node->token;
}

bool
node_is_leader(const Node *node)
{
	return node->is_leader;
}

void
node_share(const Node *node, int *place, int *nodes)
{
	*place = node->place;
	*nodes = Max(node->nodes, 1);
}
