/*-------------------------------------------------------------------------
 *
 * judge_rates.c
 *		No stretch of time has more starts than a rate allows.
 *
 * A start takes one step, the period divided by the starts.  "Until" is when the starts so
 * far would end one after the other.  It may be a burst of steps ahead of the last one.
 *
 * The cluster's rates count when the database grabs.  A node counts when it hears of a
 * grab, which the judge does not see.  So a rate of the node has the time of an answer more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "judge.h"
#include "judge_times.h"
#include "tables.h"
#include "world.h"

/* A slow server, and a slow network there and back. */
#define ANSWER_US SECONDS_TO_US(3)

#define LIMITS_MOST (MODEL_TYPES + 1)
#define INCARNATIONS 501

/* The starts under a rate. */
typedef struct Spent
{
	int64		until_us;
} Spent;

static Spent cluster[LIMITS_MOST];
static Spent of_nodes[LIMITS_MOST][INCARNATIONS];

void
rates_begin(void)
{
	memset(cluster, 0, sizeof(cluster));
	memset(of_nodes, 0, sizeof(of_nodes));
}

/* One more start at that time.  Returns by how much it exceeds the rate. */
static int64
spend(Spent *spent, const ModelRate *rate, int64 at_us)
{
	int64		step_us = rate->period_us / rate->starts;

	spent->until_us = Max(spent->until_us, at_us) + step_us;
	return spent->until_us - at_us - rate->burst * step_us;
}

void
rates_grab(const Row *row, int64 sent_us, int64 light_us)
{
	ModelLimit	found;

	for (int limit = 0; limit < model_limits(); limit++)
	{
		if (!model_limit(limit, row->type, &found))
			continue;
		/* A few microseconds are lost where the server rounds. */
		if (found.rate.starts > 0 && spend(&cluster[limit], &found.rate, world_now_us()) > MS_TO_US(1))
			world_fail("the cluster starts more tasks than its rate of %s allows", found.name);
		/* Several nodes may ask: the task counts for the one that gets it. */
		if (found.rate_of_node.starts > 0 && sent_us > light_us &&
			spend(&of_nodes[limit][row->incarnation], &found.rate_of_node, sent_us) > ANSWER_US)
			world_fail("incarnation " INT64_FORMAT " starts more tasks than its rate of %s allows", row->incarnation, found.name);
	}
}
