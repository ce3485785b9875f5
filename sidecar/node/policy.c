/*-------------------------------------------------------------------------
 *
 * policy.c
 *		What is to be done with the tasks of one type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/pattern.h"
#include "node/policy.h"

struct PolicyRules
{
	const char *node;
	PolicyRule *rules;			/* the least special first */
	int			n;
	int			room;
	char	  **paused;			/* patterns */
	int			npaused;
};

PolicyRule
policy_rule(const char *pattern)
{
	return (PolicyRule)
	{
		.pattern = pattern, .timeout_us = -1, .stuck = -1, .asks_stuck = -1,
			.asks_retry = -1, .resets_tries = -1, .aging_us = -1
	};
}

PolicyRules *
policy_rules_new(const char *node)
{
	PolicyRules *rules = palloc0(sizeof(PolicyRules));

	rules->node = node;
	return rules;
}

static void
free_names(char **names)
{
	for (int i = 0; names[i] != NULL; i++)
		pfree(names[i]);
	pfree(names);
}

void
policy_rules_free(PolicyRules *rules)
{
	for (int i = 0; i < rules->n; i++)
	{
		pfree(unconstify(char *, rules->rules[i].pattern));
		if (rules->rules[i].retry != NULL)
			retry_plan_free(rules->rules[i].retry);
		if (rules->rules[i].nodes != NULL)
			free_names(rules->rules[i].nodes);
	}
	if (rules->paused != NULL)
		free_names(rules->paused);
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

int64
policy_rules_aging_us(const PolicyRules *rules)
{
	int64		shortest = 0;

	for (int i = 0; i < rules->n; i++)
	{
		int64		aging_us = rules->rules[i].aging_us;

		if (aging_us > 0 && (shortest == 0 || aging_us < shortest))
			shortest = aging_us;
	}
	return shortest;
}

void
policy_rules_pause(PolicyRules *rules, const char *pattern)
{
	size_t		size = (rules->npaused + 2) * sizeof(char *);

	rules->paused = rules->paused == NULL ? palloc(size) : repalloc(rules->paused, size);
	rules->paused[rules->npaused++] = pstrdup(pattern);
	rules->paused[rules->npaused] = NULL;
}

/* Whether one of the patterns, NULL-terminated, fits. */
static bool
any_fits(char **patterns, const char *name)
{
	for (; *patterns != NULL; patterns++)
		if (pattern_fit(*patterns, name) > 0)
			return true;
	return false;
}

/* What becomes of a type that does not end in the policy itself. */
typedef struct Making
{
	bool		asks_stuck;
	char	  **nodes;			/* NULL: all */
} Making;

/* What the rule sets wins over what less special ones have set. */
static void
apply_rule(Policy *policy, Making *making, const PolicyRule *rule)
{
	if (rule->asks_stuck >= 0)
		making->asks_stuck = rule->asks_stuck;
	if (rule->nodes != NULL)
		making->nodes = rule->nodes;
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
	if (rule->aging_us >= 0)
		policy->aging_us = rule->aging_us;
}

Policy *
policy_make(const PolicyRules *rules, const HandlerConfig *handler,
			const char *type)
{
	Policy	   *policy = palloc0(sizeof(Policy));
	Making		making = {0};

	policy->refs = 1;
	policy->timeout_us = handler->timeout_us;
	policy->stuck = handler->stuck;
	policy->retry = retry_plan_new(&handler->retry);
	policy->resets_tries = true;
	for (int i = 0; i < rules->n; i++)
		if (pattern_fit(rules->rules[i].pattern, type) > 0)
			apply_rule(policy, &making, &rules->rules[i]);

	/* A task that is to be ignored is never looked at: nobody would ask. */
	if (making.asks_stuck && policy->stuck == STUCK_IGNORE)
		policy->stuck = STUCK_ERROR;

	/*
	 * What a SQL handler does and its finish are one transaction: a task of
	 * its that is found PROCESSING has had no effect, and can always run
	 * again.
	 */
	if (handler->mode == HANDLER_SQL)
		policy->stuck = STUCK_RETRY;
	policy->is_taken = (rules->paused == NULL || !any_fits(rules->paused, type)) &&
		(making.nodes == NULL || any_fits(making.nodes, rules->node));
	return policy;
}

int
policy_max_tries(const Policy *policy)
{
	return policy->asks_retry ? 0 : retry_plan_tries(policy->retry);
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
