/*-------------------------------------------------------------------------
 *
 * limit_rules.c
 *		Reads the limits of the database.
 *
 *		from: sql/policy/limits.sql		to: type_limits.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "common/limit_pattern.h"
#include "pg/calls.h"
#include "slots/limit_rules.h"

struct LimitRules
{
	Policies   *policies;
	Node	   *node;
	TypeLimits *limits;
	LoopFn		on_missed;
	void	   *arg;
	bool		has_missed;
	PGresult   *last;			/* as last read; NULL: not yet */
};

/* False: the row is malformed. */
static bool
read_rule(const PGresult *result, int row, LimitRule *rule)
{
	rule->pattern = PQgetvalue(result, row, LIMITS_PATTERN);
	if (!limit_pattern_valid(rule->pattern, strlen(rule->pattern)))
		return false;
	rule->is_shared = wire_get_bool(result, row, LIMITS_IS_SHARED);
	rule->terms.max = wire_get_int4(result, row, LIMITS_CONCURRENCY);
	rule->terms.stretch = wire_get_int4(result, row, LIMITS_STRETCH);
	rule->terms.stretch_priority = wire_get_int4(result, row, LIMITS_STRETCH_PRIORITY);
	rule->terms.rate = wire_get_int4(result, row, LIMITS_RATE);
	rule->terms.period_us = wire_get_int8(result, row, LIMITS_PER_US);
	rule->terms.burst = wire_get_int4(result, row, LIMITS_BURST);
	return rule->terms.rate == 0 || (rule->terms.period_us > 0 && rule->terms.burst > 0);
}

static void
take_limits(LimitRules *rules, const PGresult *result)
{
	LimitRule  *all = palloc((PQntuples(result) + 1) * sizeof(LimitRule));
	int			n = 0;

	for (int i = 0; i < PQntuples(result); i++)
		n += read_rule(result, i, &all[n]);
	type_limits_set(rules->limits, all, n);
	pfree(all);
}

static void
on_limits(void *arg, PgOutcome outcome, PGresult *result)
{
	LimitRules *rules = arg;

	if (outcome == PG_DONE)
	{
		log_line(TWT_LOG_DEBUG, "slots", "read %d limits", PQntuples(result));
		/* anybody may cause a read: ignore an unchanged answer */
		if (wire_is_news(&rules->last, result))
			take_limits(rules, result);
		if (rules->has_missed)
			rules->on_missed(rules->arg);
		rules->has_missed = false;
	}
	policies_end_reading(rules->policies, outcome);
}

static void
read_limits(void *arg)
{
	LimitRules *rules = arg;

	pg_send(node_pg(rules->node), &call_read_limits, NULL, on_limits, rules);
	policies_begin_reading(rules->policies);
}

LimitRules *
limit_rules_open(Policies *policies, Node *node, TypeLimits *limits,
				 LoopFn on_missed, void *arg)
{
	LimitRules *rules = palloc0(sizeof(LimitRules));

	rules->policies = policies;
	rules->node = node;
	rules->limits = limits;
	rules->on_missed = on_missed;
	rules->arg = arg;
	policies_on(policies, POLICIES_WANTED, read_limits, rules);
	return rules;
}

void
limit_rules_miss(void *arg)
{
	LimitRules *rules = arg;

	if (!rules->has_missed)
		policies_read(rules->policies);
	rules->has_missed = true;
}

void
limit_rules_free(LimitRules *rules)
{
	PQclear(rules->last);
	pfree(rules);
}
