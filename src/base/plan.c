/*-------------------------------------------------------------------------
 *
 * plan.c
 *		Statements of the extension, prepared once per session.
 *
 * All SQL text of the C part is here.  Every name and every operator is
 * qualified, so no search_path can change a meaning.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "utils/snapmgr.h"

#include "base/path.h"
#include "base/plan.h"

#define PLAN_MAX_ARGS 16

typedef struct Statement
{
	const char *text;
	int			nargs;
	Oid			types[PLAN_MAX_ARGS];
} Statement;

#define IS_HELD "(t.status OPERATOR(pg_catalog.=) 'HELD'::twtasks.task_status)"

/* Whether a task that is replaced gets a new time; $6: the caller wants that. */
#define MOVES "($6 AND NOT " IS_HELD ")"

/* Changes by hand since the version $16 that started nothing; each is one version. */
#define CHANGES_BY_HAND \
	"(SELECT pg_catalog.count(*) FROM twtasks.audit u " \
	"WHERE u.task_id OPERATOR(pg_catalog.=) $1 AND u.to_version OPERATOR(pg_catalog.>) $16 " \
	"AND u.action OPERATOR(pg_catalog.=) ANY ('{hold,release,prioritize,reschedule}'::pg_catalog.text[]))"

#define NOTE_CANCEL(column, value) \
	"WITH freed AS (DELETE FROM twtasks.cancel_request r " \
	"WHERE r.task_id OPERATOR(pg_catalog.=) $1 RETURNING r.*) " \
	"INSERT INTO twtasks.audit (actor, role, application, action, task_id, from_version, to_version, " \
	"from_status, to_status, reason, before, after" column ") " \
	"SELECT r.actor, r.role, r.application, 'cancel', f.id, f.version OPERATOR(pg_catalog.-) 1, f.version, " \
	"($2 OPERATOR(pg_catalog.->>) 'status')::twtasks.task_status, f.status, r.reason, " \
	"twtasks_internal.only_in($2, n.facts), twtasks_internal.only_in(n.facts, $2)" value " " \
	"FROM freed r CROSS JOIN twtasks.finished_task f " \
	"CROSS JOIN LATERAL (SELECT twtasks_internal.finished_facts(f.*)) n(facts) " \
	"WHERE f.id OPERATOR(pg_catalog.=) $1 AND f.state_time OPERATOR(pg_catalog.=) $3"

static const Statement statements[PLAN_COUNT] = {
	[PLAN_CLAIM_KEY] = {
		"INSERT INTO twtasks.unique_key (task_id, key) VALUES ($1, $2) "
		"ON CONFLICT DO NOTHING",
		2, {UUIDOID, TEXTOID}
	},
	[PLAN_FIND_KEY] = {
		"SELECT k.task_id, k.key FROM twtasks.unique_key k "
		"WHERE k.task_id OPERATOR(pg_catalog.=) $1 OR k.key OPERATOR(pg_catalog.=) $2",
		2, {UUIDOID, TEXTOID}
	},
	[PLAN_PUT_KEY] = {
		"INSERT INTO twtasks.unique_key (task_id, key, put_version) VALUES ($1, $2, 0) "
		"ON CONFLICT DO NOTHING",
		2, {UUIDOID, TEXTOID}
	},
	[PLAN_FIND_PUT] = {
		"SELECT k.put_version FROM twtasks.unique_key k "
		"WHERE k.task_id OPERATOR(pg_catalog.=) $1 AND k.key OPERATOR(pg_catalog.=) $2",
		2, {UUIDOID, TEXTOID}
	},
	[PLAN_TAKE_KEY] = {
		"UPDATE twtasks.unique_key k SET task_id = $1, put_version = 0 "
		"WHERE k.key OPERATOR(pg_catalog.=) $2 AND k.task_id OPERATOR(pg_catalog.=) $3 "
		"AND k.put_version OPERATOR(pg_catalog.=) $4",
		4, {UUIDOID, TEXTOID, UUIDOID, INT8OID}
	},
	[PLAN_REPLACE_TASK] = {
		"WITH found AS MATERIALIZED (SELECT t.id, t.*::twtasks.task AS task, " CHANGES_BY_HAND " AS changes FROM twtasks.task t "
		"WHERE t.id OPERATOR(pg_catalog.=) $1 AND t.type OPERATOR(pg_catalog.=) $2 "
		"AND t.status OPERATOR(pg_catalog.=) ANY ('{WAITING,SUBMITTED,HELD}'::twtasks.task_status[]) "
		"AND t.version OPERATOR(pg_catalog.<=) "
		"($16 OPERATOR(pg_catalog.+) 1 OPERATOR(pg_catalog.+) " CHANGES_BY_HAND ") FOR UPDATE OF t), "
		"replaced AS (UPDATE twtasks.task t SET version = t.version OPERATOR(pg_catalog.+) 1, added_by = $3, size = $4, "
		"priority = $5, sub_type = $10, bucket = $11, data = $12, payload = $13, context = $14, expires = $15, "
		"status = CASE WHEN NOT " MOVES " THEN t.status WHEN $9 THEN 'SUBMITTED'::twtasks.task_status "
		"ELSE 'WAITING'::twtasks.task_status END, "
		"queued = CASE WHEN " MOVES " THEN $9 ELSE t.queued END, "
		"state_time = CASE WHEN " MOVES " THEN $7 ELSE t.state_time END, "
		"next_event_time = CASE WHEN " MOVES " THEN $8 ELSE t.next_event_time END, "
		"planned = CASE WHEN NOT $6 OR NOT " IS_HELD " THEN t.planned WHEN NOT $9 THEN $8 END "
		"FROM found f WHERE t.id OPERATOR(pg_catalog.=) f.id "
		"RETURNING f.task AS was, t.*::twtasks.task AS became, f.changes, t.id, t.version, CASE t.status WHEN 'WAITING'::twtasks.task_status THEN t.next_event_time "
		"WHEN 'SUBMITTED'::twtasks.task_status THEN t.state_time END AS due) "
		"UPDATE twtasks.unique_key k SET put_version = r.version FROM replaced r "
		"WHERE k.task_id OPERATOR(pg_catalog.=) r.id RETURNING r.version, r.due, "
		"CASE WHEN r.changes OPERATOR(pg_catalog.>) 0 THEN twtasks_internal.write_audit('replace', r.id, "
		"twtasks_internal.facts(r.was), twtasks_internal.facts(r.became), NULL) END",
		16, {UUIDOID, TEXTOID, TEXTOID, INT4OID, INT2OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BOOLOID,
		TEXTOID, TEXTOID, JSONBOID, BYTEAOID, JSONBOID, TIMESTAMPTZOID, INT8OID}
	},
	[PLAN_FIND_LIVE] = {
		"SELECT t.version, t.type, t.status OPERATOR(pg_catalog.=) 'HELD'::twtasks.task_status "
		"FROM twtasks.task t WHERE t.id OPERATOR(pg_catalog.=) $1",
		1, {UUIDOID}
	},
	[PLAN_FIND_VERSION] = {
		"SELECT t.version FROM twtasks.task t WHERE t.id OPERATOR(pg_catalog.=) $1",
		1, {UUIDOID}
	},
	[PLAN_FIND_ANYWHERE] = {
		"SELECT f.version FROM twtasks.finished_task f "
		"WHERE f.id OPERATOR(pg_catalog.=) $1 LIMIT 1",
		1, {UUIDOID}
	},
	[PLAN_FIND_FINISHED] = {
		"SELECT f.version, f.status FROM twtasks.finished_task f "
		"WHERE f.id OPERATOR(pg_catalog.=) $1 AND f.state_time OPERATOR(pg_catalog.>=) $2 "
		"AND f.state_time OPERATOR(pg_catalog.<=) $3 LIMIT 1",
		3, {UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	},
	[PLAN_DELETE_TASK] = {
		"DELETE FROM twtasks.task t WHERE t.id OPERATOR(pg_catalog.=) $1",
		1, {UUIDOID}
	},
	[PLAN_TELL_LATE] = {
		"SELECT twtasks_internal.tell_late($1, $2, $3, $4, $5)",
		5, {UUIDARRAYOID, INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, JSONBARRAYOID}
	},
	[PLAN_INSERT_NAMED_TASK] = {
		"INSERT INTO twtasks.task (id, created, state_time, next_event_time, status, queued, size, "
		"priority, added_by, type, sub_type, bucket, key, data, payload, context, expires) "
		"VALUES ($1, $2, $2, $3, "
		"CASE WHEN $4 THEN 'SUBMITTED'::twtasks.task_status ELSE 'WAITING'::twtasks.task_status END, "
		"$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (id) DO NOTHING",
		15, {UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BOOLOID, INT4OID, INT2OID, TEXTOID,
		TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, BYTEAOID, JSONBOID, TIMESTAMPTZOID}
	},
	[PLAN_ANY_CANCEL] = {
		"SELECT FROM twtasks.cancel_request LIMIT 1"
	},
	[PLAN_FIND_CANCEL] = {
		"SELECT c.why, twtasks_internal.facts(t.*) FROM twtasks.cancel_requests c "
		"JOIN twtasks.task t ON t.id OPERATOR(pg_catalog.=) c.id WHERE c.id OPERATOR(pg_catalog.=) $1",
		1, {UUIDOID}
	},
	[PLAN_NOTE_CANCEL] = {
		NOTE_CANCEL(", on_behalf_of", ", r.on_behalf_of"),
		3, {UUIDOID, JSONBOID, TIMESTAMPTZOID}
	},
	[PLAN_NOTE_CANCEL_OF_1_0] = {
		NOTE_CANCEL("", ""),
		3, {UUIDOID, JSONBOID, TIMESTAMPTZOID}
	},
	[PLAN_FREE_KEYS] = {
		"DELETE FROM twtasks.unique_key k WHERE k.task_id OPERATOR(pg_catalog.=) ANY ($1)",
		1, {UUIDARRAYOID}
	},
	[PLAN_FREE_ORPHAN] = {
		"DELETE FROM twtasks.unique_key k WHERE k.task_id OPERATOR(pg_catalog.=) $1 "
		"AND NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id OPERATOR(pg_catalog.=) $1) "
		"AND NOT EXISTS (SELECT FROM twtasks.finished_task f WHERE f.id OPERATOR(pg_catalog.=) $1)",
		1, {UUIDOID}
	},
	[PLAN_BEGIN_HISTORY] = {
		"SELECT twtasks_internal.begin_history()"
	},
	[PLAN_BEGIN_ATTEMPTS] = {
		"SELECT twtasks_internal.begin_history('task_attempt')"
	},
	[PLAN_IS_KNOWN_TYPE] = {
		"SELECT 1 WHERE twtasks_internal.is_known_type($1)",
		1, {TEXTOID}
	},
	[PLAN_KNOWN_TYPES] = {
		"SELECT h.pattern FROM twtasks.handled_type h "
		"UNION ALL SELECT p.pattern FROM twtasks.type_policy p"
	},
	[PLAN_LOCK_SLOTS] = {
		"SELECT u.epoch, u.used_at, u.ids, u.versions, u.incarnations, u.waiting, u.tokens "
		"FROM (SELECT n.epoch FROM twtasks.slot_use n "
		"WHERE n.name OPERATOR(pg_catalog.=) $1 AND n.epoch OPERATOR(pg_catalog.>) 0 "
		"ORDER BY n.epoch DESC LIMIT 1) newest "
		"CROSS JOIN LATERAL (SELECT s.* FROM twtasks.slot_use s "
		"WHERE s.name OPERATOR(pg_catalog.=) $1 AND s.epoch OPERATOR(pg_catalog.=) newest.epoch "
		"FOR NO KEY UPDATE SKIP LOCKED) u",
		1, {TEXTOID}
	},
	[PLAN_FIND_SLOTS] = {
		"SELECT FROM twtasks.slot_use u "
		"WHERE u.name OPERATOR(pg_catalog.=) $1 AND u.epoch OPERATOR(pg_catalog.=) 0",
		1, {TEXTOID}
	},
	[PLAN_MAKE_SLOTS] = {
		"SELECT twtasks_internal.make_slots($1)",
		1, {TEXTOID}
	},
	[PLAN_STORE_SLOTS] = {
		"UPDATE twtasks.slot_use u SET epoch = u.epoch OPERATOR(pg_catalog.+) 1, used_at = $3, "
		"ids = $4, versions = $5, incarnations = $6, waiting = $7, tokens = $8 "
		"WHERE u.name OPERATOR(pg_catalog.=) $1 AND u.epoch OPERATOR(pg_catalog.=) $2",
		8, {TEXTOID, INT8OID, TIMESTAMPTZOID, UUIDARRAYOID, INT8ARRAYOID, INT8ARRAYOID,
		INT8ARRAYOID, FLOAT8OID}
	},
	[PLAN_KEEP_IDS_NEW] = {
		"SELECT twtasks_internal.keep_ids_new() FROM twtasks.event_id_seq s LEFT JOIN twtasks.event_place p ON true "
		"WHERE p.timeline IS NULL OR p.timeline OPERATOR(pg_catalog.<>) $1 "
		"OR s.last_value OPERATOR(pg_catalog.<) $2",
		2, {INT8OID, INT8OID}
	},
	[PLAN_RAISE_IDS] = {
		"SELECT twtasks_internal.raise_ids($1)",
		1, {INT8OID}
	},
	[PLAN_FIND_OBJECT] = {
		"SELECT o.last_id, o.sent_id, s.type, s.bucket, s.batch, s.priority FROM twtasks.event_object o "
		"JOIN twtasks.event_stream s ON s.name OPERATOR(pg_catalog.=) o.stream "
		"WHERE o.stream OPERATOR(pg_catalog.=) $1 AND o.object OPERATOR(pg_catalog.=) $2",
		2, {TEXTOID, TEXTOID}
	},
	[PLAN_TAKE_EVENT] = {
		"DELETE FROM twtasks.event e WHERE e.ctid OPERATOR(pg_catalog.=) (SELECT n.ctid FROM twtasks.event n "
		"WHERE n.stream OPERATOR(pg_catalog.=) $1 AND n.object OPERATOR(pg_catalog.=) $2 "
		"ORDER BY n.seq LIMIT 1) RETURNING e.seq, e.event, e.size",
		2, {TEXTOID, TEXTOID}
	},
	[PLAN_TAKE_EVENTS] = {
		"DELETE FROM twtasks.event e WHERE e.ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT q.place FROM ("
		"SELECT c.place, c.size, pg_catalog.sum(c.size) OVER (ORDER BY c.seq ROWS UNBOUNDED PRECEDING) AS total FROM ("
		"SELECT n.seq, n.size OPERATOR(pg_catalog.+) 120 AS size, n.ctid AS place FROM twtasks.event n "
		"WHERE n.stream OPERATOR(pg_catalog.=) $1 AND n.object OPERATOR(pg_catalog.=) $2 "
		"ORDER BY n.seq LIMIT $3) c) q "
		"WHERE q.total OPERATOR(pg_catalog.<=) $4 OR q.total OPERATOR(pg_catalog.=) q.size)) "
		"RETURNING e.seq, e.event, e.size",
		4, {TEXTOID, TEXTOID, INT4OID, INT8OID}
	},
	[PLAN_SET_HEAD] = {
		"UPDATE twtasks.event_object o SET head = $3, last_id = $4, sent_id = $5, problem = NULL "
		"WHERE o.stream OPERATOR(pg_catalog.=) $1 AND o.object OPERATOR(pg_catalog.=) $2",
		5, {TEXTOID, TEXTOID, UUIDOID, INT8OID, INT8OID}
	},
	[PLAN_LIST_OBJECT] = {
		"INSERT INTO twtasks.objects_with_events (stream, object) VALUES ($1, $2)",
		2, {TEXTOID, TEXTOID}
	},
	[PLAN_LIST_GOES_ON] = {
		"SELECT twtasks_internal.go_on_after($1, $2), twtasks_internal.ask_duties($3)",
		3, {TEXTOID, TEXTOID, TEXTOID}
	},
};

static SPIPlanPtr plans[PLAN_COUNT];

static SPIPlanPtr
get_plan(PlanId id)
{
	const Statement *s = &statements[id];
	SPIPlanPtr	plan;

	if (plans[id] != NULL)
		return plans[id];
	plan = SPI_prepare(s->text, s->nargs, (Oid *) s->types);
	if (plan == NULL)
		elog(ERROR, "could not prepare statement %d: %s", id,
			 SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	plans[id] = plan;
	return plan;
}

int
plan_begin(void)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	return path_pin();
}

void
plan_end(int pinned)
{
	path_unpin(pinned);
	SPI_finish();
}

static uint64
rows_of(PlanId id, int code)
{
	if (code < 0)
		elog(ERROR, "could not execute statement %d: %s", id,
			 SPI_result_code_string(code));
	return SPI_processed;
}

uint64
plan_execute(PlanId id, Datum *values, const char *nulls)
{
	return rows_of(id, SPI_execute_plan(get_plan(id), values, nulls, false, 0));
}

uint64
plan_query_latest(PlanId id, Datum *values)
{
	return rows_of(id, SPI_execute_snapshot(get_plan(id), values, NULL, GetLatestSnapshot(),
											InvalidSnapshot, false, false, 0));
}
