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

#include "catalog/namespace.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/plan.h"
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

static LimitRule *rules;
static LimitCover *covers;		/* as many as rules */
static int	nrules;
static MemoryContext rules_context;
static Oid	rules_table;
static bool is_current = false;
static uint64 generation = 0;

/* An invalidation may come at any moment, also while we read. */
static void
on_relation_changed(Datum arg, Oid relation)
{
	if (OidIsValid(relation) && relation != rules_table)
		return;
	is_current = false;
	generation++;
}

void
limit_rules_init(void)
{
	CacheRegisterRelcacheCallback(on_relation_changed, (Datum) 0);
}

static int64
read_int8(HeapTuple row, int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(row, SPI_tuptable->tupdesc, column, &isnull));
}

static void
read_rule(HeapTuple row, LimitRule *rule)
{
	strlcpy(rule->pattern, SPI_getvalue(row, SPI_tuptable->tupdesc, READ_PATTERN),
			sizeof(rule->pattern));
	rule->concurrency = (int) read_int8(row, READ_CONCURRENCY);
	rule->stretch = (int) read_int8(row, READ_STRETCH);
	rule->stretch_priority = (int) read_int8(row, READ_STRETCH_PRIORITY);
	rule->rate = (int) read_int8(row, READ_RATE);
	rule->per_us = read_int8(row, READ_PER);
	rule->burst = (int) read_int8(row, READ_BURST);
}

static void
read_rules(void)
{
	int			count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	count = (int) plan_read(PLAN_READ_LIMITS);
	rules = MemoryContextAllocZero(rules_context, (count + 1) * sizeof(LimitRule));
	covers = MemoryContextAllocZero(rules_context, (count + 1) * sizeof(LimitCover));
	for (int i = 0; i < count; i++)
		read_rule(SPI_tuptable->vals[i], &rules[i]);
	nrules = count;
	SPI_finish();
}

/* A change that arrives while we read may be missing from what we read. */
static void
read_all(void)
{
	uint64		before;

	do
	{
		nrules = 0;
		if (rules_context == NULL)
			rules_context = AllocSetContextCreate(CacheMemoryContext, "twtasks limits",
												  ALLOCSET_SMALL_SIZES);
		MemoryContextReset(rules_context);
		rules_table = get_relname_relid("limit_rule", get_namespace_oid("twtasks", false));
		before = generation;
		read_rules();
	} while (generation != before);
	is_current = true;
}

bool
limit_rules_any(void)
{
	if (unlikely(!is_current))
		read_all();
	return nrules > 0;
}

/*
 * Of two patterns with one name, the one without a star comes first, and
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
