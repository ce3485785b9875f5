/*-------------------------------------------------------------------------
 *
 * limit_rules.h
 *		The rules of limits, and which of them cover a type.
 *
 *		from: limit_reader.h		to: type_limits.h
 *
 * A rule is a pattern with the numbers of its limit.  common/limit_pattern.h
 * says which types a pattern covers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_RULES_H
#define TWT_LIMIT_RULES_H

#include "common/limit_pattern.h"
#include "slots/limit.h"

typedef struct LimitRules LimitRules;

typedef struct LimitRule
{
	const char *pattern;
	bool		is_shared;		/* counts in the whole cluster */
	LimitTerms	terms;
} LimitRule;

extern LimitRules *limit_rules_new(void);
extern void limit_rules_free(LimitRules *rules);

/* Copies the rules, which replace all earlier ones. */
extern void limit_rules_set(LimitRules *rules, const LimitRule *from, int n);

/*
 * Finds the rules that cover a type, in the order of limit_covers_sort().  Returns
 * their number; the caller frees *covers.
 */
extern int	limit_rules_cover(const LimitRules *rules, const char *type, LimitCover **covers);

/* The rule that defines the limit with that key; NULL: none. */
extern const LimitRule *limit_rules_find(const LimitRules *rules, const char *key);

#endif							/* TWT_LIMIT_RULES_H */
