/*-------------------------------------------------------------------------
 *
 * compare.c
 *		Answers, rows and triggers as text, the same for both sides.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "common/trigger.h"
#include "compare.h"
#include "sides.h"
#include "tables.h"
#include "world.h"

static const Shape shapes[] = {
	{&call_grab, "uittiiiTn--nnT", 2},
	{&call_grab_bare, "uittiiiTn--nnT", 2},
	{&call_resolve_grab, "uittiiiTn--nn-", 2},
	{&call_resolve_grab_bare, "uittiiiTn--nn-", 2},
	{&call_finish, "uti", 5},
	{&call_resolve_finish, "u", 2},
	{&call_sweep, "uitiin", -1, true},
	{&call_take_cancels, "uibn", 0},
	{&call_start_node, "sn", -1},
	{&call_tick, "bbbiiTibii", 0},
	{&call_end_node, "-", 0},
	{&call_policies, "tt---i-b-", -1},
	{&call_promote, "ii-", -1},
	{&call_expire, "i", -1},
	{&call_schedules, "iiii", -1},
	{&call_recover, "iiii", -1},
};

const Shape *
shape_of(const PgStatement *statement)
{
	for (size_t i = 0; i < lengthof(shapes); i++)
		if (shapes[i].statement == statement)
			return &shapes[i];
	world_fail("the shape of %s is not known", statement->name);
}

/* ---- answers ---- */

static void
put_time(StringInfo to, int64 us)
{
	appendStringInfo(to, "%.6f", (us - WORLD_EPOCH_US) / 1e6);
}

static void
put_id(StringInfo to, const uint8 *id)
{
	char		text[37];

	trigger_id_text(id, text);
	appendStringInfoString(to, text);
}

static void
put_cell(StringInfo to, char kind, const PGresult *result, int row, int column, bool is_server)
{
	int64		number;

	appendStringInfoChar(to, ' ');
	if (kind == '-')
		appendStringInfoChar(to, '-');
	else if (PQgetisnull(result, row, column))
		appendStringInfoString(to, "null");
	else if (kind == 'n')
		appendStringInfoString(to, "some");
	else if (kind == 'u')
		put_id(to, wire_get_uuid(result, row, column));
	else if (kind == 'T')
		put_time(to, wire_get_time(result, row, column));
	else if (kind == 't')
		appendStringInfoString(to, PQgetvalue(result, row, column));
	else if (kind == 'b')
		appendStringInfoChar(to, wire_get_bool(result, row, column) ? 't' : 'f');
	else
	{
		number = wire_get_int(result, row, column);
		appendStringInfo(to, INT64_FORMAT, kind == 's' && is_server ? sides_number_of(number) : number);
	}
}

void
answer_text(StringInfo to, const Shape *shape, const PGresult *result, const char *state, bool is_server)
{
	if (state != NULL)
	{
		appendStringInfo(to, "\terror %s\n", state);
		return;
	}
	for (int row = 0; row < PQntuples(result); row++)
	{
		appendStringInfoChar(to, '\t');
		for (int i = 0; shape->columns[i] != '\0'; i++)
			put_cell(to, shape->columns[i], result, row, i, is_server);
		appendStringInfoChar(to, '\n');
	}
	if (!shape->has_order)
		sort_lines(to);
}

/* ---- rows ---- */

static void
put_named(StringInfo to, const char *name, int64 value)
{
	appendStringInfo(to, " %s " INT64_FORMAT, name, value);
}

static void
put_named_time(StringInfo to, const char *name, int64 us)
{
	appendStringInfo(to, " %s ", name);
	put_time(to, us);
}

static void
model_task_text(StringInfo to, const Row *row)
{
	static const char *const rules[] = {"retry", "error", "fail", "ignore"};

	put_id(to, row->id);
	appendStringInfo(to, " %s %s %s", model_status_name(row->status), model_types[row->type], model_buckets[row->bucket]);
	put_named(to, "version", row->version);
	put_named(to, "priority", row->priority);
	put_named(to, "tries", row->tries);
	put_named(to, "incarnation", row->incarnation);
	put_named(to, "token", row->token);
	if (row->status < ROW_ERROR)
		appendStringInfo(to, " %s%s", row->queued ? "queued" : "not queued", row->cancel == row->version ? " cancel" : "");
	if (row->status <= ROW_ERROR && row->expires_us > 0)
		put_named_time(to, "expires", row->expires_us);
	if (row->status == ROW_WAITING || (row->status == ROW_PROCESSING && !row->queued))
		put_named_time(to, "next", row->next_us);
	if (row->status == ROW_PROCESSING)
	{
		put_named_time(to, "deadline", row->deadline_us);
		put_named_time(to, "grabbed", row->grabbed_us);
		appendStringInfo(to, " %s", rules[row->rule]);
	}
	appendStringInfoChar(to, '\n');
}

static void
model_node_text(StringInfo to, const NodeRow *node)
{
	appendStringInfo(to, "node " INT64_FORMAT "%s", node->incarnation, node->leads ? " leads" : "");
	put_named_time(to, "heartbeat", node->heartbeat_us);
	put_named_time(to, "next tick", node->next_tick_us);
	if (node->missing_us >= 0)
		put_named_time(to, "missing", node->missing_us);
	if (node->silent_us >= 0)
		put_named_time(to, "silent", node->silent_us);
	appendStringInfoChar(to, '\n');
}

static void
schedule_text(StringInfo to, int number, int64 next_us)
{
	appendStringInfo(to, "schedule %d", number);
	if (next_us >= 0)
		put_named_time(to, "next", next_us);
	appendStringInfoChar(to, '\n');
}

void
model_rows_text(StringInfo to)
{
	const NodeRow *node;

	for (int i = 0; i < model_count(); i++)
		if (model_row(i)->status != ROW_DELETED)
			model_task_text(to, model_row(i));
	for (int64 i = 1; (node = nodes_find(i)) != NULL; i++)
		if (!node->has_ended)
			model_node_text(to, node);
	for (int i = 0; i < MODEL_SCHEDULES; i++)
		if (model_schedule(i) != NULL)
			schedule_text(to, i, model_schedule_next_us(i));
	sort_lines(to);
}

#define TASKS_SQL \
	"SELECT t.id, t.status::text, t.type, t.bucket, t.version, t.priority, t.tries, t.incarnation, t.token, " \
	"t.queued, c.id IS NOT NULL AND t.version IS NOT DISTINCT FROM c.version, t.next_event_time, t.deadline, t.state_time, t.stuck::text, t.expires " \
	"FROM twtasks.task t LEFT JOIN twtasks.cancel_requests c ON c.id = t.id " \
	"UNION ALL SELECT f.id, f.status::text, f.type, f.bucket, f.version, f.priority, f.tries, f.incarnation, f.token, " \
	"NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM twtasks.finished_task f"

static void
server_task_text(StringInfo to, const PGresult *rows, int i)
{
	const char *status = PQgetvalue(rows, i, 1);
	bool		is_running = strcmp(status, "PROCESSING") == 0;
	bool		is_queued = wire_get_bool(rows, i, 9);

	put_id(to, wire_get_uuid(rows, i, 0));
	appendStringInfo(to, " %s %s %s", status, PQgetvalue(rows, i, 2), PQgetvalue(rows, i, 3));
	put_named(to, "version", wire_get_int(rows, i, 4));
	put_named(to, "priority", wire_get_int(rows, i, 5));
	put_named(to, "tries", wire_get_int(rows, i, 6));
	put_named(to, "incarnation", sides_number_of(wire_get_int(rows, i, 7)));
	put_named(to, "token", wire_get_int(rows, i, 8));
	if (!PQgetisnull(rows, i, 9) && strcmp(status, "ERROR") != 0)
		appendStringInfo(to, " %s%s", is_queued ? "queued" : "not queued", wire_get_bool(rows, i, 10) ? " cancel" : "");
	if (!PQgetisnull(rows, i, 15))
		put_named_time(to, "expires", wire_get_time(rows, i, 15));
	if (strcmp(status, "WAITING") == 0 || (is_running && !is_queued))
		put_named_time(to, "next", wire_get_time(rows, i, 11));
	if (is_running)
	{
		put_named_time(to, "deadline", wire_get_time(rows, i, 12));
		put_named_time(to, "grabbed", wire_get_time(rows, i, 13));
		appendStringInfo(to, " %s", PQgetvalue(rows, i, 14));
	}
	appendStringInfoChar(to, '\n');
}

#define NODES_SQL \
	"SELECT n.incarnation, n.leads, n.heartbeat, n.next_tick, n.missing_since, n.silent_since " \
	"FROM twtasks.node n WHERE n.ended IS NULL"

static void
server_node_text(StringInfo to, const PGresult *rows, int i)
{
	appendStringInfo(to, "node " INT64_FORMAT "%s", sides_number_of(wire_get_int(rows, i, 0)),
					 wire_get_bool(rows, i, 1) ? " leads" : "");
	put_named_time(to, "heartbeat", wire_get_time(rows, i, 2));
	put_named_time(to, "next tick", wire_get_time(rows, i, 3));
	if (!PQgetisnull(rows, i, 4))
		put_named_time(to, "missing", wire_get_time(rows, i, 4));
	if (!PQgetisnull(rows, i, 5))
		put_named_time(to, "silent", wire_get_time(rows, i, 5));
	appendStringInfoChar(to, '\n');
}

/* Its name is its number. */
#define SCHEDULES_SQL "SELECT s.name::integer, s.next_run FROM twtasks.schedule s"

static void
server_schedule_text(StringInfo to, const PGresult *rows, int i)
{
	schedule_text(to, (int) wire_get_int(rows, i, 0), PQgetisnull(rows, i, 1) ? -1 : wire_get_time(rows, i, 1));
}

static void
put_rows(StringInfo to, PGconn *conn, const char *name, void (*put) (StringInfo to, const PGresult *rows, int i))
{
	PGresult   *rows = PQexecPrepared(conn, name, 0, NULL, NULL, NULL, 1);

	if (PQresultStatus(rows) != PGRES_TUPLES_OK)
		world_fail("could not read the rows: %s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(rows); i++)
		put(to, rows, i);
	PQclear(rows);
}

void
server_rows_prepare(PGconn *conn)
{
	PQclear(PQprepare(conn, "tasks", TASKS_SQL, 0, NULL));
	PQclear(PQprepare(conn, "nodes", NODES_SQL, 0, NULL));
	PQclear(PQprepare(conn, "schedules", SCHEDULES_SQL, 0, NULL));
}

void
server_rows_text(StringInfo to, PGconn *conn)
{
	put_rows(to, conn, "tasks", server_task_text);
	put_rows(to, conn, "nodes", server_node_text);
	put_rows(to, conn, "schedules", server_schedule_text);
	sort_lines(to);
}

/* ---- triggers ---- */

/* Version 0 is a schedule, whose trigger has any id, and a time alone. */
static void
trigger_text(StringInfo to, const char *bucket, int bucket_len, const char *line, int len)
{
	Trigger		trigger;

	if (trigger_decode(line, len, &trigger) && trigger.version == 0)
	{
		appendStringInfo(to, "%.*s a schedule", bucket_len, bucket);
		put_named_time(to, "due", trigger.due_us);
		appendStringInfo(to, " %s\n", trigger.type);
		return;
	}
	appendStringInfo(to, "%.*s %.*s\n", bucket_len, bucket, len, line);
}

void
payload_text(StringInfo to, const char *payload)
{
	const char *line = strchr(payload, '\n');

	while (line != NULL && line[1] != '\0')
	{
		const char *next = strchr(line + 1, '\n');

		trigger_text(to, payload, (int) strcspn(payload, "\n"), line + 1, (int) strcspn(line + 1, "\n"));
		line = next;
	}
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

void
sort_lines(StringInfo text)
{
	static char *lines[4000];
	int			n = 0;
	char	   *copy = pstrdup(text->data);

	for (char *line = strtok(copy, "\n"); line != NULL && n < (int) lengthof(lines); line = strtok(NULL, "\n"))
		lines[n++] = line;
	qsort(lines, n, sizeof(char *), compare_lines);
	resetStringInfo(text);
	for (int i = 0; i < n; i++)
		appendStringInfo(text, "%s\n", lines[i]);
	pfree(copy);
}
