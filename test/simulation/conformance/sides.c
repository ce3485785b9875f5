/*-------------------------------------------------------------------------
 *
 * sides.c
 *		One call on both sides, whose answers and rows must be the same.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "port/pg_bswap.h"

#include "calls/calls.h"
#include "compare.h"
#include "sides.h"
#include "world.h"

/* That one session prepares, at most. */
#define STATEMENTS 20

/* Starts of nodes in one history. */
#define STARTS 200

/* Long enough for any machine: a session that has not ended by then never will. */
#define END_SECONDS 60

static struct
{
	const char *conninfo;
	volatile int64 *clock;		/* since 1970, since the start of the machine */
	PGconn	   *person;
	PGconn	   *listener;
	PGconn	   *sessions[SESSIONS];
	const PgStatement *prepared[SESSIONS][STATEMENTS];
	bool		is_changed;		/* since the last comparison */
	int64		incarnations[STARTS];
	int			nincarnations;
} sides;

static PGconn *
connect_as(const char *user)
{
	char	   *conninfo = psprintf("%s user=%s", sides.conninfo, user);
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		world_fail("could not connect: %s", PQerrorMessage(conn));
	pfree(conninfo);
	return conn;
}

void
sides_ask(const char *sql, const char *param)
{
	PGresult   *result = PQexecParams(sides.person, sql, param == NULL ? 0 : 1, NULL, &param, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		world_fail("%s: %s", sql, PQerrorMessage(sides.person));
	PQclear(result);
	sides.		is_changed = true;
}

void
sides_scheduled_id(int schedule, int64 occurrence_us, uint8 *id)
{
	char	   *sql = psprintf("SELECT task_id FROM twtasks.schedule_run WHERE name = '%d' "
							   "AND occurrence = to_timestamp(" INT64_FORMAT ")", schedule, occurrence_us / SECONDS_TO_US(1));
	PGresult   *result = PQexecParams(sides.person, sql, 0, NULL, NULL, NULL, NULL, 1);

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
		world_fail("schedule %d: the server has not added the task of " INT64_FORMAT, schedule, occurrence_us);
	memcpy(id, PQgetvalue(result, 0, 0), 16);
	PQclear(result);
	pfree(sql);
}

void
sides_open(const char *conninfo, const char *clock)
{
	int			fd = open(clock, O_RDWR);
	void	   *map = fd < 0 ? MAP_FAILED : mmap(NULL, 2 * sizeof(int64), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		world_fail("could not open the clock %s: %m", clock);
	close(fd);
	sides.		clock = map;
	sides.		conninfo = conninfo;
	sides.		person = PQconnectdb(conninfo);
	sides.		listener = PQconnectdb(conninfo);

	if (PQstatus(sides.person) != CONNECTION_OK || PQstatus(sides.listener) != CONNECTION_OK)
		world_fail("could not connect: %s", PQerrorMessage(sides.person));
	server_rows_prepare(sides.listener);
	PQclear(PQexec(sides.listener, call_listen.sql));
}

void
sides_show_time(void)
{
	sides.		clock[0] = model_clock_us();
	sides.		clock[1] = WORLD_EPOCH_US + world_now_us();
}

void
sides_begin(void)
{
	for (int i = 0; i < SESSIONS; i++)
		if (sides_has_session(i))
			sides_disconnect(i);
	model_side_begin();
	sides.		nincarnations = 0;

	sides_show_time();
	sides_ask("TRUNCATE twtasks.task, twtasks.finished_task, twtasks.task_attempt, twtasks.unique_key, twtasks.audit, "
			  "twtasks.cancel_request, twtasks.node, twtasks.pause, twtasks.schedule, twtasks.schedule_run, twtasks.schedule_audit, "
			  "twtasks.type_policy, twtasks.policy_audit", NULL);
}

/* ---- sessions ---- */

bool
sides_has_session(int session)
{
	return sides.sessions[session] != NULL;
}

void
sides_connect(int session)
{
	sides.		sessions[session] = connect_as("sidecar");

	memset(sides.prepared[session], 0, sizeof(sides.prepared[session]));
	model_side_connect(session);
}

static bool
has_backend(const char *pid)
{
	PGresult   *result = PQexecParams(sides.person, "SELECT FROM pg_stat_activity WHERE pid = $1::integer", 1, NULL, &pid,
									  NULL, NULL, 0);
	bool		has = PQntuples(result) > 0;

	PQclear(result);
	return has;
}

void
sides_disconnect(int session)
{
	char	   *pid = psprintf("%d", PQbackendPID(sides.sessions[session]));
	time_t		last = time(NULL) + END_SECONDS;

	PQfinish(sides.sessions[session]);
	sides.		sessions[session] = NULL;

	while (has_backend(pid))
		if (time(NULL) > last)
			world_fail("backend %s does not end", pid);
	model_side_disconnect(session);
	pfree(pid);
}

/* ---- calls ---- */

int64
sides_number_of(int64 incarnation)
{
	for (int i = 0; i < sides.nincarnations; i++)
		if (sides.incarnations[i] == incarnation)
			return i + 1;
	return incarnation;
}

/* As the sidecar does it: see lib/pg/pipeline.c. */
static void
prepare(int session, const PgStatement *statement)
{
	const PgStatement **known = sides.prepared[session];
	PGresult   *result;

	while (*known != NULL && *known != statement)
		known++;
	if (*known == statement)
		return;
	*known = statement;
	result = PQprepare(sides.sessions[session], statement->name, statement->sql, 0, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		world_fail("%s: %s", statement->name, PQerrorMessage(sides.sessions[session]));
	PQclear(result);
}

static PGresult *
execute(int session, const ServerCall *call, const Shape *shape)
{
	const char *values[WIRE_MAX_PARAMS];
	int			lengths[WIRE_MAX_PARAMS];
	int			formats[WIRE_MAX_PARAMS];
	uint64		incarnation;

	for (int i = 0; i < call->params.n; i++)
	{
		values[i] = call->params.nulls[i] ? NULL : call->params.values[i].data;
		lengths[i] = call->params.values[i].len;
		formats[i] = 1;
	}
	if (shape->incarnation >= 0)
	{
		int64		number = wire_int(values[shape->incarnation], 8);

		incarnation = pg_hton64((uint64) (number >= 1 && number <= sides.nincarnations ? sides.incarnations[number - 1] : number));
		values[shape->incarnation] = (char *) &incarnation;
	}
	prepare(session, call->statement);
	return PQexecPrepared(sides.sessions[session], call->statement->name, call->params.n, values, lengths, formats, 1);
}

static void
compare_texts(const char *what, const StringInfoData *model, const StringInfoData *server)
{
	if (strcmp(model->data, server->data) != 0)
		world_fail("%s\nmodel:\n%sserver:\n%s", what, model->data, server->data);
}

void
sides_call(int session, ServerCall *call)
{
	const Shape *shape = shape_of(call->statement);
	const char *state;
	PGresult   *of_server = execute(session, call, shape);
	PGresult   *of_model = model_side_call(session, call, of_server, &state);
	bool		has_failed = PQresultStatus(of_server) != PGRES_TUPLES_OK;
	StringInfoData model;
	StringInfoData server;

	if (call->statement == &call_start_node && !has_failed)
		sides.		incarnations[sides.nincarnations++] = wire_get_int(of_server, 0, START_INCARNATION);

	initStringInfo(&model);
	initStringInfo(&server);
	answer_text(&model, shape, of_model, state, false);
	answer_text(&server, shape, of_server, has_failed ? pg_sqlstate(of_server) : NULL, true);
	if (has_failed)
		appendStringInfo(&server, "%s", PQerrorMessage(sides.sessions[session]));
	world_tell("%s:\n%s", call->statement->name, server.data);
	compare_texts(call->statement->name, &model, &server);
	pfree(model.data);
	pfree(server.data);
	PQclear(of_model);
	PQclear(of_server);
	sides.		is_changed = true;

	wire_clear(&call->params);
}

/* The server tells of all that was committed before it ends the listener's next query. */
static void
read_news(StringInfo to)
{
	PGnotify   *news;

	while ((news = PQnotifies(sides.listener)) != NULL)
	{
		payload_text(to, news->extra);
		PQfreemem(news);
	}
	sort_lines(to);
}

static void
compare_news(void)
{
	StringInfoData model;
	StringInfoData server;

	initStringInfo(&model);
	initStringInfo(&server);
	appendStringInfoString(&model, model_side_news()->data);
	sort_lines(&model);
	resetStringInfo(model_side_news());
	read_news(&server);
	compare_texts("triggers", &model, &server);
	pfree(model.data);
	pfree(server.data);
}

void
sides_compare(void)
{
	StringInfoData model;
	StringInfoData server;

	if (!sides.is_changed)
		return;
	sides.		is_changed = false;

	initStringInfo(&model);
	initStringInfo(&server);
	model_rows_text(&model);
	server_rows_text(&server, sides.listener);
	compare_texts("rows", &model, &server);
	compare_news();
	pfree(model.data);
	pfree(server.data);
}
