/*-------------------------------------------------------------------------
 *
 * limit_rules.h
 *		Limits that count in the whole cluster, as this session knows them.
 *
 *		from: sql/policy/limits.sql		to: slots.h
 *
 * We read the limits at first use, and again after a change of the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_RULES_H
#define TWT_LIMIT_RULES_H

#include "common/limit_pattern.h"

typedef struct LimitRule
{
	char		pattern[LIMIT_NAME_MAX + 1];
	int			concurrency;	/* -1: no limit */
	int			stretch;
	int			stretch_priority;
	int			rate;			/* 0: no limit */
	int64		per_us;
	int			burst;
} LimitRule;

/* Registers the callback; once per process, from _PG_init(). */
extern void limit_rules_init(void);

/* Whether there is any limit.  May read the table. */
extern bool limit_rules_any(void);

/*
 * The limits that cover a type, in the order of limit_covers_sort(); their rules
 * are LimitRules.  Returns how many; they are valid until the next call.
 */
extern int	limit_rules_cover(const char *type, const LimitCover **covers);

#endif							/* TWT_LIMIT_RULES_H */
