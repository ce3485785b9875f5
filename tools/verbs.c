/*-------------------------------------------------------------------------
 *
 * verbs.c
 *		The verbs of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/status_verb.h"
#include "tools/steer_verb.h"
#include "tools/verb.h"

/* A duration stands for the time so long ago. */
#define MOMENT(n) " CASE WHEN " n " ~ '^[0-9]+ *[a-z]+$' THEN twtasks.clock() - " n "::interval" \
	" ELSE " n "::timestamptz END "

/* The task that ID or --key names. */
#define TASK_ID " coalesce($1::uuid, twtasks.id_of($2)) "
#define TASK_PARAMS "ID", "key"

/* Whether a column fits a type, or the beginning of types and a star. */
#define FITS(column, n) " CASE WHEN " n "::text IS NULL THEN true" \
	" WHEN right(" n ", 1) = '*' THEN starts_with(" column ", left(" n ", -1)) ELSE " column " = " n " END "

#define VIEWER "twtasks_viewer"
#define OPERATOR "twtasks_operator"

#define LOOK "Look"
#define STEER "Steer"

#define KEY {"key", 0, "KEY", "the task with this key, in place of its id"}
#define SINCE {"since", 0, "TIME", "only what happened since then: a time, or a duration such as 2h"}
#define MAX {"max", 0, "N", "at most so many rows; 50 if left out"}
#define TYPE {"type", 0, "TYPE", "only this type, or types that begin so and a *"}
#define REASON {"reason", 0, "TEXT", "the reason, for those who look later"}
#define DROP {"drop", 0, NULL, "remove it"}

#define NO_TASK "there is no such task"

static const VerbOption task_options[] = {KEY, {NULL}};

static const VerbOption list_options[] = {
	TYPE, SINCE, MAX,
	{"status", 0, "STATUS", "only these statuses, with commas between"},
	{"bucket", 0, "BUCKET", "only this bucket"},
	{"error", 0, "TEXT", "only tasks with this text in their error"},
	{NULL}
};

static const VerbOption errors_options[] = {TYPE, MAX, {NULL}};

static const VerbOption audit_options[] = {SINCE, MAX, {NULL}};

static const VerbOption pause_options[] = {
	{"bucket", 0, "BUCKET", "all tasks of this bucket, in place of types"}, REASON, {NULL}
};

static const VerbOption unpause_options[] = {
	{"bucket", 0, "BUCKET", "the bucket, in place of types"}, {NULL}
};

static const VerbOption limit_options[] = {
	{"concurrency", 0, "N", "tasks that may run at once; 0: none starts"},
	{"scope", 0, "SCOPE", "node or cluster; that of the limit, if there is one"},
	{"rate", 0, "N", "tasks that may start in each period"},
	{"per", 0, "TIME", "the period; 1 second if left out"},
	{"burst", 0, "N", "tasks that may start at once after a quiet time"},
	DROP, {NULL}
};

static const VerbOption policy_options[] = {
	{"bucket", 0, "BUCKET", "for tasks that are added without one"},
	{"priority", 0, "N", "the same: 0, urgent, to 9"},
	{"run-timeout", 0, "TIME", "the deadline of a task from its grab"},
	{"queue-time", 0, "TIME", "a task counts as stuck after so long in the queue"},
	{"expires-after", 0, "TIME", "a task does not start so long after it was added"},
	{"stuck", 0, "RULE", "for a task whose node is gone: retry, error, fail or ignore"},
	{"retry", 0, "JSON", "when a failed task is tried again; none: never"},
	{"aging", 0, "TIME", "a waiting task rises by one priority after so long"},
	{"nodes", 0, "NAMES", "nodes that run the type, with commas between"},
	{"when-done", 0, "RULE", "the part of a finished task that is kept: keep, clear or delete"},
	{"unset", 0, "OPTIONS", "remove these options, with commas between, as configure_type() names them"},
	DROP, {NULL}
};

static const VerbOption bucket_options[] = {
	{"concurrency", 0, "N", "tasks of the bucket that may run at once on each node"},
	{"description", 0, "TEXT", "the purpose of the bucket"},
	DROP, {NULL}
};

static const VerbOption schedule_options[] = {
	{"cron", 0, "CRON", "the times, with --type"},
	{"type", 0, "TYPE", "the type of its tasks"},
	{"data", 0, "JSON", "the data of its tasks"},
	{"time-zone", 0, "ZONE", "of the times; UTC if left out"},
	{"missed", 0, "RULE", "for missed occurrences: skip, once or all"},
	{"pause", 0, NULL, "add no tasks from now on"},
	{"resume", 0, NULL, "go on from now"},
	{"run-now", 0, NULL, "add a task now, in addition"},
	REASON, DROP, {NULL}
};

const Verb	verbs[] = {
	{"status", LOOK, "", "says what is wrong, and what to do", NULL, VIEWER, .run = status_run},
	{"list", LOOK, "", "lists tasks, the newest first", list_options, VIEWER,
		.sql = "SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status, t.state_time, t.tries, t.key, t.error"
		" FROM twtasks.tasks t WHERE" FITS("t.type", "$1")
		" AND ($2::text IS NULL OR t.state_time >=" MOMENT("$2") ")"
		" AND ($3::text IS NULL OR t.status = ANY (string_to_array(upper($3), ',')::twtasks.task_status[]))"
		" AND ($4::text IS NULL OR t.bucket = $4)"
		" AND ($5::text IS NULL OR position(lower($5) IN lower(t.error)) > 0)"
		" ORDER BY t.id DESC LIMIT coalesce($6::integer, 50)",
	.params = {"type", "since", "status", "bucket", "error", "max"}},
	{"show", LOOK, "[ID]", "shows a task, without its data", task_options, VIEWER,
		.sql = "SELECT t.* FROM twtasks.tasks t WHERE t.id =" TASK_ID,
	.params = {TASK_PARAMS}, .none = NO_TASK, .is_record = true},
	{"life", LOOK, "[ID]", "shows what happened to a task, in order", task_options, VIEWER,
		.sql = "SELECT h.at, h.event, h.version, h.status, h.actor, h.reason FROM twtasks.task_history h"
		" WHERE h.task_id =" TASK_ID "ORDER BY h.at, h.version",
	.params = {TASK_PARAMS}, .none = NO_TASK},
	{"errors", LOOK, "", "counts the tasks in ERROR by the shape of their error", errors_options, VIEWER,
		.sql = "SELECT e.shape, count(*) AS tasks, min(e.type) AS type, min(e.state_time) AS first_seen,"
		" max(e.state_time) AS last_seen, (array_agg(e.id ORDER BY e.state_time DESC))[1] AS example"
		" FROM (SELECT t.id, t.type, t.state_time, regexp_replace(left(t.error, 200), '[0-9]+', 'N', 'g') AS shape"
		" FROM twtasks.error_tasks t WHERE" FITS("t.type", "$1") ") e"
		" GROUP BY e.shape ORDER BY 2 DESC, 1 LIMIT coalesce($2::integer, 50)",
	.params = {"type", "max"}},
	{"audit", LOOK, "", "lists changes of tasks by hand, the newest first", audit_options, VIEWER,
		.sql = "SELECT a.at, a.actor, a.action, a.task_id, a.from_status, a.to_status, a.reason FROM twtasks.audit a"
		" WHERE ($1::text IS NULL OR a.at >=" MOMENT("$1") ")"
		" ORDER BY a.id DESC LIMIT coalesce($2::integer, 50)",
	.params = {"since", "max"}},
	{"nodes", LOOK, "", "lists the sidecars", NULL, VIEWER,
		.sql = "SELECT n.name, n.incarnation, n.started, n.heartbeat, n.ended, to_jsonb(n.buckets) AS buckets, to_jsonb(n.types) AS types"
	" FROM twtasks.nodes n ORDER BY n.ended DESC NULLS FIRST, n.name"},
	{"pause", STEER, "[TYPE]", "starts no task of a type, of types that begin so and a *, or of a bucket",
		pause_options, OPERATOR, "reason",
		.sql = "SELECT CASE WHEN $2::text IS NULL THEN twtasks.pause_type($1, $3) ELSE twtasks.pause_bucket($2, $3) END AS paused",
	.params = {"TYPE", "bucket", "reason"}, .is_record = true},
	{"unpause", STEER, "[TYPE]", "ends a pause", unpause_options, OPERATOR,
		.sql = "SELECT r.resumed FROM (SELECT CASE WHEN $2::text IS NULL THEN twtasks.resume_type($1)"
		" ELSE twtasks.resume_bucket($2) END AS resumed OFFSET 0) r WHERE r.resumed",
	.params = {"TYPE", "bucket"}, .none = "it is not paused", .is_record = true},
	{"limit", STEER, "[PATTERN]", "shows limits, or sets one", limit_options, VIEWER, .run = steer_run},
	{"policy", STEER, "[PATTERN]", "shows policies of types, or sets one", policy_options, VIEWER, .run = steer_run},
	{"bucket", STEER, "[NAME]", "shows buckets, or makes or changes one", bucket_options, VIEWER, .run = steer_run},
	{"schedule", STEER, "[NAME]", "shows schedules, or makes or changes one", schedule_options, VIEWER, .run = steer_run},
	{NULL}
};
