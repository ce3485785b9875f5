/*-------------------------------------------------------------------------
 *
 * target.c
 *		The database with the extension, which takes the tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_end.h"
#include "tools/ctl_show.h"
#include "tools/import/rights.h"
#include "tools/import/target.h"

struct Target
{
	Session    *session;
	const char *name;
	const char *processing;
};

static const char check_sql[] =
"SELECT i.status, i.result, i.reason FROM twtasks.import_tasks($1, $2::jsonb, $3, true) i";
static const char add_sql[] =
"SELECT i.status, i.result, i.reason FROM twtasks.import_tasks($1, $2::jsonb, $3) i";
static const char compare_sql[] =
"SELECT c.status, c.result, c.source, c.target FROM twtasks.compare_import($1::jsonb, $2) c";

static const char handled_sql[] =
"SELECT string_agg(DISTINCT pg_catalog.format('%s handles %s', n.name, t.type), ', ') AS handled"
" FROM twtasks.nodes n CROSS JOIN jsonb_array_elements_text($1::jsonb) t(type)"
" WHERE n.ended IS NULL AND n.heartbeat > now() - n.lease"
" AND (n.types IS NULL OR EXISTS (SELECT FROM unnest(n.types) p(pattern)"
" WHERE p.pattern = t.type OR right(p.pattern, 1) = '*' AND starts_with(t.type, left(p.pattern, -1))))";

static const char rights_sql[] =
"SELECT 'USAGE ON SCHEMA twtasks' AS lacks FROM pg_namespace"
" WHERE nspname = 'twtasks' AND NOT has_schema_privilege(oid, 'USAGE')"
" UNION ALL SELECT 'SELECT ON twtasks.' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
" WHERE nspname = 'twtasks' AND relname = 'nodes' AND NOT has_table_privilege(c.oid, 'SELECT')"
" UNION ALL SELECT 'EXECUTE ON FUNCTION twtasks.' || proname FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace"
" WHERE nspname = 'twtasks' AND proname IN ('begin_import', 'import_tasks', 'compare_import', 'end_import')"
" AND NOT has_function_privilege(p.oid, 'EXECUTE') ORDER BY 1 DESC";

static const char begin_sql[] = "SELECT twtasks.begin_import($1, $2::integer) AS is_verified";
static const char end_sql[] = "SELECT twtasks.end_import($1)";

Target *
target_open(const SessionOptions *options, const char *name, const char *processing)
{
	Target	   *target = palloc0(sizeof(Target));

	target->session = session_open(options);
	rights_check(target->session, "target", rights_sql, NULL);
	target->name = name;
	target->processing = processing;
	return target;
}

void
target_close(Target *target)
{
	session_close(target->session);
	pfree(target);
}

PGresult *
target_give(Target *target, TargetCall call, const char *tasks)
{
	const char *values[] = {target->name, tasks, target->processing};

	if (call == TARGET_COMPARE)
		return session_ask(target->session, compare_sql, 2, values + 1);
	return session_ask(target->session, call == TARGET_CHECK ? check_sql : add_sql, 3, values);
}

void
target_refuse_handled(Target *target, const char *types)
{
	PGresult   *rows = session_ask(target->session, handled_sql, 1, &types);

	if (show_value(rows, 0, "handled") != NULL)
		ctl_fail(CTL_REFUSED, "sidecars of the target would start the tasks at once: %s\n"
				 "hint: stop these sidecars, or pause the types and say --while-handled", show_text(rows, 0, "handled"));
	PQclear(rows);
}

bool
target_begin(Target *target, int ended_days)
{
	char		days[16];
	const char *values[] = {target->name, days};
	PGresult   *rows;
	bool		is_verified;

	snprintf(days, sizeof(days), "%d", ended_days);
	rows = session_ask(target->session, begin_sql, 2, values);
	is_verified = strcmp(show_value(rows, 0, "is_verified"), "t") == 0;
	PQclear(rows);
	return is_verified;
}

void
target_end(Target *target)
{
	PQclear(session_ask(target->session, end_sql, 1, &target->name));
}
