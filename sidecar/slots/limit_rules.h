/*-------------------------------------------------------------------------
 *
 * limit_rules.h
 *		Reads the limits of the database.
 *
 *		from: policies.h (policies_on_reload)		to: type_limits.h
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

/* Reads whenever the configuration in the database is read.  on_missed: tasks
 * were dropped for a limit that was not known, and now is. */
extern LimitRules *limit_rules_open(Policies *policies, Node *node,
									TypeLimits *limits, LoopFn on_missed, void *arg);

/* Such a limit: reads soon.  The argument are the LimitRules. */
extern void limit_rules_miss(void *rules);

/* After the node: its answers are for us. */
extern void limit_rules_free(LimitRules *rules);

#endif							/* TWT_LIMIT_RULES_H */
