/*-------------------------------------------------------------------------
 *
 * node.c
 *		Keeps this start of the sidecar registered in the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/sdnotify.h"
#include "node/node.h"
#include "calls/calls.h"

/* Without shared memory nobody reports the end of a node's session. */
#define TICK_US SECONDS_TO_US(6)
#define NOTIFY_TICK_US SECONDS_TO_US(3)
#define LEADER_LATE_US SECONDS_TO_US(1)

#define START_AGAIN_US SECONDS_TO_US(1)
#define ASK_AGAIN_US SECONDS_TO_US(2)

/* A step of the clock this long is a jump, and no slow answer. */
#define JUMP_US SECONDS_TO_US(1)

/* Both are shorter than the grace, see recover_tasks(). */
#define PROOF_US MS_TO_US(2500)
#define HOLD_AGAIN_US SECONDS_TO_US(1)

#define END_PATIENCE_US SECONDS_TO_US(2)
#define ERRCODE_LOCKED "55P03"
#define ERRCODE_NO_FUNCTION "42883"

typedef enum NodeState
{
	NODE_UNKNOWN,				/* the database has given it no incarnation */
	NODE_UNCONFIRMED,			/* not confirmed since the connection came up */
	NODE_CONFIRMED,
	NODE_ENDING					/* until the end */
} NodeState;

/* A tick or a start: one at a time, since its answer confirms when we asked. */
typedef enum NodeCall
{
	CALL_NONE,
	CALL_UNDER_WAY,
	CALL_AGAIN					/* another one is wanted after it */
} NodeCall;

struct Node
{
	Loop	   *loop;
	const Config *config;
	NodeEvents	events;
	void	   *arg;
	Pg		   *pg;
	TaskClock  *clock;
	LoopTimer  *timer;			/* next tick */
	NodeState	state;
	bool		is_held;		/* the last tick found its lock with its
								 * session */
	int64		asked_us;		/* when the last tick or start was sent */
	int64		confirmed_us;	/* the same, of the last that was confirmed */
	int64		proved_us;		/* when the last proof was sent */
	NodeCall	call;
	QueueKind	queue;
	int64		incarnation;
	int64		token;
	bool		is_locked;		/* the last tick found its row locked */
	char	   *refusal;		/* why the database refused us, as logged */
	bool		is_leader;
	bool		sees_leader;	/* another one */
	int			place;
	int			nodes;
	NodeClaimFn claim;
	void	   *claim_arg;
	LoopFn		end_done;
	void	   *end_arg;
};

/* ---- its life ---- */

/* A node that ends does nothing else. */
static void
set_state(Node *node, NodeState state)
{
	if (node->state != NODE_ENDING)
		node->state = state;
}

static void
set_leader(Node *node, bool is_leader)
{
	if (is_leader == node->is_leader)
		return;
	node->is_leader = is_leader;
	log_line(TWT_LOG_INFO, "leader", is_leader ? "this node leads" : "this node no longer leads");
	node->events.on_leader(node->arg, is_leader);
}

/* Logs a new reason, and takes it over.  NULL: there is none. */
static void
set_refusal(Node *node, char *reason)
{
	if (reason != NULL && (node->refusal == NULL || strcmp(reason, node->refusal) != 0))
	{
		log_line(TWT_LOG_ERROR, "adoption", "executes nothing in this database: %s; "
				 "twtasks.warnings says how to adopt it", reason);
		/* A sidecar that waits for an administrator counts as started. */
		sdnotify_ready();
	}
	pfree(node->refusal);
	node->refusal = reason;
}

/*
 * The tick or start that was sent last is confirmed.  Returns whether the session
 * is in place again after it was not.
 */
static bool
confirm(Node *node, bool is_held)
{
	bool		was_away = node->state == NODE_UNCONFIRMED || !node->is_held;

	node->confirmed_us = node->asked_us;
	node_prove(node, node->asked_us);
	set_state(node, NODE_CONFIRMED);
	node->is_held = is_held;
	return was_away && is_held;
}

static void
begin(Node *node, int64 incarnation)
{
	node->incarnation = incarnation;
	(void) confirm(node, true);
	log_line(TWT_LOG_INFO, "node", "started as incarnation " INT64_FORMAT,
			 incarnation);
	node->events.on_begin(node->arg);
}

static void
lose(Node *node)
{
	node->incarnation = 0;
	set_state(node, NODE_UNKNOWN);
	set_leader(node, false);
	node->events.on_gone(node->arg);
}

static void
declare_gone(Node *node)
{
	log_line(TWT_LOG_ERROR, "node", "incarnation " INT64_FORMAT
			 " was declared gone: its tasks belong to others now",
			 node->incarnation);
	lose(node);
}

/* Schedules the next call.  An ending node keeps the timer for its own wait. */
static void
end_call(Node *node, int64 again_us)
{
	bool		again = node->call == CALL_AGAIN;

	node->call = CALL_NONE;
	if (node->state != NODE_ENDING)
		loop_timer_start(node->timer, again ? 0 : again_us);
}

static void
on_started(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;
	int64		again_us = START_AGAIN_US;

	if (outcome == PG_DONE && node->state != NODE_ENDING)
	{
		set_refusal(node, wire_dup_text(result, 0, START_REFUSAL));
		again_us = PQgetisnull(result, 0, START_INCARNATION) ? ASK_AGAIN_US : 0;
		if (again_us == 0)
			begin(node, wire_get_int(result, 0, START_INCARNATION));
	}
	end_call(node, again_us);
}

static int64
tick_period(const Node *node)
{
	return Min(node->queue == QUEUE_NOTIFY ? NOTIFY_TICK_US : TICK_US, node->config->lease_us / 4);
}

/*
 * A follower ticks a moment after the leader must have ticked.  So it soon notices a
 * leader that hangs, without more ticks.
 */
static int64
next_tick(const Node *node, const PGresult *result)
{
	int64		period_us = tick_period(node);
	int64		look_us;

	if (PQgetisnull(result, 0, TICK_LOOK_MS))
		return period_us;
	look_us = MS_TO_US(wire_get_int(result, 0, TICK_LOOK_MS));
	if (look_us < 0)
		return Min(period_us, LEADER_LATE_US);
	return Min(look_us, period_us + period_us / 4);
}

/*
 * The row is locked, perhaps by a backend that stands still in a tick.  An
 * incarnation of which nothing runs can be left at any time.
 */
static void
look_at_lock(Node *node)
{
	int64		since_us = loop_now_us(node->loop) - node->confirmed_us;

	node->is_locked = true;
	if (node->state == NODE_ENDING || since_us < node->config->lease_us / 2 ||
		!node->events.is_idle(node->arg))
		return;
	log_line(TWT_LOG_WARN, "node", "incarnation " INT64_FORMAT " is left, and a new one begins: "
			 "another transaction locks its row of twtasks.node for %.1f s",
			 node->incarnation, since_us / 1e6);
	lose(node);
	loop_timer_start(node->timer, 0);
}

static void
on_tick(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;
	int64		step_us;

	/* Tick soon after a failure: other nodes wait only for the grace. */
	end_call(node, outcome == PG_DONE ? next_tick(node, result) : Min(START_AGAIN_US, tick_period(node)));
	node->is_locked = false;
	if (outcome == PG_FAILED && strcmp(pg_sqlstate(result), ERRCODE_LOCKED) == 0)
		look_at_lock(node);
	if (outcome != PG_DONE || node->state == NODE_ENDING)
		return;
	if (!wire_get_bool(result, 0, TICK_ALIVE))
	{
		declare_gone(node);
		loop_timer_start(node->timer, 0);
		return;
	}
	if (confirm(node, wire_get_bool(result, 0, TICK_IS_HELD)))
		node->events.on_return(node->arg);
	if (!node->is_held)
		loop_timer_start(node->timer, HOLD_AGAIN_US);
	node->place = wire_get_int(result, 0, TICK_PLACE);
	node->nodes = wire_get_int(result, 0, TICK_NODES);
	task_clock_warn(node->clock, wire_get_int(result, 0, TICK_AHEAD_US));
	step_us = task_clock_tell(node->clock, wire_get_time(result, 0, TICK_CLOCK));
	if (step_us > JUMP_US || step_us < -JUMP_US)
		node->events.on_clock(node->arg);
	node->sees_leader = wire_get_int(result, 0, TICK_LOOK_MS) > 0;
	set_leader(node, wire_get_bool(result, 0, TICK_IS_LEADER));
	node->events.on_look(node->arg, wire_get_bool(result, 0, TICK_HAS_WORK),
						 PQgetisnull(result, 0, TICK_NEXT_MS) ? -1 :
						 MS_TO_US(wire_get_int(result, 0, TICK_NEXT_MS)));
}

static void
add_claim(const Node *node, WireParams *params)
{
	NodeClaim	claim = node->claim == NULL ? CLAIM_NONE :
		node->claim(node->claim_arg, node->sees_leader);

	if (claim == CLAIM_NONE)
		wire_add_text(params, NULL);
	else
		wire_add_bool(params, claim == CLAIM_LEAD);
}

/*
 * A session that has told no address would pass for one of an older sidecar, which a
 * copy of the database does not refuse.  SQL of 1.0 has no such function.
 */
static void
on_told(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_FAILED && strcmp(pg_sqlstate(result), ERRCODE_NO_FUNCTION) != 0)
		pg_reset(((Node *) arg)->pg, "could not tell its addresses");
}

static void
send_start(Node *node)
{
	const Config *config = node->config;
	WireParams	params;

	wire_init(&params);
	pg_add_addresses(node->pg, &params);
	pg_send(node->pg, &call_tell_addresses, &params, on_told, node);
	wire_init(&params);
	wire_add_text(&params, config->node);
	wire_add_int8(&params, config->lease_us / 1000);
	wire_add_text(&params, config->environment);
	calls_add_buckets(&params, config);
	calls_add_types(&params, config);
	pg_send(node->pg, &call_start_node, &params, on_started, node);
}

static void
send_tick(Node *node)
{
	WireParams	params;

	wire_init(&params);
	wire_add_int8(&params, node->incarnation);
	wire_add_int8(&params, tick_period(node) / 1000);
	add_claim(node, &params);
	pg_send(node->pg, &call_tick, &params, on_tick, node);
}

static void
ended(Node *node)
{
	LoopFn		done = node->end_done;

	loop_timer_stop(node->timer);
	node->end_done = NULL;
	if (done != NULL)
		done(node->end_arg);
}

static void
tick(void *arg)
{
	Node	   *node = arg;

	if (node->state == NODE_ENDING)
	{
		ended(node);
		return;
	}
	if (!pg_is_up(node->pg))
		return;
	if (node->call != CALL_NONE)
	{
		node->call = CALL_AGAIN;
		return;
	}
	node->call = CALL_UNDER_WAY;
	node->asked_us = loop_now_us(node->loop);
	if (node->incarnation == 0)
		send_start(node);
	else
		send_tick(node);
}

/* A session that is deaf to one channel is of no use: another one tries again. */
static void
on_listened(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_FAILED)
		pg_reset(((Node *) arg)->pg, "could not listen");
}

static void
listen_to(Node *node, const PgStatement *call)
{
	pg_send(node->pg, call, NULL, on_listened, node);
}

/* LISTEN has succeeded: from now on every change notifies us. */
static void
on_listening(void *arg, PgOutcome outcome, PGresult *result)
{
	Node	   *node = arg;

	on_listened(arg, outcome, result);
	if (outcome != PG_DONE || node->state == NODE_ENDING)
		return;
	node->events.on_config(node->arg);
	node->events.on_cancel(node->arg);
}

static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Node	   *node = arg;

	if (node->state == NODE_ENDING)
		return;
	if (strcmp(channel, "twtasks_config") == 0)
		node->events.on_config(node->arg);
	else if (strcmp(channel, "twtasks_cancel") == 0)
		node->events.on_cancel(node->arg);
	else if (strcmp(channel, "twtasks_slots") == 0)
		node->events.on_slots(node->arg, payload);
	else if (node->queue == QUEUE_RING && strcmp(channel, "twtasks") == 0)
		node->events.on_triggers(node->arg, payload);
}

static void
on_state(void *arg, bool is_up)
{
	Node	   *node = arg;

	if (node->state == NODE_CONFIRMED)
		set_state(node, NODE_UNCONFIRMED);
	if (!is_up)
	{
		set_leader(node, false);
		return;
	}
	listen_to(node, &call_listen_cancels);
	listen_to(node, &call_listen_slots);
	if (node->queue == QUEUE_RING)
		listen_to(node, &call_listen);
	pg_send(node->pg, &call_listen_config, NULL, on_listening, node);
	end_call(node, 0);
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
	node->clock = task_clock_new(loop);
	node->timer = loop_timer_new(loop, tick, node);
	node->pg = pg_new(loop, config->postgres, "control", on_state, node);
	pg_on_notify(node->pg, on_notify);

	/* Early enough to connect and tick again within the lease. */
	pg_give_up_within(node->pg, config->lease_us / 2);
	pg_start(node->pg);
	return node;
}

static void
on_recovered(void *arg, PgOutcome outcome, PGresult *result)
{
	ended(arg);
}

/* The end is stored: recovers the tasks that this node leaves behind. */
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

	set_state(node, NODE_ENDING);
	node->end_done = done;
	node->end_arg = arg;
	loop_timer_start(node->timer, 0);
	if (!pg_is_up(node->pg) || node->incarnation == 0)
		return;
	loop_timer_start(node->timer, END_PATIENCE_US);
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
	task_clock_free(node->clock);
	set_refusal(node, NULL);
	pfree(node);
}

void
node_on_claim(Node *node, NodeClaimFn fn, void *arg)
{
	node->claim = fn;
	node->claim_arg = arg;
}

Pg *
node_pg(const Node *node)
{
	return node->pg;
}

void
node_set_queue(Node *node, QueueKind queue)
{
	QueueKind	before = node->queue;

	if (queue == before)
		return;
	node->queue = queue;
	if (queue == QUEUE_RING && pg_is_up(node->pg) && node->state != NODE_ENDING)
		listen_to(node, &call_listen);

	/* Followers wait for this node's next tick: tell them the period. */
	if (queue == QUEUE_NOTIFY || before == QUEUE_NOTIFY)
		node_look(node);
}

void
node_look(Node *node)
{
	/* A start keeps its own pace: the database may have refused it. */
	if (node->state != NODE_ENDING && node->incarnation != 0)
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

int64
node_confirmed_us(const Node *node)
{
	return node->confirmed_us;
}

bool
node_is_alive(const Node *node)
{
	return node->incarnation != 0 && node->state != NODE_ENDING &&
		loop_now_us(node->loop) < node_lease_end_us(node);
}

int64
node_may_start(const Node *node)
{
	return node->state == NODE_CONFIRMED && loop_now_us(node->loop) < node_lease_end_us(node) ?
		node->incarnation : 0;
}

int64
node_start_now(Node *node)
{
	int64		now_us = loop_now_us(node->loop);

	if (now_us < node->proved_us + PROOF_US)
		return node_may_start(node);
	/* The last tick may have failed just now, and then keeps its pace. */
	if (node_may_start(node) != 0 && node->call == CALL_NONE &&
		now_us >= node->asked_us + PROOF_US)
		loop_timer_start(node->timer, 0);
	return 0;
}

void
node_prove(Node *node, int64 sent_us)
{
	node->proved_us = Max(node->proved_us, sent_us);
}

const char *
node_refusal(const Node *node)
{
	return node->refusal;
}

bool
node_is_locked(const Node *node)
{
	return node->is_locked;
}

int64
node_next_token(Node *node)
{
	return ++node->token;
}

TaskClock *
node_clock(const Node *node)
{
	return node->clock;
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
