/*-------------------------------------------------------------------------
 *
 * cancels.c
 *		Reads requests to cancel running tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "node/cancels.h"
#include "calls/calls.h"

/* A lock may last for hours, and each look reads all requests, so the delay doubles. */
#define AGAIN_MIN_US MS_TO_US(200)
#define AGAIN_MAX_US SECONDS_TO_US(1)

struct Cancels
{
	Loop	   *loop;
	Node	   *node;
	CancelFn	fn;
	void	   *arg;
	LoopTimer  *timer;			/* the next look */
	int64		again_us;		/* its delay */
	bool		is_wanted;
	bool		is_under_way;
};

static void
look(void *arg)
{
	Cancels    *cancels = arg;

	cancels->is_wanted = true;
	loop_want_turn(cancels->loop);
}

void
cancels_want(void *arg)
{
	((Cancels *) arg)->again_us = AGAIN_MIN_US;
	look(arg);
}

static void
look_again(Cancels *cancels)
{
	loop_timer_start(cancels->timer, cancels->again_us);
	cancels->again_us = Min(2 * cancels->again_us, AGAIN_MAX_US);
}

static void
on_taken(void *arg, PgOutcome outcome, PGresult *result)
{
	Cancels    *cancels = arg;
	bool		again = outcome != PG_DONE;

	cancels->is_under_way = false;
	for (int i = 0; outcome == PG_DONE && i < PQntuples(result); i++)
	{
		CancelRequest request = {
			.id = wire_get_uuid(result, i, CANCELS_ID),
			.version = wire_get_int(result, i, CANCELS_VERSION),
			.is_ours = wire_get_bool(result, i, CANCELS_IS_OURS),
			.why = PQgetvalue(result, i, CANCELS_WHY)
		};

		again |= cancels->fn(cancels->arg, &request);
	}
	if (again)
		look_again(cancels);
}

void
cancels_pump(Cancels *cancels)
{
	Pg		   *pg = node_pg(cancels->node);
	WireParams	params;

	if (!cancels->is_wanted || cancels->is_under_way || !pg_is_up(pg) ||
		node_incarnation(cancels->node) == 0)
		return;
	cancels->is_wanted = false;
	cancels->is_under_way = true;
	wire_init(&params);
	wire_add_int8(&params, node_incarnation(cancels->node));
	pg_send(pg, &call_take_cancels, &params, on_taken, cancels);
}

Cancels *
cancels_open(Loop *loop, Node *node, CancelFn fn, void *arg)
{
	Cancels    *cancels = palloc0(sizeof(Cancels));

	cancels->loop = loop;
	cancels->node = node;
	cancels->fn = fn;
	cancels->arg = arg;
	cancels->timer = loop_timer_new(loop, look, cancels);
	cancels->again_us = AGAIN_MIN_US;
	return cancels;
}

void
cancels_free(Cancels *cancels)
{
	loop_timer_free(cancels->timer);
	pfree(cancels);
}
