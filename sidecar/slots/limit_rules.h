/*-------------------------------------------------------------------------
 *
 * limit_rules.h
 *		Reads the limits of the database.
 *
 *		from: policies.h (policies_on)		to: type_limits.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_RULES_H
#define TWT_LIMIT_RULES_H

#include "base/loop.h"
#include "node/node.h"
#include "node/policies.h"
#include "slots/type_limits.h"

typedef struct LimitRules LimitRules;

/*
 * Reads whenever the configuration in the database is read.  Calls on_missed
 * when an unknown limit, for which tasks were dropped, has become known.
 */
extern LimitRules *limit_rules_open(Policies *policies, Node *node,
									TypeLimits *limits, LoopFn on_missed, void *arg);

/*
 * A task was dropped for an unknown limit: reads soon.  Takes the LimitRules.
 */
extern void limit_rules_miss(void *rules);

/* Call it after the node is freed: the node's answers come here. */
extern void limit_rules_free(LimitRules *rules);

#endif							/* TWT_LIMIT_RULES_H */
