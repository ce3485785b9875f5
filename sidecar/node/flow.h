/*-------------------------------------------------------------------------
 *
 * flow.h
 *		Adds what this node did to twtasks.flow, each minute.
 *
 *		from: metrics.h			to: sql/watch/flow.sql
 *
 * A minute without news sends nothing.  Figures whose statement failed, or whose
 * answer was lost, are sent again under the same time, which the database stores
 * once.  Meanwhile later figures add up for one longer row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FLOW_H
#define TWT_FLOW_H

#include "base/loop.h"
#include "metrics/metrics.h"
#include "node/node.h"

typedef struct Flow Flow;

/* The node and the metrics outlive it; the node is freed before it. */
extern Flow *flow_open(Loop *loop, Node *node, Metrics *metrics);
extern void flow_free(Flow *flow);

/* Sends what is left.  Call it before the node ends. */
extern void flow_end(Flow *flow);

#endif							/* TWT_FLOW_H */
