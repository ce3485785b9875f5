/*-------------------------------------------------------------------------
 *
 * payload_verb.c
 *		Verbs that read what a task carries, and carry a task elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_show.h"
#include "tools/payload_verb.h"

/* Larger than any task that add_task() takes, as text with payload in base64. */
#define IMPORT_MAX (512 * 1024 * 1024)

static const char request_sql[] = "SELECT twtasks.request_payload($1::uuid, $2) AS read";
static const char *const request_params[] = {"ID", "reason", NULL};

static const char payload_sql[] = "SELECT p.* FROM twtasks.read_payload($1::bigint) p";

/* PostgreSQL writes the document, so no number changes on its way. */
static const char export_sql[] =
"SELECT json_build_object('id', p.task_id, 'type', p.type, 'sub_type', t.sub_type, 'bucket', t.bucket, 'priority', t.priority, 'key', t.key,"
" 'data', p.data, 'payload', encode(p.payload, 'base64'), 'context', p.context,"
" 'status', t.status, 'version', p.version, 'tries', t.tries, 'created', t.created, 'error', t.error)::text AS task"
" FROM twtasks.read_payload($1::bigint) p JOIN twtasks.tasks t ON t.id = $2::uuid AND t.version = p.version";

/* One statement, so no sidecar sees the task before it is held. */
static const char import_sql[] =
"SELECT a.task_id, a.result, CASE WHEN a.result = 'added' THEN (twtasks.hold_task(a.task_id, 0, 'imported')).result END AS held"
" FROM (SELECT $1::jsonb AS task) g"
" CROSS JOIN LATERAL twtasks.add_task(g.task ->> 'type', nullif(g.task -> 'data', 'null'), sub_type => g.task ->> 'sub_type', bucket => g.task ->> 'bucket',"
" priority => (g.task ->> 'priority')::integer, key => g.task ->> 'key', task_id => (g.task ->> 'id')::uuid,"
" context => nullif(g.task -> 'context', 'null'), payload => decode(g.task ->> 'payload', 'base64')) a";

static const char testing_sql[] = "SELECT coalesce(current_setting('twtasks.testing', true)::boolean, false) AS is_on";

/* The answer of a statement to a request that is committed. */
static PGresult *
read_requested(Ctl *ctl, const char *sql)
{
	PGresult   *request = ctl_ask(ctl, request_sql, request_params);
	const char *values[2] = {show_value(request, 0, "read"), ctl_get(ctl, "ID")};
	PGresult   *rows = session_ask(ctl->session, sql, strstr(sql, "$2") == NULL ? 1 : 2, values);

	PQclear(request);
	if (PQntuples(rows) == 0)
		ctl_fail(CTL_REFUSED, "the task changed meanwhile");
	return rows;
}

int
payload_run(Ctl *ctl)
{
	PGresult   *rows = read_requested(ctl, payload_sql);

	show_record(ctl, rows);
	PQclear(rows);
	return CTL_DONE;
}

int
export_run(Ctl *ctl)
{
	PGresult   *rows;
	const char *task;

	session_need(ctl->session, "twtasks_viewer, twtasks_payload_viewer");
	rows = read_requested(ctl, export_sql);
	task = show_value(rows, 0, "task");
	puts(task != NULL ? task : "null");
	PQclear(rows);
	return CTL_DONE;
}

/* The whole of standard input (palloc'd). */
static char *
read_input(void)
{
	StringInfoData text;
	char		part[65536];
	size_t		n;

	initStringInfo(&text);
	while ((n = fread(part, 1, sizeof(part), stdin)) > 0)
	{
		if (text.len + n > IMPORT_MAX)
			ctl_fail(CTL_USAGE, "standard input is larger than any task");
		appendBinaryStringInfo(&text, part, n);
	}
	if (ferror(stdin))
		ctl_fail(CTL_USAGE, "could not read standard input: %m");
	return text.data;
}

int
import_run(Ctl *ctl)
{
	PGresult   *rows = session_ask(ctl->session, testing_sql, 0, NULL);
	char	   *task;
	int			status;

	if (strcmp(show_word(rows, 0, "is_on"), "t") != 0)
		ctl_fail(CTL_REFUSED, "twtasks.testing is off in this database\n"
				 "hint: a task is imported to be looked at and tried, never into production");
	PQclear(rows);
	task = read_input();
	session_need(ctl->session, "twtasks_producer, twtasks_operator");
	rows = session_ask(ctl->session, import_sql, 1, (const char *const *) &task);
	show_record(ctl, rows);
	status = strcmp(show_word(rows, 0, "result"), "added") == 0 ? CTL_DONE : CTL_REFUSED;
	PQclear(rows);
	pfree(task);
	return status;
}
