/*-------------------------------------------------------------------------
 *
 * look_verbs.c
 *		Verbs that look at tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>

#include "base/loop.h"
#include "base/units.h"
#include "tools/ctl_show.h"
#include "tools/ctl_sql.h"
#include "tools/look_verbs.h"
#include "tools/verb.h"

/* Pause between two looks at a task. */
#define WAIT_MS 300

/* Columns of a task; the others belong to the last row. */
#define LIST_COLUMNS 12

static const char list_sql[] =
"SELECT l.id, l.version, l.type, l.sub_type, l.bucket, l.priority, l.status, l.state_time, l.tries, l.key, l.node, l.error,"
" l.cursor, l.looked_at, l.looked_back_to, l.is_complete"
" FROM twtasks.list_tasks(status =>" SQL_STATUSES("$1") ", type => $2, bucket => $3, key => $4, key_prefix => $5,"
" sub_type => $6, node => $7, error => $8, added_by => $9, since =>" SQL_PAST("$10") ", until =>" SQL_PAST("$11") ","
" data => $12::jsonb, after => $13, max_tasks => coalesce($14::integer, 50), budget => coalesce($15::integer, 20000)) l";

static const char *const list_params[] = {"status", "type", "bucket", "key", "key-prefix", "sub-type", "node", "error",
"added-by", "since", "until", "data", "after", "max", "budget", NULL};

static const char why_sql[] = "SELECT w.* FROM twtasks.why(" SQL_TASK_ID ") w";
static const char advice_sql[] =
"SELECT a.value ->> 'do' AS remedy, a.value ->> 'sql' AS command FROM jsonb_array_elements($1::jsonb) a";
static const char unknown_sql[] =
"SELECT u.* FROM twtasks.unknown_outcomes u WHERE" SQL_FITS("u.type", "$1") "ORDER BY u.lost_at DESC, u.id LIMIT coalesce($2::integer, 50)";
static const char *const unknown_params[] = {"type", "max", NULL};
static const char state_sql[] =
"SELECT t.id, t.version, t.type, t.status, t.tries, t.error FROM twtasks.tasks t WHERE t.id =" SQL_TASK_ID;
static const char *const task_params[] = {"ID", "key", NULL};

static const char *
plural(const PGresult *rows, int row, const char *column, const char *one, const char *many)
{
	return strcmp(show_word(rows, row, column), "1") == 0 ? one : many;
}

/* ---- list ---- */

static void
print_page(const PGresult *rows, int last)
{
	const char *cursor = show_value(rows, last, "cursor");

	show_table(rows, last, LIST_COLUMNS);
	if (cursor != NULL)
		printf("looked at %s task%s, back to %.19s; go on with --after %s\n",
			   show_word(rows, last, "looked_at"), plural(rows, last, "looked_at", "", "s"), show_word(rows, last, "looked_back_to"), show_word(rows, last, "cursor"));
}

static void
print_page_json(const PGresult *rows, int last)
{
	static const char *const members[] = {"cursor", "looked_at", "looked_back_to", "is_complete"};
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"tasks\": ");
	show_json_rows(&out, rows, last, LIST_COLUMNS);
	for (size_t i = 0; i < lengthof(members); i++)
	{
		appendStringInfo(&out, ",\n \"%s\": ", members[i]);
		show_json_value(&out, rows, last, PQfnumber(rows, members[i]));
	}
	appendStringInfoChar(&out, '}');
	show_document(&out);
}

int
list_run(Ctl *ctl)
{
	PGresult   *rows = ctl_ask(ctl, list_sql, list_params);

	if (PQntuples(rows) == 0 || PQnfields(rows) < LIST_COLUMNS)
		ctl_fail(CTL_NO_DATABASE, "the server's answer lacks rows or columns");
	if (ctl->is_json)
		print_page_json(rows, PQntuples(rows) - 1);
	else
		print_page(rows, PQntuples(rows) - 1);
	PQclear(rows);
	return CTL_DONE;
}

/* ---- why ---- */

static void
print_advice(const Ctl *ctl, const char *advice)
{
	PGresult   *rows = session_ask(ctl->session, advice_sql, 1, &advice);

	for (int row = 0; row < PQntuples(rows); row++)
	{
		char	   *remedy = show_text(rows, row, "remedy");
		char	   *command = show_text(rows, row, "command");

		printf("  %s%s%s\n", remedy, *command ? ": " : "", command);
		pfree(remedy);
		pfree(command);
	}
	PQclear(rows);
}

int
why_run(Ctl *ctl)
{
	PGresult   *rows;

	ctl_need_task(ctl);
	rows = ctl_ask(ctl, why_sql, task_params);
	if (strcmp(show_word(rows, 0, "reason"), "no such task") == 0)
		ctl_fail(CTL_REFUSED, "there is no such task");
	if (ctl->is_json)
		show_record(ctl, rows);
	else
	{
		char	   *sentence = show_text(rows, 0, "sentence");
		const char *advice = show_value(rows, 0, "advice");

		puts(sentence);
		if (advice != NULL)
			print_advice(ctl, advice);
		pfree(sentence);
	}
	PQclear(rows);
	return CTL_DONE;
}

/* ---- unknown ---- */

/* Verbs that show the task before they ask; HELD: the task was in ERROR before. */
static void
print_decision(const PGresult *rows, int row)
{
	const char *id = show_word(rows, row, "id");
	bool		is_held = strcmp(show_word(rows, row, "status"), "HELD") == 0;

	printf("  if it has happened:      twtasksctl confirm %s --reason '...'\n", id);
	printf("  if it has not happened:  twtasksctl %s %s --reason '...'\n", is_held ? "release --run-after now" : "resume", id);
}

static void
print_unknown(const PGresult *rows, int row)
{
	char	   *type = show_text(rows, row, "type");
	char	   *key = show_text(rows, row, "key");
	char	   *node = show_text(rows, row, "node");
	char	   *why = show_text(rows, row, "why");
	char	   *late = show_text(rows, row, "late_result");

	printf("%s of type %s%s%s: lost at %.19s%s%s: %s\n", show_word(rows, row, "id"), type, *key ? ", key " : "", key,
		   show_word(rows, row, "lost_at"), *node ? " on node " : "", node, why);
	if (*late)
		printf("  its result came too late, at %.19s: %s\n", show_word(rows, row, "late_at"), late);
	print_decision(rows, row);
	pfree(type);
	pfree(key);
	pfree(node);
	pfree(why);
	pfree(late);
}

int
unknown_run(Ctl *ctl)
{
	PGresult   *rows = ctl_ask(ctl, unknown_sql, unknown_params);

	if (ctl->is_json)
		show_rows(ctl, rows);
	else if (PQntuples(rows) == 0)
		puts("no task waits whose outcome is unknown");
	else
		for (int row = 0; row < PQntuples(rows); row++)
			print_unknown(rows, row);
	PQclear(rows);
	return CTL_DONE;
}

/* ---- wait ---- */

static bool
is_over(const char *status)
{
	static const char *const over[] = {"DONE", "FAILED", "CANCELLED", "ERROR", "HELD"};

	for (size_t i = 0; i < lengthof(over); i++)
		if (strcmp(status, over[i]) == 0)
			return true;
	return false;
}

/* Tells each new state, for people who wait. */
static void
tell(const PGresult *rows, char seen[64])
{
	char		now[64];

	snprintf(now, sizeof(now), "%s, version %s, %s %s", show_word(rows, 0, "status"),
			 show_word(rows, 0, "version"), show_word(rows, 0, "tries"), plural(rows, 0, "tries", "try", "tries"));
	if (strcmp(now, seen) != 0)
		fprintf(stderr, "%s\n", now);
	strlcpy(seen, now, 64);
}

static PGresult *
look(const Ctl *ctl, char seen[64])
{
	PGresult   *rows = ctl_ask(ctl, state_sql, task_params);

	if (PQntuples(rows) == 0)
		ctl_fail(CTL_REFUSED, "there is no such task");
	tell(rows, seen);
	return rows;
}

int
wait_run(Ctl *ctl)
{
	const char *most = ctl_get(ctl, "for");
	char		seen[64] = "";
	int64		us = PG_INT64_MAX / 2;
	int64		end;
	PGresult   *rows;
	int			status;

	ctl_need_task(ctl);
	if (most != NULL && !units_parse_duration(most, &us))
		ctl_fail(CTL_USAGE, "--for needs a duration such as 10min, not \"%s\"", most);
	end = loop_now_us(NULL) + us;
	while (rows = look(ctl, seen), !is_over(show_word(rows, 0, "status")))
	{
		if (loop_now_us(NULL) >= end)
			ctl_fail(CTL_REFUSED, "the task is not over after %s", most);
		PQclear(rows);
		(void) poll(NULL, 0, WAIT_MS);
	}
	show_record(ctl, rows);
	status = strcmp(show_word(rows, 0, "status"), "DONE") == 0 ? CTL_DONE : CTL_REFUSED;
	PQclear(rows);
	return status;
}
