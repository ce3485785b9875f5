/*-------------------------------------------------------------------------
 *
 * policy.c
 *		What is to be done with the tasks of one type.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "common/pattern.h"
#include "policy.h"

struct PolicyRules
{
	PolicyRule *rules;			/* the least special first */
	int			n;
	int			room;
};

PolicyRule
policy_rule(const char *pattern)
{
	return (PolicyRule)
	{
		.pattern = pattern, .timeout_us = -1, .stuck = -1, .asks_stuck = -1,
			.asks_retry = -1, .resets_tries = -1
	};
}

PolicyRules *
policy_rules_new(void)
{
	return palloc0(sizeof(PolicyRules));
}

void
policy_rules_free(PolicyRules *rules)
{
	for (int i = 0; i < rules->n; i++)
	{
		pfree(unconstify(char *, rules->rules[i].pattern));
		if (rules->rules[i].retry != NULL)
			retry_plan_free(rules->rules[i].retry);
	}
	if (rules->rules != NULL)
		pfree(rules->rules);
	pfree(rules);
}

/* As pattern_fit() of whatever it fits. */
static size_t
special(const char *pattern)
{
	size_t		len = strlen(pattern);

	return len > 0 && pattern[len - 1] == '*' ? len : PATTERN_EXACT;
}

void
policy_rules_add(PolicyRules *rules, const PolicyRule *rule)
{
	int			at;

	if (rules->n == rules->room)
	{
		rules->room = Max(16, rules->room * 2);
		rules->rules = rules->rules == NULL ?
			palloc(rules->room * sizeof(PolicyRule)) :
			repalloc(rules->rules, rules->room * sizeof(PolicyRule));
	}
	for (at = rules->n++; at > 0; at--)
	{
		if (special(rules->rules[at - 1].pattern) <= special(rule->pattern))
			break;
		rules->rules[at] = rules->rules[at - 1];
	}
	rules->rules[at] = *rule;
	rules->rules[at].pattern = pstrdup(rule->pattern);
}

/* What the rule sets wins over what less special ones have set. */
static void
apply_rule(Policy *policy, bool *asks_stuck, const PolicyRule *rule)
{
	if (rule->asks_stuck >= 0)
		*asks_stuck = rule->asks_stuck;
	if (rule->timeout_us >= 0)
		policy->timeout_us = rule->timeout_us;
	if (rule->stuck >= 0)
		policy->stuck = rule->stuck;
	if (rule->retry != NULL)
	{
		retry_plan_free(policy->retry);
		policy->retry = retry_plan_copy(rule->retry);
	}
	if (rule->asks_retry >= 0)
		policy->asks_retry = rule->asks_retry;
	if (rule->resets_tries >= 0)
		policy->resets_tries = rule->resets_tries;
}

Policy *
policy_make(const PolicyRules *rules, const HandlerConfig *handler,
			const char *type)
{
	Policy	   *policy = palloc0(sizeof(Policy));
	bool		asks_stuck = false;

	policy->refs = 1;
	policy->timeout_us = handler->timeout_us;
	policy->stuck = handler->stuck;
	policy->retry = retry_plan_new(&handler->retry);
	policy->resets_tries = true;
	for (int i = 0; i < rules->n; i++)
		if (pattern_fit(rules->rules[i].pattern, type) > 0)
			apply_rule(policy, &asks_stuck, &rules->rules[i]);

	/* A task that is to be ignored is never looked at: nobody would ask. */
	if (asks_stuck && policy->stuck == STUCK_IGNORE)
		policy->stuck = STUCK_ERROR;

	/*
	 * What a SQL handler does and its finish are one transaction: a task of
	 * its that is found PROCESSING has had no effect, and can always run
	 * again.
	 */
	if (handler->mode == HANDLER_SQL)
		policy->stuck = STUCK_RETRY;
	return policy;
}

bool
policy_tries_once(const Policy *policy)
{
	return !policy->asks_retry && retry_plan_tries(policy->retry) == 1;
}

Policy *
policy_ref(Policy *policy)
{
	policy->refs++;
	return policy;
}

void
policy_unref(Policy *policy)
{
	if (policy == NULL)
		return;
	Assert(policy->refs > 0);
	if (--policy->refs > 0)
		return;
	retry_plan_free(policy->retry);
	pfree(policy);
}
