/*-------------------------------------------------------------------------
 *
 * flow.c
 *		Adds what this node did to twtasks.flow, each minute.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "node/flow.h"

#define MINUTE_US SECONDS_TO_US(60)

struct Flow
{
	Loop	   *loop;
	Node	   *node;
	Metrics    *metrics;
	LoopTimer  *timer;			/* at each full minute of the database's clock */
	int64		since_us;		/* begin of the next row, by that clock */
	bool		is_fixed;		/* figures wait for their answer */
	bool		is_sent;		/* ... which is under way */
	int64		at_us;			/* their row begins ... */
	int64		length_us;		/* ... and has this length */
	int64		incarnation;	/* ... and node */
	int64		told;			/* the last one that was noted */
};

/* Three parameters of one row after the other. */
typedef struct Arrays
{
	WireParams *params;
	enum
	{
		ARRAY_BUCKETS,
		ARRAY_TYPES,
		ARRAY_COUNTS,
		ARRAY_WAITS,
		ARRAY_RUNS
	}			which;
} Arrays;

static void
add_counts(WireParams *params, const int64 *counts)
{
	wire_int8(params, counts[COUNT_STARTED]);
	wire_int8(params, counts[COUNT_DONE] + counts[COUNT_DELETE]);
	wire_int8(params, counts[COUNT_FAILED]);
	wire_int8(params, counts[COUNT_ERROR]);
	wire_int8(params, counts[COUNT_RETRY]);
	wire_int8(params, counts[COUNT_REFUSED]);
	wire_int8(params, counts[COUNT_UNREPORTED]);
}

static void
add_times(WireParams *params, const int64 *times)
{
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
	{
		if (times == NULL)
			wire_null_element(params);
		else
			wire_int8(params, times[i]);
	}
}

static void
add_row(void *arg, const FlowRow *row)
{
	const Arrays *arrays = arg;

	switch (arrays->which)
	{
		case ARRAY_BUCKETS:
			wire_text(arrays->params, row->bucket);
			break;
		case ARRAY_TYPES:
			wire_text(arrays->params, row->type);
			break;
		case ARRAY_COUNTS:
			add_counts(arrays->params, row->counts);
			break;
		case ARRAY_WAITS:
			add_times(arrays->params, row->waits);
			break;
		case ARRAY_RUNS:
			add_times(arrays->params, row->runs);
			break;
	}
}

static void
add_rows(const Flow *flow, WireParams *params)
{
	static const int widths[] = {1, 1, 7, HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS};
	int			nrows = metrics_flow_rows(flow->metrics, NULL, NULL);

	for (int which = ARRAY_BUCKETS; which <= ARRAY_RUNS; which++)
	{
		Arrays		arrays = {params, which};

		wire_add_array(params, which <= ARRAY_TYPES ? WIRE_TEXT : WIRE_INT8, nrows * widths[which]);
		metrics_flow_rows(flow->metrics, add_row, &arrays);
	}
}

static void
on_noted(void *arg, PgOutcome outcome, PGresult *result)
{
	Flow	   *flow = arg;

	flow->is_sent = false;
	if (outcome != PG_DONE)
		return;
	flow->told = flow->incarnation;
	metrics_flow_taken(flow->metrics);
	flow->is_fixed = false;
}

/*
 * Fixes the figures since the last row.  False: there are none, and the database knows
 * that this node notes them.
 */
static bool
fix(Flow *flow)
{
	int64		now_us = task_clock_us(node_clock(flow->node));

	flow->is_fixed = metrics_flow_fix(flow->metrics) || flow->told != node_incarnation(flow->node);
	flow->at_us = flow->since_us;
	flow->length_us = Max(now_us - flow->since_us, 0);
	flow->incarnation = node_incarnation(flow->node);
	flow->since_us = now_us;
	return flow->is_fixed;
}

static void
send_flow(Flow *flow)
{
	WireParams	params;

	if (flow->is_sent || !pg_is_up(node_pg(flow->node)) || node_incarnation(flow->node) == 0)
		return;
	if (!flow->is_fixed && !fix(flow))
		return;
	flow->is_sent = true;
	wire_init(&params);
	wire_add_int8(&params, flow->incarnation);
	wire_add_int8(&params, flow->at_us);
	wire_add_int8(&params, flow->length_us / 1000);
	add_rows(flow, &params);
	pg_send(node_pg(flow->node), &call_note_flow, &params, on_noted, flow);
}

static void
on_minute(void *arg)
{
	Flow	   *flow = arg;

	loop_timer_start(flow->timer, MINUTE_US - task_clock_us(node_clock(flow->node)) % MINUTE_US);
	send_flow(flow);
}

Flow *
flow_open(Loop *loop, Node *node, Metrics *metrics)
{
	Flow	   *flow = palloc0(sizeof(Flow));

	flow->loop = loop;
	flow->node = node;
	flow->metrics = metrics;
	flow->since_us = task_clock_us(node_clock(flow->node));
	flow->timer = loop_timer_new(loop, on_minute, flow);
	loop_timer_start(flow->timer, MINUTE_US - flow->since_us % MINUTE_US);
	return flow;
}

void
flow_end(Flow *flow)
{
	loop_timer_stop(flow->timer);
	send_flow(flow);
}

void
flow_free(Flow *flow)
{
	loop_timer_free(flow->timer);
	pfree(flow);
}
