/*-------------------------------------------------------------------------
 *
 * nodes.c
 *		The model's nodes: who lives, who leads, who is gone.
 *
 * As sql/cluster/nodes.sql and sql/cluster/recover_tasks.sql have it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

#define NODES 500
#define GRACE_US SECONDS_TO_US(3)
#define LATE_US MS_TO_US(1500)

/* A row stays for so long after the end of its node. */
#define KEPT_US SECONDS_TO_US(60)

/* A clock that was set by less was not set. */
#define DRIFT_US MS_TO_US(100)

static NodeRow nodes[NODES];
static int	nnodes;

void
nodes_begin(void)
{
	nnodes = 0;
}

NodeRow *
nodes_find(int64 incarnation)
{
	return incarnation >= 1 && incarnation <= nnodes ? &nodes[incarnation - 1] : NULL;
}

bool
nodes_is_known(int64 incarnation)
{
	const NodeRow *node = nodes_find(incarnation);

	return node != NULL && !node->is_forgotten;
}

bool
nodes_live(int64 incarnation)
{
	const NodeRow *node = nodes_find(incarnation);

	return node != NULL && !node->has_ended;
}

bool
nodes_may_grab(int64 incarnation)
{
	return nodes_live(incarnation) && server_holds(incarnation) && nodes_find(incarnation)->missing_us < 0;
}

static int64
boot_us(void)
{
	return model_clock_us() - world_now_us();
}

static bool
heartbeat(Session *session, int64 incarnation, int64 again_ms)
{
	NodeRow    *node = nodes_find(incarnation);

	if (!nodes_live(incarnation))
		return false;
	node->heartbeat_us = model_clock_us();
	node->missing_us = node->silent_us = -1;
	node->boot_us = boot_us();
	node->next_tick_us = model_clock_us() + MS_TO_US(again_ms);
	if (!server_holds(incarnation))
		session_hold(session, incarnation);
	return true;
}

PGresult *
nodes_start(Session *session, const ServerCall *call)
{
	PGresult   *result = result_new(2);
	NodeRow    *node = &nodes[nnodes++];

	if (nnodes == NODES)
		world_fail("more than %d nodes", NODES);
	memset(node, 0, sizeof(*node));
	node->incarnation = nnodes;
	node->lease_us = MS_TO_US(param_int(call, 1));
	(void) heartbeat(session, node->incarnation, 6000);
	result_int(result, 0, START_INCARNATION, node->incarnation);
	result_null(result, 0, START_REFUSAL);
	tables_commit(true);
	return result;
}

/* Whether the leader keeps its place, as the session of another one sees it. */
static bool
keeps_the_lead(const Session *session, const NodeRow *node)
{
	int64		now_us = model_clock_us();

	if (!node->leads || node->has_ended || node->heartbeat_us < now_us - node->lease_us ||
		node->heartbeat_us > now_us + node->lease_us / 2)
		return false;
	if (!server_holds(node->incarnation))
		return false;
	return session_holds(session, node->incarnation) || node->next_tick_us + LATE_US >= now_us ||
		!server_is_idle(node->incarnation);
}

static bool
try_to_lead(const Session *session, int64 incarnation)
{
	if (nodes_find(incarnation)->leads)
		return true;
	for (int i = 0; i < nnodes; i++)
		if (keeps_the_lead(session, &nodes[i]))
			return false;
	for (int i = 0; i < nnodes; i++)
		nodes[i].leads = nodes[i].incarnation == incarnation;
	return true;
}

/* When the leader is late, for another node; -1: there is none. */
static int64
leader_late_us(int64 incarnation)
{
	for (int i = 0; i < nnodes; i++)
		if (nodes[i].leads && !nodes[i].has_ended && nodes[i].incarnation != incarnation)
			return nodes[i].next_tick_us + LATE_US;
	return -1;
}

/* Rounded up. */
static int64
whole_ms(int64 us)
{
	return us > 0 ? (us + 999) / 1000 : us / 1000;
}

static void
fill_work(PGresult *result)
{
	int64		next_us = schedules_next_us();
	bool		has_work = false;

	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);

		has_work |= row->queued;
		if (!row->queued && (row->status == ROW_WAITING ||
							 (row->status == ROW_PROCESSING && row->rule != RULE_IGNORE)))
			next_us = next_us < 0 ? row->next_us : Min(next_us, row->next_us);
		if (row->status <= ROW_SUBMITTED && row->expires_us > 0)
			next_us = next_us < 0 ? row->expires_us : Min(next_us, row->expires_us);
	}
	result_bool(result, 0, TICK_HAS_WORK, has_work);
	if (next_us >= 0)
		result_int(result, 0, TICK_NEXT_MS, Max(0, whole_ms(next_us - model_clock_us())));
}

PGresult *
nodes_tick(Session *session, const ServerCall *call)
{
	int64		incarnation = param_int(call, 0);
	PGresult   *result = result_new(TICK_LOOK_MS + 1);
	bool		is_alive = heartbeat(session, incarnation, param_int(call, 1));
	int64		late_us;
	int			place = 0;
	int			n = 0;

	for (int i = 0; i < nnodes; i++)
	{
		n += !nodes[i].has_ended;
		place += !nodes[i].has_ended && nodes[i].incarnation < incarnation;
	}
	result_null(result, 0, TICK_NEXT_MS);
	result_bool(result, 0, TICK_ALIVE, is_alive);
	result_bool(result, 0, TICK_IS_HELD, is_alive && session_holds(session, incarnation));
	result_bool(result, 0, TICK_IS_LEADER, is_alive && try_to_lead(session, incarnation));
	result_int(result, 0, TICK_PLACE, place);
	result_int(result, 0, TICK_NODES, n);
	result_time(result, 0, TICK_CLOCK, model_clock_us());
	result_int(result, 0, TICK_AHEAD_US, 0);
	fill_work(result);
	late_us = leader_late_us(incarnation);
	if (late_us >= 0)
		result_int(result, 0, TICK_LOOK_MS, whole_ms(late_us - model_clock_us()));
	else
		result_null(result, 0, TICK_LOOK_MS);
	tables_commit(true);
	return result;
}

static void
end(NodeRow *node)
{
	if (!node->has_ended)
	{
		node->ended_us = model_clock_us();
		judge_gone(node->incarnation);
	}
	node->has_ended = true;
}

void
nodes_forget(void)
{
	for (int i = 0; i < nnodes; i++)
	{
		NodeRow    *node = &nodes[i];

		node->is_forgotten |= node->has_ended && !node->has_orphan &&
			node->ended_us < model_clock_us() - KEPT_US;
		node->has_orphan = false;
	}
}

PGresult *
nodes_end(const ServerCall *call)
{
	PGresult   *result = result_new(1);
	NodeRow    *node = nodes_find(param_int(call, 0));

	if (node != NULL)
		end(node);
	result_null(result, 0, 0);
	tables_commit(true);
	return result;
}

/* When the node counts as gone; -1: it lives. */
static int64
gone_us(NodeRow *node)
{
	int64		now_us = model_clock_us();
	int64		at_us = -1;

	if (node->heartbeat_us > now_us + node->lease_us / 2 || llabs(node->boot_us - boot_us()) > DRIFT_US)
	{
		/* The clock was set: what was seen before tells no duration. */
		node->heartbeat_us = now_us;
		node->missing_us = node->silent_us = -1;
		node->boot_us = boot_us();
	}
	if (node->missing_us < 0 && !server_holds(node->incarnation))
		node->missing_us = now_us;
	if (node->heartbeat_us < now_us - node->lease_us / 2)
	{
		if (node->silent_us < 0)
			node->silent_us = now_us;
		at_us = Max(node->heartbeat_us + node->lease_us, node->silent_us + node->lease_us / 2);
	}
	if (node->missing_us >= 0)
		at_us = at_us < 0 ? node->missing_us + GRACE_US : Min(at_us, node->missing_us + GRACE_US);
	return at_us;
}

int64
nodes_find_gone(void)
{
	int64		now_us = model_clock_us();
	int64		next_us = -1;

	for (int i = 0; i < nnodes; i++)
	{
		int64		at_us = nodes[i].has_ended ? -1 : gone_us(&nodes[i]);

		if (at_us < 0)
			continue;
		if (at_us < now_us)
		{
			end(&nodes[i]);
			world_tell("incarnation " INT64_FORMAT " is gone", nodes[i].incarnation);
		}
		else
			next_us = next_us < 0 ? at_us : Min(next_us, at_us);
	}
	return next_us < 0 ? -1 : (next_us - now_us + 500) / 1000 + 10;
}
