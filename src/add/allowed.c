/*-------------------------------------------------------------------------
 *
 * allowed.c
 *		Which roles may add tasks of which types.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "add/allowed.h"
#include "base/plan.h"
#include "common/pattern.h"

typedef struct Rule
{
	char	   *pattern;
	char	   *role;
} Rule;

static Rule *rules;
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
allowed_init(void)
{
	CacheRegisterRelcacheCallback(on_relation_changed, (Datum) 0);
}

static char *
read_text(HeapTuple row, int column)
{
	return MemoryContextStrdup(rules_context, SPI_getvalue(row, SPI_tuptable->tupdesc, column));
}

static void
read_rules(void)
{
	int			count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	count = (int) plan_read(PLAN_READ_ALLOWED);
	rules = MemoryContextAlloc(rules_context, (count + 1) * sizeof(Rule));
	for (int i = 0; i < count; i++)
	{
		rules[i].pattern = read_text(SPI_tuptable->vals[i], 1);
		rules[i].role = read_text(SPI_tuptable->vals[i], 2);
	}
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
			rules_context = AllocSetContextCreate(CacheMemoryContext, "twtasks allowed types",
												  ALLOCSET_SMALL_SIZES);
		MemoryContextReset(rules_context);
		rules_table = get_relname_relid("allowed_type", get_namespace_oid("twtasks", false));
		before = generation;
		read_rules();
	} while (generation != before);
	is_current = true;
}

/* A dropped role has no members and is a member of none. */
static bool
is_in(const char *role, const char *group)
{
	Oid			role_oid = get_role_oid(role, true);
	Oid			group_oid = get_role_oid(group, true);

	return OidIsValid(role_oid) &&
		(OidIsValid(group_oid) ? has_privs_of_role(role_oid, group_oid) : superuser_arg(role_oid));
}

void
allowed_check(const char *type, const char *role)
{
	size_t		best = 0;
	const char *pattern = NULL;

	if (unlikely(!is_current))
		read_all();
	for (int i = 0; i < nrules; i++)
		if (pattern_fit(rules[i].pattern, type) > best)
		{
			pattern = rules[i].pattern;
			best = pattern_fit(pattern, type);
		}
	if (pattern == NULL)
		return;
	for (int i = 0; i < nrules; i++)
		if (strcmp(rules[i].pattern, pattern) == 0 && is_in(role, rules[i].role))
			return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to add tasks of type \"%s\"", type),
			 errdetail("Pattern \"%s\" is allowed for roles of which \"%s\" is no member.", pattern, role),
			 errhint("An administrator can say: SELECT twtasks.allow_type(%s, %s).",
					 quote_literal_cstr(pattern), quote_literal_cstr(role))));
}
