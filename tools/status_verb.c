/*-------------------------------------------------------------------------
 *
 * status_verb.c
 *		What is wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_show.h"
#include "tools/ctl_sql.h"
#include "tools/status_verb.h"

#define RED "\033[31;1m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

/* Counts of the leader, which never walk the tasks. */
static const char summary_sql[] =
"SELECT current_database()::text AS database, a.environment,"
" (SELECT e.version FROM twtasks.edition() e) AS extension,"
" (SELECT n.name FROM twtasks.nodes n WHERE n.leads LIMIT 1) AS leader,"
" (SELECT count(*) FROM twtasks.nodes n WHERE n.ended IS NULL AND n.heartbeat > clock_timestamp() - n.lease) AS nodes,"
" m.at AS counted, extract(epoch FROM m.age)::integer AS counted_seconds_ago, m.waiting, m.submitted, m.processing, m.errors, m.held,"
" m.capped, m.stuck, extract(epoch FROM twtasks.clock() - m.oldest_submitted)::integer AS oldest_seconds,"
" (SELECT coalesce(l.in_per_min, 0) FROM twtasks.type_loads(max_types => 1) l WHERE l.type IS NULL) AS added_per_minute,"
" f.started_per_minute, f.done_per_minute, f.failed_per_minute, f.retried_per_minute"
" FROM twtasks.adoption_state a LEFT JOIN twtasks.monitor m ON true"
" CROSS JOIN (SELECT" SQL_PER_MINUTE("l.started") "AS started_per_minute," SQL_PER_MINUTE("l.done") "AS done_per_minute,"
SQL_PER_MINUTE("l.failed + l.errors") "AS failed_per_minute," SQL_PER_MINUTE("l.retried") "AS retried_per_minute FROM" SQL_RECENT "l) f";

static const char wrong_sql[] =
"SELECT w.warning, w.since, w.detail, w.hint FROM twtasks.warnings w"
" UNION ALL"
" SELECT 'tasks in ERROR', NULL,"
" format('%s%s %s for a person, the newest since %s', m.errors, CASE WHEN m.capped THEN ' or more' END,"
" CASE m.errors WHEN 1 THEN 'waits' ELSE 'wait' END, date_trunc('second', m.newest_error)),"
" 'twtasksctl errors'"
" FROM twtasks.monitor m WHERE m.errors > 0"
" UNION ALL"
" SELECT 'stuck tasks', NULL,"
" format('%s%s should have moved on, the newest at %s', m.stuck, CASE WHEN m.capped THEN ' or more' END, date_trunc('second', m.newest_stuck)),"
" 'SELECT * FROM twtasks.stuck_tasks'"
" FROM twtasks.monitor m WHERE m.stuck > 0"
" UNION ALL"
" SELECT i.severity || ': ' || i.kind, i.opened, concat_ws('; ', i.summary, i.detail), coalesce(i.hint, 'twtasksctl incidents')"
" FROM twtasks.incidents i WHERE i.resolved IS NULL AND i.silenced_until IS NULL AND i.key NOT LIKE 'warning/%' AND i.kind NOT IN ('error', 'stuck')"
" UNION ALL"
" SELECT 'nobody counts', m.at, format('the last count is %s old', date_trunc('second', m.age)),"
" 'start a sidecar; twtasksctl nodes shows the ones that were there'"
" FROM twtasks.monitor m WHERE m.age > interval '5 minutes'";

static const char *const no_params[] = {NULL};

static void
print_wrong(const Ctl *ctl, const PGresult *rows, int row)
{
	char	   *warning = show_text(rows, row, "warning");
	char	   *detail = show_text(rows, row, "detail");
	char	   *since = show_text(rows, row, "since");
	char	   *hint = show_text(rows, row, "hint");

	printf("%sWRONG%s  %s: %s", ctl->has_color ? RED : "", ctl->has_color ? PLAIN : "", warning, detail);
	if (*since)
		printf(", since %.19s", since);
	printf("\n       try: %s\n", hint);
	pfree(warning);
	pfree(detail);
	pfree(since);
	pfree(hint);
}

static void
print_count(const PGresult *summary, const char *label, const char *column)
{
	const char *value = show_value(summary, 0, column);

	if (value != NULL)
		printf("%s %s   ", label, show_word(summary, 0, column));
}

static void
print_summary(const PGresult *summary)
{
	char	   *database = show_text(summary, 0, "database");
	char	   *environment = show_text(summary, 0, "environment");
	char	   *leader = show_text(summary, 0, "leader");
	const char *nodes = show_word(summary, 0, "nodes");

	printf("%s (%s)   extension %s   %s %s, %s%s   ", database, *environment ? environment : "no environment",
		   show_word(summary, 0, "extension"), nodes, strcmp(nodes, "1") == 0 ? "node" : "nodes",
		   *leader ? "leader " : "no leader", leader);
	if (show_value(summary, 0, "counted"))
		printf("counted %s s ago\n", show_word(summary, 0, "counted_seconds_ago"));
	else
		puts("never counted");
	pfree(database);
	pfree(environment);
	pfree(leader);
}

static void
print_counts(const PGresult *summary)
{
	if (show_value(summary, 0, "counted") == NULL)
		return;
	print_count(summary, "waiting", "waiting");
	print_count(summary, "submitted", "submitted");
	print_count(summary, "running", "processing");
	print_count(summary, "errors", "errors");
	print_count(summary, "held", "held");
	print_count(summary, "oldest, in seconds:", "oldest_seconds");
	puts("");
}

/* The last five minutes; tries only if a sidecar has told of them. */
static void
print_rates(const PGresult *summary)
{
	fputs("per minute:   ", stdout);
	print_count(summary, "added", "added_per_minute");
	print_count(summary, "started", "started_per_minute");
	print_count(summary, "done", "done_per_minute");
	print_count(summary, "failed", "failed_per_minute");
	print_count(summary, "retried", "retried_per_minute");
	puts("");
}

static void
print_status(const Ctl *ctl, const PGresult *summary, const PGresult *wrong)
{
	print_summary(summary);
	for (int row = 0; row < PQntuples(wrong); row++)
		print_wrong(ctl, wrong, row);
	if (PQntuples(wrong) == 0)
		printf("%sOK%s     nothing is wrong\n", ctl->has_color ? GREEN : "", ctl->has_color ? PLAIN : "");
	print_counts(summary);
	print_rates(summary);
}

/* The summary, with one more member. */
static void
print_json(const PGresult *summary, const PGresult *wrong)
{
	StringInfoData out;

	initStringInfo(&out);
	show_json_row(&out, summary, 0, PQnfields(summary));
	out.data[--out.len] = '\0';
	appendStringInfoString(&out, ",\n \"wrong\": ");
	show_json_rows(&out, wrong, PQntuples(wrong), PQnfields(wrong));
	appendStringInfoChar(&out, '}');
	show_document(&out);
}

int
status_run(Ctl *ctl)
{
	PGresult   *summary = ctl_ask(ctl, summary_sql, no_params);
	PGresult   *wrong = ctl_ask(ctl, wrong_sql, no_params);
	int			status = PQntuples(wrong) > 0 ? CTL_WRONG : CTL_DONE;

	if (ctl->is_json)
		print_json(summary, wrong);
	else
		print_status(ctl, summary, wrong);
	PQclear(summary);
	PQclear(wrong);
	return status;
}
