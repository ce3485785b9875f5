/*-------------------------------------------------------------------------
 *
 * limit_rules.c
 *		Limits that count in the whole cluster, as this session knows them.
 *
 *		from: sql/policy/limits.sql		to: slots.h
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "base/table_cache.h"
#include "grab/limit_rules.h"

/* Columns of PLAN_READ_LIMITS. */
enum
{
	READ_PATTERN = 1,
	READ_CONCURRENCY,
	READ_STRETCH,
	READ_STRETCH_PRIORITY,
	READ_RATE,
	READ_PER,
	READ_BURST
};

static TableCache *cache;
static LimitRule *rules;
static LimitCover *covers;		/* as many as rules */
static int	nrules;

static void
read_rule(HeapTuple row, LimitRule *rule)
{
	strlcpy(rule->pattern, cached_text(row, READ_PATTERN), sizeof(rule->pattern));
	rule->concurrency = (int) cached_int8(row, READ_CONCURRENCY, 0);
	rule->stretch = (int) cached_int8(row, READ_STRETCH, 0);
	rule->stretch_priority = (int) cached_int8(row, READ_STRETCH_PRIORITY, 0);
	rule->rate = (int) cached_int8(row, READ_RATE, 0);
	rule->per_us = cached_int8(row, READ_PER, 0);
	rule->burst = (int) cached_int8(row, READ_BURST, 0);
}

static void
read_rules(void)
{
	nrules = (int) SPI_processed;
	rules = palloc0((nrules + 1) * sizeof(LimitRule));
	covers = palloc0((nrules + 1) * sizeof(LimitCover));
	for (int i = 0; i < nrules; i++)
		read_rule(SPI_tuptable->vals[i], &rules[i]);
}

void
limit_rules_init(void)
{
	static const CachedTable tables[] = {{"limit_rule", PLAN_READ_LIMITS, read_rules}};

	cache = table_cache_new("limits", tables, lengthof(tables));
}

bool
limit_rules_any(void)
{
	table_cache_refresh(cache);
	return nrules > 0;
}

/*
 * Two patterns may give one name.  The pattern without a star comes first, and
 * counts.
 */
static int
compare_covers(const void *a, const void *b)
{
	const LimitCover *left = a;
	const LimitCover *right = b;

	if (left->narrowness != right->narrowness)
		return right->narrowness - left->narrowness;
	return (int) limit_pattern_is_keyed(left->rule->pattern) -
		(int) limit_pattern_is_keyed(right->rule->pattern);
}

int
limit_rules_cover(const char *type, const LimitCover **found)
{
	int			n = 0;
	int			kept = 0;

	for (int i = 0; i < nrules; i++)
	{
		covers[n].rule = &rules[i];
		covers[n].narrowness = limit_pattern_name(rules[i].pattern, type, covers[n].name);
		n += covers[n].narrowness >= 0;
	}
	qsort(covers, n, sizeof(LimitCover), compare_covers);
	for (int i = 0; i < n; i++)
		if (i == 0 || covers[i].narrowness != covers[kept - 1].narrowness)
			covers[kept++] = covers[i];
	*found = covers;
	return kept;
}

PG_FUNCTION_INFO_V1(twt_limit_name);
Datum
twt_limit_name(PG_FUNCTION_ARGS)
{
	char	   *pattern = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *type = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char		name[LIMIT_NAME_MAX + 1];

	if (!limit_pattern_valid(pattern, strlen(pattern)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid pattern: \"%s\"", pattern)));
	if (strlen(type) > LIMIT_NAME_MAX || limit_pattern_name(pattern, type, name) < 0)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(name));
}
