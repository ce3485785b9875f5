/*-------------------------------------------------------------------------
 *
 * verbs.c
 *		The verbs of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/change_verb.h"
#include "tools/ctl_sql.h"
#include "tools/doctor_verb.h"
#include "tools/look_verbs.h"
#include "tools/payload_verb.h"
#include "tools/status_verb.h"
#include "tools/steer_verb.h"
#include "tools/verb.h"

#define VIEWER "twtasks_viewer"
#define OPERATOR "twtasks_operator"
#define READER "twtasks_payload_viewer"

#define LOOK VERB_LOOK
#define CHANGE "Change"
#define STEER "Steer"

#define KEY {"key", 0, "KEY", "the task with this key, in place of its id"}
#define SINCE {"since", 0, "TIME", "only what happened since then: a time, or a duration such as 2h"}
#define FILTERS TYPE, SINCE, \
	{"until", 0, "TIME", "only what happened before then"}, \
	{"status", 0, "STATUS", "only these statuses, with commas between"}, \
	{"bucket", 0, "BUCKET", "only this bucket"}, \
	{"sub-type", 0, "TEXT", "only this sub_type"}, \
	{"error", 0, "TEXT", "only tasks with this text in their error"}, \
	{"key-prefix", 0, "TEXT", "only tasks whose key begins so"}, \
	{"node", 0, "NAME", "only tasks that this sidecar grabbed or finished"}, \
	{"added-by", 0, "ROLE", "only tasks that this role added"}
#define MAX {"max", 0, "N", "at most so many rows; 50 if left out"}
#define TYPE {"type", 0, "TYPE", "only this type, or types that begin so and a *"}
#define REASON {"reason", 0, "TEXT", "the reason, for those who look later"}
#define DROP {"drop", 0, NULL, "remove it"}

#define NO_TASK "there is no such task"

static const VerbOption doctor_options[] = {
	{"old", 0, "TIME", "a transaction is old after so long; 1h if left out"}, {NULL}
};

static const VerbOption task_options[] = {KEY, {NULL}};

static const VerbOption life_options[] = {
	KEY, {"ended", 0, "TIME", "read only the history of the day, in UTC, on which the task ended"}, {NULL}
};

static const VerbOption list_options[] = {
	FILTERS, KEY, MAX,
	{"data", 0, "JSON", "only tasks whose data contain this"},
	{"after", 0, "CURSOR", "go on where another list ended"},
	{"budget", 0, "N", "look at so many tasks at most; 20000 if left out"},
	{NULL}
};

static const VerbOption wait_options[] = {
	KEY, {"for", 0, "TIME", "at most so long, such as 10min; without end if left out"}, {NULL}
};

static const VerbOption add_options[] = {
	{"key", 0, "KEY", "no second task with this key is added"},
	{"sub-type", 0, "TEXT", "its sub_type"},
	{"bucket", 0, "BUCKET", "its bucket"},
	{"priority", 0, "N", "0, urgent, to 9"},
	{"run-after", 0, "TIME", "not before: a time, or a duration from now"},
	{NULL}
};

#define CHANGE_OPTIONS REASON, KEY, FILTERS, \
	{"version", 0, "N", "change the task only in this version; without asking"}, \
	{"dry-run", 0, NULL, "only count the tasks that match the filter"}, \
	{"yes", 0, NULL, "do not ask; with a filter, --expect says how many tasks"}, \
	{"expect", 0, "N", "change nothing unless the filter matches so many"}

#define RUN_AFTER {"run-after", 0, "TIME", "when it runs: a time, or a duration from now"}

static const VerbOption change_options[] = {CHANGE_OPTIONS, {NULL}};
static const VerbOption later_options[] = {RUN_AFTER, CHANGE_OPTIONS, {NULL}};

static const VerbOption priority_options[] = {
	{"priority", 0, "N", "0, urgent, to 9"}, CHANGE_OPTIONS, {NULL}
};

static const VerbOption errors_options[] = {TYPE, MAX, {NULL}};

static const VerbOption incidents_options[] = {
	{"all", 0, NULL, "also the ones that are over"}, MAX, {NULL}
};

static const VerbOption what_if_options[] = {
	{"scope", 0, "SCOPE", "node or cluster; cluster if there is such a limit"}, {NULL}
};

static const VerbOption audit_options[] = {SINCE, MAX, {NULL}};

static const VerbOption silence_options[] = {
	{"kind", 0, "KIND", "only incidents of this kind"}, REASON, {NULL}
};

static const VerbOption acknowledge_options[] = {REASON, {NULL}};

static const VerbOption payload_options[] = {REASON, {NULL}};

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
	{"cron", 0, "CRON", "the times; a new schedule needs --type, too"},
	{"type", 0, "TYPE", "the type of its tasks"},
	{"data", 0, "JSON", "the data of its tasks"},
	{"time-zone", 0, "ZONE", "of the times; UTC for a new schedule"},
	{"missed", 0, "RULE", "for missed occurrences: skip, once or all"},
	{"pause", 0, NULL, "add no tasks from now on"},
	{"resume", 0, NULL, "go on from now"},
	{"run-now", 0, NULL, "add a task now, in addition"},
	REASON, DROP, {NULL}
};

const Verb	verbs[] = {
	{"status", LOOK, "", "says what is wrong, and what to do", NULL, VIEWER, .run = status_run},
	{"doctor", LOOK, "", "checks the installation", doctor_options, VIEWER, .run = doctor_run},
	{"why", LOOK, "[ID]", "says why a task does not run, and what would change that", task_options, VIEWER, .run = why_run},
	{"list", LOOK, "", "lists tasks, the newest first", list_options, VIEWER, .run = list_run},
	{"show", LOOK, "[ID]", "shows a task, without its data", task_options, VIEWER,
		.sql = "SELECT t.*, p.percent AS progress, p.note AS progress_note"
		" FROM twtasks.tasks t LEFT JOIN twtasks.progress p ON p.id = t.id WHERE t.id =" SQL_TASK_ID,
	.params = {"ID", "key"}, .none = NO_TASK, .is_record = true},
	{"life", LOOK, "[ID]", "shows what happened to a task, in order", life_options, VIEWER,
		.sql = "SELECT l.at, l.event, l.version, l.status, l.actor, l.node, l.detail FROM twtasks.life(" SQL_TASK_ID "," SQL_PAST("$3") ") l",
	.params = {"ID", "key", "ended"}, .none = NO_TASK},
	{"errors", LOOK, "", "counts the tasks in ERROR by the shape of their error", errors_options, VIEWER,
		.sql = "SELECT g.shape, g.tasks, g.capped, to_jsonb(g.types) AS types, g.first_seen, g.last_seen, g.example, g.example_error"
		" FROM twtasks.error_groups(coalesce($1, '*'), coalesce($2::integer, 50)) g",
	.params = {"type", "max"}},
	{"unknown", LOOK, "", "lists tasks whose outcome nobody knows, and what to type to decide on each", errors_options, VIEWER, .run = unknown_run},
	{"incidents", LOOK, "", "lists the troubles of now, or of all times", incidents_options, VIEWER,
		.sql = "SELECT i.id, i.key, i.severity, i.state, i.opened, i.resolved, i.count, i.summary, i.detail, i.hint, i.silenced_until"
		" FROM twtasks.incidents i WHERE i.resolved IS NULL OR $1::text IS NOT NULL ORDER BY i.id DESC LIMIT coalesce($2::integer, 50)",
	.params = {"all", "max"}},
	{"top", LOOK, "", "lists the types with the most tasks, by the leader's count, and what became of them lately", errors_options, VIEWER,
		.sql = "SELECT m.type, m.waiting, m.submitted, m.processing, m.errors, m.held, m.retrying, m.oldest_submitted,"
		" f.done_per_minute, f.failed_per_minute, f.retried_per_minute"
		" FROM (SELECT c.type, sum(c.tasks) FILTER (WHERE c.status = 'WAITING') AS waiting, sum(c.tasks) FILTER (WHERE c.status = 'SUBMITTED') AS submitted,"
		" sum(c.tasks) FILTER (WHERE c.status = 'PROCESSING') AS processing, sum(c.tasks) FILTER (WHERE c.status = 'ERROR') AS errors,"
		" sum(c.tasks) FILTER (WHERE c.status = 'HELD') AS held, sum(c.retrying) AS retrying,"
		" min(c.oldest) FILTER (WHERE c.status = 'SUBMITTED') AS oldest_submitted, sum(c.tasks) AS tasks"
		" FROM twtasks.monitor_type c GROUP BY c.type) m"
		" LEFT JOIN (SELECT l.type," SQL_PER_MINUTE("l.done") "AS done_per_minute," SQL_PER_MINUTE("l.failed + l.errors") "AS failed_per_minute,"
		SQL_PER_MINUTE("l.retried") "AS retried_per_minute FROM" SQL_RECENT "l GROUP BY l.type) f USING (type)"
		" WHERE" SQL_FITS("m.type", "$1") " ORDER BY m.tasks DESC, m.type LIMIT coalesce($2::integer, 50)",
	.params = {"type", "max"}},
	{"what-if", LOOK, "NAME CONCURRENCY", "says what would happen if a limit had another concurrency", what_if_options, VIEWER,
		.sql = "SELECT w.sentence, w.limit_scope AS scope, w.current, w.running, w.waiting, w.waiting_capped, w.counted, w.added_per_minute,"
		" w.run_seconds, w.per_minute, w.then_per_minute, w.then_empty_after, w.then_bound"
		" FROM twtasks.what_if_limit($1, $2::integer, $3::twtasks.limit_scope) w",
	.params = {"NAME", "CONCURRENCY", "scope"}, .is_record = true},
	{"audit", LOOK, "", "lists changes of tasks by hand, the newest first", audit_options, VIEWER,
		.sql = "SELECT a.at, a.actor, a.action, a.task_id, a.from_status, a.to_status, a.reason FROM twtasks.audit a"
		" WHERE ($1::text IS NULL OR a.at >=" SQL_PAST("$1") ")"
		" ORDER BY a.id DESC LIMIT coalesce($2::integer, 50)",
	.params = {"since", "max"}},
	{"nodes", LOOK, "", "lists the sidecars", NULL, VIEWER,
		.sql = "SELECT n.name, n.incarnation, n.started, n.heartbeat, n.ended, to_jsonb(n.buckets) AS buckets, to_jsonb(n.types) AS types, n.leads"
	" FROM twtasks.nodes n ORDER BY n.ended DESC NULLS FIRST, n.name"},
	{"wait", LOOK, "[ID]", "waits until a task is over; done if it is DONE", wait_options, VIEWER, .run = wait_run},
	{"resume", CHANGE, "[ID]", "runs tasks again that are in ERROR, or now", change_options, OPERATOR, "reason", .run = change_run},
	{"reschedule", CHANGE, "[ID]", "gives tasks that wait another time", later_options, OPERATOR, "reason", .run = change_run},
	{"prioritize", CHANGE, "[ID]", "gives tasks that do not run another priority", priority_options, OPERATOR, "reason", .run = change_run},
	{"cancel", CHANGE, "[ID]", "cancels tasks; a handler that runs is asked to stop", change_options, OPERATOR, "reason", .run = change_run},
	{"fail", CHANGE, "[ID]", "gives up tasks in ERROR", change_options, OPERATOR, "reason", .run = change_run},
	{"confirm", CHANGE, "[ID]", "ends tasks of unknown outcome as DONE, since their effect has happened", change_options, OPERATOR, "reason", .run = change_run},
	{"hold", CHANGE, "[ID]", "keeps tasks from running until they are released", change_options, OPERATOR, "reason", .run = change_run},
	{"release", CHANGE, "[ID]", "lets held tasks go on", later_options, OPERATOR, "reason", .run = change_run},
	{"reopen", CHANGE, "[ID]", "runs tasks again that are FAILED or CANCELLED", later_options, OPERATOR, "reason", .run = change_run},
	{"add", CHANGE, "TYPE [DATA]", "adds a task, with its data as JSON", add_options, "twtasks_producer",
		.sql = "SELECT a.* FROM twtasks.add_task($1, $2::jsonb, key => $3, sub_type => $4, bucket => $5,"
		" priority => $6::integer, run_after =>" SQL_FUTURE("$7") ") a",
	.params = {"TYPE", "DATA", "key", "sub-type", "bucket", "priority", "run-after"}, .is_record = true},
	{"payload", CHANGE, "ID", "shows what a task carries, and notes who read it", payload_options, READER, "reason", .run = payload_run},
	{"export", CHANGE, "ID", "writes a task with what it carries as JSON, and notes who read it", payload_options, READER, "reason", .run = export_run},
	{"import", CHANGE, "", "adds an exported task from standard input where twtasks.testing is on, and holds it", NULL, "twtasks_producer", .run = import_run},
	{"silence", STEER, "PATTERN TIME", "sends no message about incidents of such objects for so long, or until then", silence_options, OPERATOR, "reason",
		.sql = "SELECT twtasks.silence(coalesce($4, '*'), $1," SQL_FUTURE("$2") ", $3) AS id",
	.params = {"PATTERN", "TIME", "reason", "kind"}, .is_record = true},
	{"acknowledge", STEER, "KEY", "says that somebody looks at an incident", acknowledge_options, OPERATOR, "reason",
		.sql = "SELECT r.acknowledged FROM (SELECT twtasks.acknowledge_incident($1, $2) AS acknowledged OFFSET 0) r WHERE r.acknowledged",
	.params = {"KEY", "reason"}, .none = "somebody has acknowledged it before", .is_record = true},
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
