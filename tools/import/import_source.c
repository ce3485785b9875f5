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
 * No row is the last of a page for its own size, so a page has one at least.  The
 * sizes of packed data are known without reading them.
 */
static const char page_sql[] =
"WITH page AS ("
" SELECT t.* FROM tw_task t WHERE ($1::uuid IS NULL OR t.id > $1::uuid)"
" AND (coalesce(t.status, '') NOT IN ('DONE', 'FAILED', 'CANCELLED') OR t.state_time >= $2::timestamptz)"
" ORDER BY t.id LIMIT 500),"
" sized AS ("
" SELECT p.id, p.type, p.sub_type, k.key, p.status, p.version, p.processing_tries_count AS tries, p.priority,"
" p.next_event_time, p.state_time, p.time_created AS created, p.processing_client_id AS node, nullif(p.data, '') AS old_data,"
" d.data_format, d.data, d.task_context_format AS context_format, d.task_context AS context,"
" sum(octet_length(d.data)) OVER (ORDER BY p.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
" FROM page p LEFT JOIN tw_task_data d ON d.task_id = p.id LEFT JOIN unique_tw_task_key k ON k.task_id = p.id)"
" SELECT * FROM sized WHERE coalesce(before, 0) < 4000000 ORDER BY id";

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
	const char *values[] = {source->last, source->ended_since};
	PGresult   *rows = session_ask(source->session, page_sql, 2, values);
	int			n = PQntuples(rows);
	char	   *last = n > 0 ? pstrdup(show_value(rows, n - 1, "id")) : NULL;

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
