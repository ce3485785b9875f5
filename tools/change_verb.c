/*-------------------------------------------------------------------------
 *
 * change_verb.c
 *		Changes of tasks by hand.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "tools/change_verb.h"
#include "tools/ctl_show.h"
#include "tools/ctl_sql.h"
#include "tools/verb.h"

/* change_tasks() takes at most this many. */
#define PREVIEW_MAX 10000

/* Tasks in a transaction. */
#define BATCH 1000

#define RESULTS_MAX 16

/* One change of a task, by the version that its caller has seen. */
typedef struct Single
{
	const char *action;
	const char *sql;
} Single;

static const Single singles[] = {
	{"resume", "SELECT $1 AS id, r.* FROM twtasks.resume_task($1::uuid, $2::bigint, $3) r"},
	{"cancel", "SELECT $1 AS id, r.* FROM twtasks.cancel_task($1::uuid, $2::bigint, $3) r"},
	{"fail", "SELECT $1 AS id, r.* FROM twtasks.fail_task($1::uuid, $2::bigint, $3) r"},
	{"confirm", "SELECT $1 AS id, r.* FROM twtasks.confirm_task($1::uuid, $2::bigint, $3) r"},
	{"hold", "SELECT $1 AS id, r.* FROM twtasks.hold_task($1::uuid, $2::bigint, $3) r"},
	{"reschedule", "SELECT $1 AS id, r.* FROM twtasks.reschedule_task($1::uuid, $2::bigint," SQL_FUTURE("$4") ", $3) r"},
	{"prioritize", "SELECT $1 AS id, r.* FROM twtasks.prioritize_task($1::uuid, $2::bigint, $5::integer, $3) r"},
	{"release", "SELECT $1 AS id, r.* FROM twtasks.release_task($1::uuid, $2::bigint," SQL_FUTURE("$4") ", $3) r"},
	{"reopen", "SELECT $1 AS id, r.* FROM twtasks.reopen_task($1::uuid, $2::bigint," SQL_FUTURE("$4") ", $3) r"},
};

static const char task_sql[] =
"SELECT t.id, t.version, t.type, t.status, t.state_time, t.error FROM twtasks.tasks t WHERE t.id =" SQL_TASK_ID;
static const char *const task_params[] = {"ID", "key", NULL};

/* Options of the filter, in the order of its parameters. */
static const char *const filters[] = {"type", "sub-type", "bucket", "status", "error", "since", "until",
"key-prefix", "node", "added-by", NULL};

#define FILTER "action => $1, pattern => coalesce($4, '*'), reason => $2, run_after =>" SQL_FUTURE("$3") "," \
	" sub_type => $5, bucket => $6, statuses =>" SQL_STATUSES("$7") ", error => $8, since =>" SQL_PAST("$9") "," \
	" until =>" SQL_PAST("$10") ", key_prefix => $11, node => $12, added_by => $13, priority => $14::integer"

static const char preview_sql[] =
"SELECT c.type, c.from_status AS status, count(*) AS tasks, array_agg(c.id)::text AS ids"
" FROM twtasks.change_tasks(" FILTER ", max_tasks => 10000, dry_run => true) c"
" GROUP BY c.type, c.from_status ORDER BY 3 DESC, 1, 2";

static const char change_sql[] =
"SELECT c.result, count(*) AS tasks"
" FROM twtasks.change_tasks(" FILTER ", max_tasks => 10000, ids => ($15::uuid[])[$16::integer:$17::integer]) c"
" GROUP BY c.result ORDER BY 1";

/* Columns of the preview that are shown. */
#define PREVIEW_COLUMNS 3

typedef struct Outcome
{
	char		result[32];
	int64		tasks;
} Outcome;

typedef struct Change
{
	Ctl		   *ctl;
	const char *action;
	const char *values[VERB_PARAMS];
	Outcome		outcomes[RESULTS_MAX];
	int			noutcomes;
	int64		committed;		/* tasks, whatever became of them */
	char		progress[512];	/* told if the rest fails: what is committed */
} Change;

static int64
number(const char *text)
{
	char	   *end;
	int64		value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text || value < 0)
		ctl_fail(CTL_USAGE, "\"%s\" is not a number", text);
	return value;
}

/* People read questions beside a document too. */
static FILE *
people(const Ctl *ctl)
{
	return ctl->is_json ? stderr : stdout;
}

static void
confirm(const Ctl *ctl)
{
	char		answer[16] = "";

	fputs("Continue? [y/N] ", people(ctl));
	fflush(people(ctl));
	if (fgets(answer, sizeof(answer), stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y'))
		ctl_fail(CTL_REFUSED, "nothing was changed");
}

/* ---- One task ---- */

static const char *
single_sql(const char *action)
{
	const Single *single = singles;

	while (strcmp(single->action, action) != 0)
		single++;
	return single->sql;
}

static void
show_task(const Ctl *ctl, const PGresult *task, const char *action)
{
	char	   *type = show_text(task, 0, "type");
	char	   *error = show_text(task, 0, "error");

	fprintf(people(ctl), "would %s %s of type %s: %s since %.19s, version %s%s%s. ", action, show_word(task, 0, "id"), type,
			show_word(task, 0, "status"), show_word(task, 0, "state_time"), show_word(task, 0, "version"),
			*error ? ": " : "", error);
	pfree(type);
	pfree(error);
}

static bool
is_as_wanted(const char *result)
{
	return strcmp(result, "changed") == 0 || strcmp(result, "requested") == 0 || strcmp(result, "unchanged") == 0;
}

static int
change_one(const Ctl *ctl, const char *action)
{
	PGresult   *task = ctl_ask(ctl, task_sql, task_params);
	const char *values[5] = {NULL, ctl_get(ctl, "version"), ctl_get(ctl, "reason"), ctl_get(ctl, "run-after"), ctl_get(ctl, "priority")};
	PGresult   *rows;
	const char *result;

	if (PQntuples(task) == 0)
		ctl_fail(CTL_REFUSED, "there is no such task");
	values[0] = show_value(task, 0, "id");
	if (values[1] == NULL)
	{
		values[1] = show_value(task, 0, "version");
		show_task(ctl, task, action);
		if (ctl_get(ctl, "yes") == NULL)
			confirm(ctl);
		else
			fputc('\n', people(ctl));
	}
	session_need(ctl->session, "twtasks_operator");
	rows = session_ask(ctl->session, single_sql(action), 5, values);
	result = show_word(rows, 0, "result");
	show_record(ctl, rows);
	return result != NULL && is_as_wanted(result) ? CTL_DONE : CTL_REFUSED;
}

/* ---- Many ---- */

static bool
has_filter(const Ctl *ctl)
{
	for (const char *const *filter = filters; *filter; filter++)
		if (ctl_get(ctl, *filter) != NULL)
			return true;
	return false;
}

static int64
total(const PGresult *preview)
{
	int64		tasks = 0;

	for (int row = 0; row < PQntuples(preview); row++)
		tasks += number(show_word(preview, row, "tasks"));
	return tasks;
}

static void
print_preview(const Change *change, const PGresult *preview)
{
	FILE	   *out = people(change->ctl);
	int64		tasks = total(preview);

	fprintf(out, "would %s " INT64_FORMAT "%s task%s", change->action, tasks,
			tasks == PREVIEW_MAX ? " of perhaps more" : "", tasks == 1 ? "" : "s");
	for (int row = 0; row < PQntuples(preview); row++)
	{
		char	   *type = show_text(preview, row, "type");

		fprintf(out, "%s %s in %s %s", row ? "," : ":", type, show_word(preview, row, "status"),
				show_word(preview, row, "tasks"));
		pfree(type);
	}
	fputs(". ", out);
}

static void
add_outcomes(Change *change, const PGresult *rows)
{
	for (int row = 0; row < PQntuples(rows); row++)
	{
		const char *result = show_word(rows, row, "result");
		int			n = 0;

		while (n < change->noutcomes && strcmp(change->outcomes[n].result, result) != 0)
			n++;
		if (n == RESULTS_MAX)
			continue;
		change->noutcomes = Max(change->noutcomes, n + 1);
		strlcpy(change->outcomes[n].result, result, sizeof(change->outcomes[n].result));
		change->outcomes[n].tasks += number(show_word(rows, row, "tasks"));
	}
}

/* Says what is committed, for the message if the next transaction fails. */
static void
note_progress(Change *change, int64 tasks)
{
	char	   *end = change->progress;
	char	   *limit = change->progress + sizeof(change->progress);

	end += snprintf(end, limit - end, "Committed before: " INT64_FORMAT " of " INT64_FORMAT " task%s", change->committed, tasks,
					tasks == 1 ? "" : "s");
	for (int n = 0; n < change->noutcomes && end < limit; n++)
		end += snprintf(end, limit - end, "%s" INT64_FORMAT " %s", n ? ", " : ": ", change->outcomes[n].tasks, change->outcomes[n].result);
	if (end < limit)
		snprintf(end, limit - end, ".\nhint: twtasksctl audit --since 5min has them; the same verb again shows what is left");
	session_note(change->ctl->session, change->progress);
}

/* The tasks of a row of the preview, some in each transaction. */
static void
change_group(Change *change, const PGresult *preview, int row)
{
	int64		tasks = number(show_word(preview, row, "tasks"));
	char		from[24];
	char		until[24];

	change->values[14] = show_value(preview, row, "ids");
	change->values[15] = from;
	change->values[16] = until;
	for (int64 done = 0; done < tasks; done += BATCH)
	{
		PGresult   *rows;

		snprintf(from, sizeof(from), INT64_FORMAT, done + 1);
		snprintf(until, sizeof(until), INT64_FORMAT, done + BATCH);
		note_progress(change, total(preview));
		rows = session_ask(change->ctl->session, change_sql, 17, change->values);
		add_outcomes(change, rows);
		change->committed += Min(BATCH, tasks - done);
		PQclear(rows);
	}
}

static void
print_outcomes(const Change *change)
{
	for (int n = 0; n < change->noutcomes; n++)
		printf("%s" INT64_FORMAT " %s", n ? ", " : "", change->outcomes[n].tasks, change->outcomes[n].result);
	puts(". Audit: twtasksctl audit --since 1min");
}

static void
print_json(const Change *change, const PGresult *preview)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"would_change\": " INT64_FORMAT ",\n \"groups\": ", total(preview));
	show_json_rows(&out, preview, PQntuples(preview), PREVIEW_COLUMNS);
	appendStringInfoString(&out, ",\n \"results\": {");
	for (int n = 0; n < change->noutcomes; n++)
		appendStringInfo(&out, "%s\"%s\": " INT64_FORMAT, n ? ", " : "", change->outcomes[n].result, change->outcomes[n].tasks);
	appendStringInfoString(&out, "}}");
	show_document(&out);
}

static void
check_expected(const Ctl *ctl, int64 tasks)
{
	const char *expected = ctl_get(ctl, "expect");

	if (expected == NULL && ctl_get(ctl, "yes") != NULL && ctl_get(ctl, "dry-run") == NULL)
		ctl_fail(CTL_USAGE, "--yes needs --expect N with a filter\nhint: --dry-run counts the tasks");
	if (expected != NULL && number(expected) != tasks)
		ctl_fail(CTL_REFUSED, "the filter matches " INT64_FORMAT " task%s, and not %s: nothing was changed", tasks,
				 tasks == 1 ? "" : "s", expected);
}

static int
finish(const Change *change, const PGresult *preview)
{
	int			status = CTL_DONE;

	for (int n = 0; n < change->noutcomes; n++)
		if (!is_as_wanted(change->outcomes[n].result))
			status = CTL_REFUSED;
	if (change->ctl->is_json)
		print_json(change, preview);
	else if (change->noutcomes > 0)
		print_outcomes(change);
	return status;
}

static int
change_many(Change *change)
{
	Ctl		   *ctl = change->ctl;
	PGresult   *preview;

	change->values[0] = change->action;
	change->values[1] = ctl_get(ctl, "reason");
	change->values[2] = ctl_get(ctl, "run-after");
	for (int i = 0; filters[i]; i++)
		change->values[3 + i] = ctl_get(ctl, filters[i]);
	change->values[13] = ctl_get(ctl, "priority");
	preview = session_ask(ctl->session, preview_sql, 14, change->values);
	print_preview(change, preview);
	fputs(total(preview) == 0 || ctl_get(ctl, "yes") || ctl_get(ctl, "dry-run") ? "\n" : "", people(ctl));
	check_expected(ctl, total(preview));
	if (total(preview) == 0 || ctl_get(ctl, "dry-run"))
		return finish(change, preview);
	if (ctl_get(ctl, "yes") == NULL)
		confirm(ctl);
	for (int row = 0; row < PQntuples(preview); row++)
		change_group(change, preview, row);
	session_note(ctl->session, NULL);
	return finish(change, preview);
}

int
change_run(Ctl *ctl)
{
	Change		change = {.ctl = ctl, .action = arguments_verb(ctl->arguments)->name};
	bool		is_one = ctl_get(ctl, "ID") != NULL || ctl_get(ctl, "key") != NULL;

	if (is_one && has_filter(ctl))
		ctl_fail(CTL_USAGE, "%s takes an id or a filter, not both", change.action);
	if (is_one && (ctl_get(ctl, "dry-run") != NULL || ctl_get(ctl, "expect") != NULL))
		ctl_fail(CTL_USAGE, "--dry-run and --expect need a filter\nhint: without --yes and --version the task is shown first");
	if (!is_one && ctl_get(ctl, "version") != NULL)
		ctl_fail(CTL_USAGE, "--version needs an id, or --key");
	if (!is_one && !has_filter(ctl))
		ctl_fail(CTL_USAGE, "%s needs an id, or a filter such as --type\nhint: --type '*' means all", change.action);
	return is_one ? change_one(ctl, change.action) : change_many(&change);
}
