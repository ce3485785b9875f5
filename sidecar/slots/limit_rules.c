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

/*
 * The narrowness of the rule for the type; below 0: the rule does not cover
 * the type.
 */
static int
find_key(const LimitRule *rule, const char *type, char *key)
{
	key[0] = rule->is_shared ? LIMIT_KEY_SHARED : LIMIT_KEY_OWN;
	return limit_pattern_name(rule->pattern, type, key + 1);
}

/*
 * Orders the widest first: a cluster-wide limit is wider than one of the node.
 * If two rules have one name, the pattern without a star comes last, and so
 * replaces X|*.
 */
static int
compare_covers(const void *a, const void *b)
{
	const LimitCover *left = a;
	const LimitCover *right = b;

	if (left->narrowness != right->narrowness)
		return left->narrowness - right->narrowness;
	if (left->rule->is_shared != right->rule->is_shared)
		return left->rule->is_shared ? -1 : 1;
	return (int) limit_pattern_is_keyed(right->rule->pattern) -
		(int) limit_pattern_is_keyed(left->rule->pattern);
}

/* Keeps only the last of several covers with one key. */
static int
drop_replaced(LimitCover *covers, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
		if (i + 1 == n || strcmp(covers[i].key, covers[i + 1].key) != 0)
			covers[kept++] = covers[i];
	return kept;
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
		cover->narrowness = find_key(cover->rule, type, cover->key);
		if (cover->narrowness >= 0)
			n++;
	}
	qsort(*covers, n, sizeof(LimitCover), compare_covers);
	return drop_replaced(*covers, n);
}

/* A rule for X|K takes precedence over X|*. */
const LimitRule *
limit_rules_find(const LimitRules *rules, const char *key)
{
	const LimitRule *found = NULL;

	for (int i = 0; i < rules->n; i++)
	{
		const LimitRule *rule = &rules->all[i];
		char		own[LIMIT_KEY_SIZE];

		if (find_key(rule, key + 1, own) >= 0 && strcmp(own, key) == 0 &&
			(found == NULL || limit_pattern_is_keyed(found->pattern)))
			found = rule;
	}
	return found;
}
