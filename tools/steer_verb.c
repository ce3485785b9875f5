/*-------------------------------------------------------------------------
 *
 * steer_verb.c
 *		Limits, policies, buckets and schedules.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl.h"
#include "tools/ctl_show.h"
#include "tools/steer_verb.h"
#include "tools/verb.h"

/* One thing that a verb does. */
typedef struct Action
{
	const char *verb;
	const char *flag;			/* the option that asks for it; NULL: any
								 * other option does */
	const char *sql;			/* returns one value */
	const char *params[VERB_PARAMS];
} Action;

/*
 * configure_limit() defines a whole limit, so a limit keeps what the call does not
 * name.
 */
static const Action actions[] = {
	{"limit", "drop",
		"SELECT twtasks.drop_limit($1, $2::twtasks.limit_scope)",
	{"PATTERN", "scope"}},
	{"limit", NULL,
		"SELECT twtasks.configure_limit($1::text, coalesce($2::integer, l.concurrency), s.scope::twtasks.limit_scope,"
		" nullif(l.stretch, 0), l.stretch_priority, coalesce($4::integer, l.rate),"
		" coalesce($5::interval, l.per, '1 second'), coalesce($6::integer, l.burst))"
		" FROM (SELECT coalesce($3::text, (SELECT min(o.scope::text) FROM twtasks.limits o WHERE o.pattern = $1), 'node') AS scope) s"
		" LEFT JOIN twtasks.limits l ON l.pattern = $1 AND l.scope::text = s.scope LIMIT 1",
	{"PATTERN", "concurrency", "scope", "rate", "per", "burst"}},
	{"policy", "drop", "SELECT twtasks.drop_type_policy($1)", {"PATTERN"}},
	{"policy", "unset",
		"SELECT twtasks.unset_type_options($1, VARIADIC string_to_array($2, ','))",
	{"PATTERN", "unset"}},
	{"policy", NULL,
		"SELECT twtasks.configure_type($1::text, bucket => $2, priority => $3::integer, timeout => $4::interval,"
		" queue_time => $5::interval, expires_after => $6::interval, stuck => $7::twtasks.stuck_rule,"
		" retry => CASE WHEN $8 = 'none' THEN to_jsonb($8::text) ELSE $8::jsonb END, aging => $9::interval,"
		" nodes => string_to_array($10, ','), when_done => $11::twtasks.done_rule)",
		{"PATTERN", "bucket", "priority", "run-timeout", "queue-time", "expires-after", "stuck", "retry", "aging",
	"nodes", "when-done"}},
	{"bucket", "drop", "SELECT twtasks.drop_bucket($1)", {"NAME"}},
	{"bucket", NULL, "SELECT twtasks.configure_bucket($1, $2, $3::integer)", {"NAME", "description", "concurrency"}},
	{"schedule", "drop", "SELECT twtasks.unschedule($1, $2)", {"NAME", "reason"}},
	{"schedule", "pause", "SELECT twtasks.pause_schedule($1, $2)", {"NAME", "reason"}},
	{"schedule", "resume", "SELECT twtasks.resume_schedule($1, $2)", {"NAME", "reason"}},
	{"schedule", "run-now", "SELECT (twtasks.run_schedule_now($1, $2)).result", {"NAME", "reason"}},
	{"schedule", NULL,
		"SELECT (twtasks.configure_schedule($1, $2, $3, $4::jsonb, time_zone => $5, missed => $6, reason => $7)).result",
	{"NAME", "cron", "type", "data", "time-zone", "missed", "reason"}},
	{NULL}
};

/* The rows of a verb; the operand chooses among them. */
static const Action views[] = {
	{"limit", NULL,
	"SELECT l.* FROM twtasks.limits l WHERE $1::text IS NULL OR l.pattern = $1 ORDER BY l.pattern, l.scope", {"PATTERN"}},
	{"policy", NULL,
		"SELECT p.pattern, jsonb_strip_nulls(to_jsonb(p) - '{pattern,changed_at,changed_by}'::text[]) AS options, p.changed_at, p.changed_by"
	" FROM twtasks.type_policies p WHERE $1::text IS NULL OR p.pattern = $1 ORDER BY p.pattern", {"PATTERN"}},
	{"bucket", NULL,
	"SELECT b.* FROM twtasks.buckets b WHERE $1::text IS NULL OR b.name = $1 ORDER BY b.name", {"NAME"}},
	{"schedule", NULL,
		"SELECT s.name, s.cron, s.time_zone, s.type, s.is_paused, s.next_run, s.last_run, s.last_task, s.last_status, s.last_error, s.problem"
	" FROM twtasks.schedules s WHERE $1::text IS NULL OR s.name = $1 ORDER BY s.name", {"NAME"}},
	{NULL}
};

/* Answers that mean that there was nothing to change. */
static const char *const refusals[] = {"f", "not_found", "not_changed", NULL};

/* Whether an option of the verb is given. */
static bool
is_changing(const Ctl *ctl, const Verb *verb)
{
	for (const VerbOption *option = verb->options; option->name; option++)
		if (ctl_get(ctl, option->name) != NULL)
			return true;
	return false;
}

static const Action *
action_of(const Ctl *ctl, const Verb *verb)
{
	for (const Action *action = actions; action->verb; action++)
		if (strcmp(action->verb, verb->name) == 0 &&
			(action->flag == NULL || ctl_get(ctl, action->flag) != NULL))
			return action;
	ctl_fail(CTL_USAGE, "%s: these options ask for nothing\nhint: twtasksctl %s --help", verb->name, verb->name);
}

static void
change(const Ctl *ctl, const Verb *verb)
{
	const Action *action = action_of(ctl, verb);
	PGresult   *rows;
	const char *answer;

	if (ctl_get(ctl, action->params[0]) == NULL)
		ctl_fail(CTL_USAGE, "%s needs %s", verb->name, action->params[0]);
	session_need(ctl->session, "twtasks_operator");
	rows = ctl_ask(ctl, action->sql, action->params);
	answer = show_first(rows, 0);
	for (const char *const *refusal = refusals; *refusal; refusal++)
		if (strcmp(answer, *refusal) == 0)
			ctl_fail(CTL_REFUSED, "%s \"%s\": there is nothing to change", verb->name, ctl_get(ctl, action->params[0]));
	PQclear(rows);
}

int
steer_run(Ctl *ctl)
{
	const Verb *verb = arguments_verb(ctl->arguments);
	const Action *view = views;
	PGresult   *rows;

	if (is_changing(ctl, verb))
		change(ctl, verb);
	while (strcmp(view->verb, verb->name) != 0)
		view++;
	rows = ctl_ask(ctl, view->sql, view->params);
	show_rows(ctl, rows);
	PQclear(rows);
	return CTL_DONE;
}
