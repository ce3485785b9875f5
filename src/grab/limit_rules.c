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

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "base/contract.h"
#include "base/interval.h"
#include "base/table_cache.h"
#include "grab/limit_rules.h"

/* Columns of twtasks.limit_rule. */
enum
{
	LIMIT_PATTERN = 1,
	LIMIT_SCOPE,
	LIMIT_CONCURRENCY,
	LIMIT_STRETCH,
	LIMIT_STRETCH_PRIORITY,
	LIMIT_RATE,
	LIMIT_PER,
	LIMIT_BURST
};

static const ShapeColumn limit_columns[] = {
	{"pattern", TEXTOID},
	{"scope", .own_type = "limit_scope"},
	{"concurrency", INT4OID},
	{"stretch", INT4OID},
	{"stretch_priority", INT2OID},
	{"rate", INT4OID},
	{"per", INTERVALOID},
	{"burst", INT4OID}
};

static const Shape limit_shape = SHAPE_BY_NUMBER("limit_rule", limit_columns);

static TableCache *cache;
static LimitRule *rules;
static LimitCover *covers;		/* as many as rules */
static int	nrules;

static void
read_rule(const CachedRows *rows, int i, LimitRule *rule)
{
	const Interval *per = cached_pointer(rows, i, LIMIT_PER);

	strlcpy(rule->pattern, cached_text(rows, i, LIMIT_PATTERN), sizeof(rule->pattern));
	rule->concurrency = (int) cached_int(rows, i, LIMIT_CONCURRENCY, -1);
	rule->stretch = (int) cached_int(rows, i, LIMIT_STRETCH, 0);
	rule->stretch_priority = (int) cached_int(rows, i, LIMIT_STRETCH_PRIORITY, 0);
	rule->rate = (int) cached_int(rows, i, LIMIT_RATE, 0);
	rule->per_us = per == NULL ? 0 : interval_us(per);
	rule->burst = (int) cached_int(rows, i, LIMIT_BURST, 0);
}

static void
read_rules(const CachedRows *rows)
{
	nrules = 0;
	rules = palloc0((rows->n + 1) * sizeof(LimitRule));
	covers = palloc0((rows->n + 1) * sizeof(LimitCover));
	for (int i = 0; i < rows->n; i++)
		if (strcmp(cached_text(rows, i, LIMIT_SCOPE), "cluster") == 0)
			read_rule(rows, i, &rules[nrules++]);
}

void
limit_rules_init(void)
{
	static const CachedTable table = {&limit_shape, read_rules};

	cache = table_cache_new(&table);
}

bool
limit_rules_any(void)
{
	table_cache_refresh(cache);
	return nrules > 0;
}

int
limit_rules_cover(const char *type, const LimitCover **found)
{
	int			n = 0;

	for (int i = 0; i < nrules; i++)
	{
		covers[n].rule = &rules[i];
		n += limit_cover(&covers[n], rules[i].pattern, true, type);
	}
	*found = covers;
	return limit_covers_sort(covers, n);
}

TWT_FUNCTION(twt_limit_name);
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
