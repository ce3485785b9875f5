/*-------------------------------------------------------------------------
 *
 * limit_rules.c
 *		The rules of limits, and which of them cover a type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "slots/limit_rules.h"

struct LimitRules
{
	LimitRule  *all;
	int			n;
};

LimitRules *
limit_rules_new(void)
{
	return palloc0(sizeof(LimitRules));
}

static void
forget(LimitRules *rules)
{
	for (int i = 0; i < rules->n; i++)
		pfree(unconstify(char *, rules->all[i].pattern));
	pfree(rules->all);
}

void
limit_rules_free(LimitRules *rules)
{
	forget(rules);
	pfree(rules);
}

void
limit_rules_set(LimitRules *rules, const LimitRule *from, int n)
{
	forget(rules);
	rules->all = palloc((n + 1) * sizeof(LimitRule));
	rules->n = n;
	for (int i = 0; i < n; i++)
	{
		rules->all[i] = from[i];
		rules->all[i].pattern = pstrdup(from[i].pattern);
	}
}

int
limit_rules_cover(const LimitRules *rules, const char *type, LimitCover **covers)
{
	int			n = 0;

	*covers = palloc((rules->n + 1) * sizeof(LimitCover));
	for (int i = 0; i < rules->n; i++)
	{
		LimitCover *cover = &(*covers)[n];

		cover->rule = &rules->all[i];
		n += limit_cover(cover, rules->all[i].pattern, rules->all[i].is_shared, type);
	}
	return limit_covers_sort(*covers, n);
}

/* A rule for X|K takes precedence over X|*. */
const LimitRule *
limit_rules_find(const LimitRules *rules, const char *key)
{
	const LimitRule *found = NULL;

	for (int i = 0; i < rules->n; i++)
	{
		const LimitRule *rule = &rules->all[i];
		LimitCover	own;

		if (limit_cover(&own, rule->pattern, rule->is_shared, key + 1) && strcmp(own.key, key) == 0 &&
			(found == NULL || limit_pattern_is_keyed(found->pattern)))
			found = rule;
	}
	return found;
}
