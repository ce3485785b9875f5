/*-------------------------------------------------------------------------
 *
 * allowed.c
 *		Which roles may add tasks of which types.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "add/allowed.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/table_cache.h"
#include "common/pattern.h"
#include "policy/policy.h"

typedef struct Rule
{
	char	   *pattern;
	char	   *role;
} Rule;

static TableCache *cache;
static Rule *rules;
static int	nrules;

/* Columns of twtasks.allowed_type. */
enum
{
	ALLOWED_PATTERN = 1,
	ALLOWED_ROLE
};

static const ShapeColumn allowed_columns[] = {
	{"pattern", TEXTOID},
	{"role", TEXTOID}
};

static const Shape allowed_shape = SHAPE_BY_NUMBER("allowed_type", allowed_columns);

static void
read_rules(const CachedRows *rows)
{
	nrules = rows->n;
	rules = palloc((nrules + 1) * sizeof(Rule));
	for (int i = 0; i < nrules; i++)
	{
		rules[i].pattern = cached_text(rows, i, ALLOWED_PATTERN);
		rules[i].role = cached_text(rows, i, ALLOWED_ROLE);
	}
}

void
allowed_init(void)
{
	static const CachedTable table = {&allowed_shape, read_rules};

	cache = table_cache_new(&table);
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

	table_cache_refresh(cache);
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

void
allowed_check_add(const char *type, const char *role, bool by_owner)
{
	const char *function = policy_any_on_end() ? policy_own_function(policy_find(type)) : NULL;

	if (function == NULL)
		allowed_check(type, role);
	else if (!by_owner)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to add tasks of type \"%s\" by hand", type),
				 errdetail("An extension adds these tasks, and its function \"%s\" hears of their ends.", function),
				 errhint("Use the extension's function, such as twtasks.add_event() or twtasks.start().")));
}

TWT_FUNCTION(twt_check_allowed);
Datum
twt_check_allowed(PG_FUNCTION_ARGS)
{
	allowed_check(text_to_cstring(PG_GETARG_TEXT_PP(0)), GetUserNameFromId(caller_role(), false));
	PG_RETURN_VOID();
}
