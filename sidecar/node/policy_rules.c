/*-------------------------------------------------------------------------
 *
 * policy_rules.c
 *		The rules of the database, and the policy that they make for a type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/pattern.h"
#include "node/policy_rules.h"

struct PolicyRules
{
	PolicyRule *rules;
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
		.pattern = pattern, .timeout_us = -1, .stuck = -1, .max_tries = -1, .runs_here = true
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
		pfree(unconstify(char *, rules->rules[i].pattern));
	for (int i = 0; i < rules->npaused; i++)
		pfree(rules->paused[i]);
	pfree(rules->paused);
	pfree(rules->rules);
	pfree(rules);
}

void
policy_rules_add(PolicyRules *rules, const PolicyRule *rule)
{
	if (rules->n == rules->room)
	{
		rules->room = Max(16, rules->room * 2);
		rules->rules = rules->rules == NULL ?
			palloc(rules->room * sizeof(PolicyRule)) :
			repalloc(rules->rules, rules->room * sizeof(PolicyRule));
	}
	rules->rules[rules->n] = *rule;
	rules->rules[rules->n++].pattern = pstrdup(rule->pattern);
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
	size_t		size = (rules->npaused + 1) * sizeof(char *);

	rules->paused = rules->paused == NULL ? palloc(size) : repalloc(rules->paused, size);
	rules->paused[rules->npaused++] = pstrdup(pattern);
}

static bool
is_paused(const PolicyRules *rules, const char *type)
{
	for (int i = 0; i < rules->npaused; i++)
		if (pattern_fit(rules->paused[i], type) > 0)
			return true;
	return false;
}

/* That of the most special pattern that fits; one that sets nothing if none does. */
static PolicyRule
find_rule(const PolicyRules *rules, const char *type)
{
	PolicyRule	best = policy_rule("");
	size_t		best_fit = 0;

	for (int i = 0; i < rules->n; i++)
	{
		size_t		fit = pattern_fit(rules->rules[i].pattern, type);

		if (fit <= best_fit)
			continue;
		best_fit = fit;
		best = rules->rules[i];
	}
	return best;
}

static StuckRule
choose_stuck(const PolicyRule *rule, const HandlerConfig *handler)
{
	StuckRule	stuck = rule->stuck < 0 ? handler->stuck : (StuckRule) rule->stuck;

	/*
	 * What a SQL handler does and its finish are one transaction: a task of
	 * its that is found PROCESSING has had no effect, and can always run
	 * again.
	 */
	if (handler->is_atomic)
		return STUCK_RETRY;

	/* A task that is to be ignored is never looked at: nobody would ask. */
	return rule->asks_stuck && stuck == STUCK_IGNORE ? STUCK_ERROR : stuck;
}

/* As configure_type() takes it. */
static char *
retry_json(const RetryConfig *retry)
{
	return psprintf("{\"delay\": \"" INT64_FORMAT "us\", \"multiplier\": %.17g, "
					"\"max_delay\": \"" INT64_FORMAT "us\", \"max_tries\": %d, \"jitter\": %.17g}",
					retry->delay_us, retry->multiplier, retry->max_delay_us,
					retry->max_tries, retry->jitter);
}

Policy *
policy_make(const PolicyRules *rules, const HandlerConfig *handler,
			const char *type)
{
	PolicyRule	rule = find_rule(rules, type);
	Policy	   *policy = palloc0(sizeof(Policy));

	policy->refs = 1;
	policy->timeout_us = rule.timeout_us < 0 ? handler->timeout_us : rule.timeout_us;
	policy->stuck = choose_stuck(&rule, handler);
	policy->max_tries = rule.max_tries < 0 ? handler->retry.max_tries : rule.max_tries;
	policy->retry = retry_json(&handler->retry);
	policy->is_taken = rule.runs_here && !is_paused(rules, type);
	policy->aging_us = rule.aging_us;
	return policy;
}
