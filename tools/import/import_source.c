/*-------------------------------------------------------------------------
 *
 * import_source.c
 *		The tables of TwTasks, read page by page.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>

#include "base/loop.h"
#include "tools/ctl_end.h"
#include "tools/ctl_show.h"
#include "tools/import/import_source.h"
#include "tools/import/rights.h"
#include "tools/import/task_json.h"

/* Readers are looked for this often. */
#define WATCH_STEP_US 250000

struct Source
{
	Session    *session;
	char	   *ended_since;	/* earlier ends do not count */
	char	   *last;			/* id of the last task read; NULL: none */
};

static const char since_sql[] =
"SELECT (now() - $1::integer * interval '1 day')::text AS since";

/*
 * No row is the last of a page for its own size, so a page has one at least.  Sizes
 * are known without reading the values.  A row that fits no message comes without
 * what is large, so that the others can follow.
 */
static const char page_sql[] =
"WITH page AS ("
" SELECT t.* FROM tw_task t WHERE ($1::uuid IS NULL OR t.id > $1::uuid)"
" AND (coalesce(t.status, '') NOT IN ('DONE', 'FAILED', 'CANCELLED') OR t.state_time >= $2::timestamptz)"
" ORDER BY t.id LIMIT 500),"
" found AS ("
" SELECT p.*, k.key, d.data_format, d.data AS new_data, d.task_context_format, d.task_context,"
" coalesce(octet_length(p.type), 0)::bigint + coalesce(octet_length(p.sub_type), 0) + coalesce(octet_length(k.key), 0)"
" + coalesce(octet_length(p.processing_client_id), 0) AS texts,"
" coalesce(octet_length(p.data), 0)::bigint + coalesce(octet_length(d.data), 0) + coalesce(octet_length(d.task_context), 0) AS bytes"
" FROM page p LEFT JOIN tw_task_data d ON d.task_id = p.id LEFT JOIN unique_tw_task_key k ON k.task_id = p.id),"
" judged AS ("
" SELECT f.*, texts > $3::integer OR bytes > $4::integer AS too_large FROM found f),"
" sized AS ("
" SELECT id, CASE WHEN too_large THEN left(type, 120) ELSE type END AS type, status, version,"
" processing_tries_count AS tries, priority, next_event_time, state_time, time_created AS created, data_format,"
" task_context_format AS context_format, too_large,"
" CASE WHEN NOT too_large THEN sub_type END AS sub_type, CASE WHEN NOT too_large THEN key END AS key,"
" CASE WHEN NOT too_large THEN processing_client_id END AS node, CASE WHEN NOT too_large THEN nullif(data, '') END AS old_data,"
" CASE WHEN NOT too_large THEN new_data END AS data, CASE WHEN NOT too_large THEN task_context END AS context,"
" sum(CASE WHEN NOT too_large THEN texts + bytes END) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
" FROM judged)"
" SELECT * FROM sized WHERE coalesce(before, 0) < 4000000 ORDER BY id";

static const char rights_sql[] =
"SELECT format('USAGE ON SCHEMA %I', nspname) AS lacks FROM pg_namespace"
" WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'USAGE')"
" UNION ALL SELECT format('SELECT ON %I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
" WHERE nspname = $1 AND relname IN ('tw_task', 'tw_task_data', 'unique_tw_task_key')"
" AND NOT has_table_privilege(c.oid, 'SELECT') ORDER BY 1 DESC";

static const char count_sql[] =
"SELECT coalesce(status, '') AS status, count(*) AS tasks FROM tw_task"
" WHERE coalesce(status, '') NOT IN ('DONE', 'FAILED', 'CANCELLED') OR state_time >= $1::timestamptz GROUP BY 1";

static const char scans_sql[] =
"SELECT (SELECT s.seq_scan + coalesce(s.idx_scan, 0) FROM pg_stat_user_tables s"
" WHERE s.relid = to_regclass('tw_task')) AS scans,"
" (SELECT string_agg(concat_ws(' ', 'pid', a.pid, a.usename, nullif(a.application_name, ''), a.client_addr), ', ')"
" FROM pg_stat_activity a WHERE a.datname = current_database() AND a.backend_type = 'client backend'"
" AND a.pid <> pg_backend_pid()) AS sessions";

Source *
source_open(const SessionOptions *options, int ended_days)
{
	Source	   *source = palloc0(sizeof(Source));
	char		days[16];
	const char *value = days;
	PGresult   *rows;

	source->session = session_open(options);
	rights_check(source->session, "source", rights_sql, &options->schema);
	snprintf(days, sizeof(days), "%d", ended_days);
	rows = session_ask(source->session, since_sql, 1, &value);
	source->ended_since = pstrdup(ended_days == 0 ? "infinity" : show_value(rows, 0, "since"));
	PQclear(rows);
	return source;
}

void
source_rewind(Source *source)
{
	if (source->last != NULL)
		pfree(source->last);
	source->last = NULL;
}

void
source_close(Source *source)
{
	source_rewind(source);
	session_close(source->session);
	pfree(source->ended_since);
	pfree(source);
}

PGresult *
source_next(Source *source)
{
	char		texts[16];
	char		bytes[16];
	const char *values[] = {source->last, source->ended_since, texts, bytes};
	PGresult   *rows;
	int			n;
	char	   *last;

	snprintf(texts, sizeof(texts), "%d", TASK_TEXTS_MAX);
	snprintf(bytes, sizeof(bytes), "%d", TASK_BYTES_MAX);
	rows = session_ask(source->session, page_sql, lengthof(values), values);
	n = PQntuples(rows);
	last = n > 0 ? pstrdup(show_value(rows, n - 1, "id")) : NULL;

	source_rewind(source);
	source->last = last;
	if (n > 0)
		return rows;
	PQclear(rows);
	return NULL;
}

PGresult *
source_count(Source *source)
{
	return session_ask(source->session, count_sql, 1, (const char *const *) &source->ended_since);
}

/* Reads of the table of tasks by other sessions, as statistics count them. */
static PGresult *
look_at_scans(Source *source)
{
	return session_ask(source->session, scans_sql, 0, NULL);
}

static void
refuse_readers(const char *before, const PGresult *now)
{
	if (strcmp(before, show_value(now, 0, "scans")) != 0)
		ctl_fail(CTL_REFUSED, "other sessions read table tw_task: nodes of TwTasks still run?\n"
				 "detail: Sessions of this database: %s\n"
				 "hint: stop all nodes first; --watch 0s does not look", show_text(now, 0, "sessions"));
}

void
source_watch(Source *source, int64 us)
{
	int64		end = loop_now_us(NULL) + us;
	PGresult   *before;

	if (us == 0)
		return;
	before = look_at_scans(source);
	if (show_value(before, 0, "scans") == NULL)
	{
		fputs("twtasks-import: cannot tell whether nodes of TwTasks still run: tw_task is not a table of this database\n", stderr);
		end = 0;
	}
	for (int64 left; (left = end - loop_now_us(NULL)) > 0;)
	{
		PGresult   *now;

		(void) poll(NULL, 0, (int) (Min(left, WATCH_STEP_US) / 1000) + 1);
		now = look_at_scans(source);
		refuse_readers(show_value(before, 0, "scans"), now);
		PQclear(now);
	}
	PQclear(before);
}
