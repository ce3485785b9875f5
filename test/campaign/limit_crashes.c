/*-------------------------------------------------------------------------
 *
 * limit_crashes.c
 *		Nodes that crash at any moment, under limits of the whole cluster.
 *
 * Several processes play nodes: each begins an incarnation, grabs tasks of
 * random types and finishes them, and crashes somewhere between, in one of
 * many ways, again and again.  One process plays the leader, and recovers what
 * is left behind.  One looks at the tasks all the time: what is PROCESSING
 * under nodes that have not ended must never be more than a limit allows.
 *
 * At the end nothing runs, and each limit must let through exactly as many
 * tasks as it says: one less would be a slot that is lost, one more a slot
 * that is there twice.
 *
 *		limit_crashes CRASHES [SERVER_CRASHES]
 *
 * It goes on until all of that has happened, and limits were used to the full
 * and refused something.  TWT_TEST_SEED makes each process choose as it did
 * before, not at the same moments.
 *
 * The database is libpq's (PGHOST and so on), with the extension in it and
 * nothing else; to crash the server, the caller must be able to kill its
 * processes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libpq-fe.h"

#define NODES 6
#define EACH_TYPE 60
#define GRAB_MOST 12
#define PATIENCE_S 120

/* Counters that the processes share; they add to them atomically. */
typedef struct Shared
{
	int64		crashes;
	int64		server_crashes;
	int64		won;
	int64		refused;
	int64		looks;
	int64		full;			/* looks that saw a limit used to the full */
	int64		violations;
} Shared;

static Shared *shared;
static unsigned seed;

#define COUNT(what, n) __atomic_fetch_add(&shared->what, n, __ATOMIC_SEQ_CST)
#define COUNTED(what) __atomic_load_n(&shared->what, __ATOMIC_SEQ_CST)

static const char *const types[] = {
	"PAY", "PAY|a", "PAY|a|EUR", "PAY|b", "PAY|c", "PAY|vip", "MAIL_IN", "MAIL_OUT", "OTHER"
};

/* Limits; which types they count, in words of their own; a type to fill them. */
typedef struct Limited
{
	const char *configured;
	const char *counts;
	const char *type;
	int			max;
} Limited;

static const Limited limits[] = {
	{"'*', 20", "true", "OTHER", 20},
	{"'PAY', 9", "type ~ '^PAY($|[|])'", "PAY", 9},
	{"'PAY|*', 3", "type ~ '^PAY[|]a($|[|])'", "PAY|a", 3},
	{"'PAY|*', 3", "type = 'PAY|b'", "PAY|b", 3},
	{"'PAY|*', 3", "type = 'PAY|c'", "PAY|c", 3},
	{"'PAY|vip', 5", "type = 'PAY|vip'", "PAY|vip", 5},
	{"'MAIL*', 6", "type ~ '^MAIL'", "MAIL_IN", 6},
};

/* ---- small things ---- */

static int
below(int limit)
{
	return (int) (random() % limit);
}

static void
pause_us(int64 us)
{
	struct timespec span = {us / 1000000, (us % 1000000) * 1000};

	(void) nanosleep(&span, NULL);	/* workload, or between two looks */
}

static void
die(const char *what, PGconn *conn)
{
	fprintf(stderr, "limit_crashes: %s: %s\n", what,
			conn == NULL ? "gave up" : PQerrorMessage(conn));
	fprintf(stderr, "TWT_TEST_SEED=%u\n", seed);
	exit(1);
}

static void
ignore_notice(void *arg, const char *message)
{
}

/* The server may be away for a moment. */
static PGconn *
connect_patiently(void)
{
	for (int i = 0; i < PATIENCE_S * 100; i++)
	{
		PGconn	   *conn = PQconnectdb("");

		if (PQstatus(conn) == CONNECTION_OK)
		{
			PQsetNoticeProcessor(conn, ignore_notice, NULL);
			return conn;
		}
		PQfinish(conn);
		pause_us(10000);
	}
	die("no connection", NULL);
	return NULL;
}

/* NULL: it came to nothing. */
static PGresult *
query(PGconn *conn, const char *sql)
{
	PGresult   *result = PQexec(conn, sql);

	if (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)
		return result;
	PQclear(result);
	return NULL;
}

/* -1: no number. */
static int64
number(PGconn *conn, const char *sql)
{
	PGresult   *result = query(conn, sql);
	int64		value = -1;

	if (result != NULL && PQntuples(result) > 0 && !PQgetisnull(result, 0, 0))
		value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return value;
}

static void
must(PGconn *conn, const char *sql)
{
	PGresult   *result = query(conn, sql);

	if (result == NULL)
		die(sql, conn);
	PQclear(result);
}

/* ---- a node ---- */

typedef struct Node
{
	PGconn	   *conn;
	int64		incarnation;
	int			token;
	char	   *won;			/* "'{ids}', '{versions}'"; NULL: nothing */
} Node;

/* "'{ids}', '{versions}'" of what a query gives; NULL: nothing. */
static char *
choose(PGconn *conn, const char *from)
{
	char	   *sql = psprintf("SELECT array_agg(c.id), array_agg(c.version) FROM (%s) c", from);
	PGresult   *result = query(conn, sql);
	char	   *chosen = NULL;

	if (result != NULL && !PQgetisnull(result, 0, 0))
		chosen = psprintf("'%s', '%s'", PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
	PQclear(result);
	pfree(sql);
	return chosen;
}

/* A grab of some tasks that may run, whichever they are. */
static char *
make_grab(Node *node)
{
	char	   *from = psprintf("SELECT id, version FROM twtasks.task WHERE status = 'SUBMITTED' "
								"ORDER BY random() LIMIT %d", 1 + below(GRAB_MOST));
	char	   *chosen = choose(node->conn, from);
	char	   *grab = NULL;

	if (chosen != NULL)
		grab = psprintf("SELECT g.id, g.version FROM twtasks_internal.grab_tasks(%s, " INT64_FORMAT
						", %d, '{600000}', '{retry}', durable => false) g",
						chosen, node->incarnation, ++node->token);
	pfree(from);
	if (chosen != NULL)
		pfree(chosen);
	return grab;
}

static void
take_won(Node *node, const PGresult *result)
{
	StringInfoData ids;
	StringInfoData versions;

	initStringInfo(&ids);
	initStringInfo(&versions);
	for (int i = 0; result != NULL && i < PQntuples(result); i++)
	{
		if (PQgetisnull(result, i, 1))
		{
			COUNT(refused, 1);
			continue;
		}
		COUNT(won, 1);
		appendStringInfo(&ids, "%s%s", ids.len > 0 ? "," : "", PQgetvalue(result, i, 0));
		appendStringInfo(&versions, "%s%s", versions.len > 0 ? "," : "", PQgetvalue(result, i, 1));
	}
	if (node->won != NULL)
		pfree(node->won);
	node->won = ids.len == 0 ? NULL : psprintf("'{%s}', '{%s}'", ids.data, versions.data);
	pfree(ids.data);
	pfree(versions.data);
}

static void
grab(Node *node)
{
	char	   *sql = make_grab(node);
	PGresult   *result = sql == NULL ? NULL : query(node->conn, sql);

	take_won(node, result);
	PQclear(result);
	if (sql != NULL)
		pfree(sql);
}

/* Tasks run for ever: what is finished may run again. */
static char *
make_finish(Node *node)
{
	static const char *const results[] = {"release", "retry", "repeat"};

	return psprintf("SELECT count(*) FROM twtasks_internal.finish_tasks(%s, '{%s}', '{0}', '{NULL}', "
					INT64_FORMAT ", %d)", node->won, results[below(lengthof(results))],
					node->incarnation, ++node->token);
}

static void
finish(Node *node)
{
	char	   *sql;

	if (node->won == NULL)
		return;
	sql = make_finish(node);
	(void) number(node->conn, sql);
	pfree(sql);
	pfree(node->won);
	node->won = NULL;
}

static void
begin_node(Node *node)
{
	memset(node, 0, sizeof(*node));
	node->incarnation = -1;
	while (node->incarnation < 0)
	{
		if (node->conn != NULL)
			PQfinish(node->conn);
		node->conn = connect_patiently();
		node->incarnation = number(node->conn, "SELECT twtasks_internal.start_node('crashing')");
	}
}

/* Sends and does not wait; sometimes long enough to be half way. */
static void
send_and_leave(Node *node, char *sql)
{
	if (sql == NULL)
		return;
	(void) PQsendQuery(node->conn, sql);
	if (below(2) == 0)
		pause_us(below(2000));
	pfree(sql);
}

/* Somebody else ends our session while a grab is under way. */
static void
be_terminated(Node *node)
{
	PGconn	   *other = connect_patiently();
	char	   *sql = psprintf("SELECT pg_terminate_backend(%d)::int", PQbackendPID(node->conn));

	send_and_leave(node, make_grab(node));
	(void) number(other, sql);
	pfree(sql);
	PQfinish(other);
}

/* The leader takes us for gone while we go on: nothing more may be ours. */
static void
be_declared_gone(Node *node)
{
	PGconn	   *other = connect_patiently();
	char	   *sql = psprintf("SELECT twtasks_internal.end_node(" INT64_FORMAT ")", node->incarnation);

	(void) number(other, sql);
	pfree(sql);
	PQfinish(other);
	grab(node);
	finish(node);
}

static void
crash(Node *node)
{
	switch (below(8))
	{
		case 0:					/* between grab and finish */
		case 1:
			grab(node);
			break;
		case 2:					/* within the grab */
			send_and_leave(node, make_grab(node));
			break;
		case 3:					/* before its commit */
			(void) number(node->conn, "BEGIN");
			grab(node);
			break;
		case 4:					/* within the finish */
			grab(node);
			if (node->won != NULL)
				send_and_leave(node, make_finish(node));
			break;
		case 5:
			be_terminated(node);
			break;
		case 6:
			grab(node);
			be_declared_gone(node);
			break;
		case 7:					/* the whole process, with what it has */
			grab(node);
			COUNT(crashes, 1);
			(void) raise(SIGKILL);
	}
	COUNT(crashes, 1);
	PQfinish(node->conn);
	if (node->won != NULL)
		pfree(node->won);
}

static void
play_node(void)
{
	for (;;)
	{
		Node		node;

		begin_node(&node);
		for (int i = below(4); i > 0; i--)
		{
			grab(&node);
			pause_us(below(3000));
			finish(&node);
		}
		crash(&node);
	}
}

/* ---- the others ---- */

static void
play_leader(void)
{
	PGconn	   *conn = connect_patiently();

	for (int i = 0;; i++)
	{
		if (PQstatus(conn) != CONNECTION_OK)
		{
			PQfinish(conn);
			conn = connect_patiently();
		}
		(void) number(conn, "SELECT retried FROM twtasks_internal.recover_tasks(false, 1000, '0')");
		(void) number(conn, "SELECT promoted FROM twtasks_internal.promote_tasks()");
		if (i % 50 == 0)
			(void) number(conn, "SELECT twtasks_internal.clean_slots('0')");
		if (i % 70 == 0)
			(void) query(conn, "SELECT twtasks.configure_limit('PAY', 9, 'cluster')");
		pause_us(3000);
	}
}

static char *
make_look(void)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT count(*)");
	for (size_t i = 0; i < lengthof(limits); i++)
		appendStringInfo(&sql, ", count(*) FILTER (WHERE %s)", limits[i].counts);
	appendStringInfoString(&sql, " FROM twtasks.task t JOIN twtasks.node n USING (incarnation) "
						   "WHERE t.status = 'PROCESSING' AND n.ended IS NULL");
	return sql.data;
}

static void
look(const PGresult *result)
{
	bool		is_full = false;

	for (size_t i = 0; i < lengthof(limits); i++)
	{
		int64		running = strtoll(PQgetvalue(result, 0, (int) i + 1), NULL, 10);

		is_full |= running == limits[i].max;
		if (running <= limits[i].max)
			continue;
		COUNT(violations, 1);
		fprintf(stderr, INT64_FORMAT " run where configure_limit(%s) allows %d\n",
				running, limits[i].configured, limits[i].max);
	}
	COUNT(looks, 1);
	COUNT(full, is_full ? 1 : 0);
}

static void
play_witness(void)
{
	PGconn	   *conn = connect_patiently();
	char	   *sql = make_look();

	for (;;)
	{
		PGresult   *result = query(conn, sql);

		if (result != NULL)
			look(result);
		PQclear(result);
		if (PQstatus(conn) == CONNECTION_OK)
			continue;
		PQfinish(conn);
		conn = connect_patiently();
	}
}

static pid_t
start(void (*play) (void))
{
	static unsigned number = 0;
	pid_t		parent = getpid();
	pid_t		pid;

	number++;
	pid = fork();

	if (pid < 0)
		die("could not fork", NULL);
	if (pid > 0)
		return pid;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	srandom(seed + number);
	play();
	_exit(0);
}

/* All sessions are lost, and what had not been flushed. */
static void
crash_server(void)
{
	PGconn	   *conn = connect_patiently();

	if (kill(PQbackendPID(conn), SIGKILL) == 0)
		COUNT(server_crashes, 1);
	PQfinish(conn);
}

/* ---- the campaign ---- */

static void
set_up(void)
{
	PGconn	   *conn = connect_patiently();

	for (size_t i = 0; i < lengthof(limits); i++)
	{
		char	   *sql = psprintf("SELECT twtasks.configure_limit(%s, 'cluster')",
								   limits[i].configured);

		must(conn, sql);
		pfree(sql);
	}
	for (size_t i = 0; i < lengthof(types); i++)
	{
		char	   *sql = psprintf("SELECT count(twtasks.add_task('%s')) FROM generate_series(1, %d)",
								   types[i], EACH_TYPE);

		must(conn, sql);
		pfree(sql);
	}
	PQfinish(conn);
}

/* Has everything happened that the campaign is about? */
static bool
has_happened(int64 crashes, int64 server_crashes)
{
	return COUNTED(crashes) >= crashes && COUNTED(server_crashes) >= server_crashes &&
		COUNTED(won) > 0 && COUNTED(refused) > 0 && COUNTED(full) > 0;
}

/* Every now and then; returns until when the next crash is waited for. */
static time_t
tell(int64 crashes)
{
	static time_t told = 0;
	static time_t until = 0;
	static int64 seen = -1;
	time_t		now = time(NULL);

	if (seen < Min(COUNTED(crashes), crashes))
	{
		seen = Min(COUNTED(crashes), crashes);
		until = now + PATIENCE_S;
	}
	if (now - told >= 10)
	{
		if (told > 0)
			printf(INT64_FORMAT " crashes\n", COUNTED(crashes));
		fflush(stdout);
		told = now;
	}
	return until;
}

static void
run(int64 crashes, int64 server_crashes)
{
	pid_t		pids[NODES];
	pid_t		others[] = {start(play_leader), start(play_witness)};

	for (int i = 0; i < NODES; i++)
		pids[i] = start(play_node);
	while (!has_happened(crashes, server_crashes) && time(NULL) < tell(crashes))
	{
		for (int i = 0; i < NODES; i++)
			if (waitpid(pids[i], NULL, WNOHANG) == pids[i])
				pids[i] = start(play_node);
		if (COUNTED(server_crashes) < server_crashes &&
			COUNTED(crashes) > (COUNTED(server_crashes) + 1) * crashes / (server_crashes + 1))
			crash_server();
		pause_us(5000);
	}
	for (int i = 0; i < NODES; i++)
		(void) kill(pids[i], SIGKILL);
	for (size_t i = 0; i < lengthof(others); i++)
		(void) kill(others[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void
wait_until_nothing_runs(PGconn *conn)
{
	for (int i = 0; i < PATIENCE_S * 100; i++)
	{
		must(conn, "SELECT twtasks_internal.recover_tasks(false, 1000, '0')");
		must(conn, "SELECT twtasks_internal.promote_tasks()");
		if (number(conn, "SELECT count(*) FROM twtasks.task WHERE status = 'PROCESSING'") == 0)
			return;
		pause_us(10000);
	}
	die("tasks still run", NULL);
}

/* How many tasks of a type the limits let through, all others being at rest. */
static int
let_through(Node *node, const char *type)
{
	char	   *from = psprintf("SELECT id, version FROM twtasks.task WHERE status = 'SUBMITTED' AND type = '%s'", type);
	char	   *chosen = choose(node->conn, from);
	char	   *sql = psprintf("SELECT g.id, g.version FROM twtasks_internal.grab_tasks(%s, " INT64_FORMAT
							   ", %d, '{600000}', '{retry}') g", chosen, node->incarnation, ++node->token);
	PGresult   *result = query(node->conn, sql);
	int			n = 0;

	for (int i = 0; result != NULL && i < PQntuples(result); i++)
		n += !PQgetisnull(result, i, 1);
	take_won(node, result);
	PQclear(result);
	finish(node);
	pfree(from);
	pfree(chosen);
	pfree(sql);
	return n;
}

static bool
is_whole(void)
{
	Node		node;
	bool		is_right = true;

	begin_node(&node);
	wait_until_nothing_runs(node.conn);
	for (size_t i = 0; i < lengthof(limits); i++)
	{
		int			n = let_through(&node, limits[i].type);

		if (n != limits[i].max)
		{
			fprintf(stderr, "configure_limit(%s): %d slots of %d for \"%s\"\n",
					limits[i].configured, n, limits[i].max, limits[i].type);
			is_right = false;
		}
		wait_until_nothing_runs(node.conn);
	}
	PQfinish(node.conn);
	return is_right;
}

int
main(int argc, char **argv)
{
	int64		crashes = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
	int64		server_crashes = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
	const char *wanted = getenv("TWT_TEST_SEED");
	bool		is_right;

	seed = wanted != NULL && *wanted != '\0' ? (unsigned) strtoul(wanted, NULL, 10) : (unsigned) time(NULL);
	printf("# TWT_TEST_SEED=%u\n", seed);
	fflush(stdout);
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no memory", NULL);
	set_up();
	run(crashes, server_crashes);
	is_right = is_whole();
	printf(INT64_FORMAT " crashes of nodes, " INT64_FORMAT " of the server; "
		   INT64_FORMAT " tasks grabbed, " INT64_FORMAT " refused by limits\n",
		   COUNTED(crashes), COUNTED(server_crashes), COUNTED(won), COUNTED(refused));
	printf(INT64_FORMAT " looks, " INT64_FORMAT " of them saw a limit used to the full, "
		   INT64_FORMAT " one exceeded; slots in the end: %s\n", COUNTED(looks), COUNTED(full),
		   COUNTED(violations), is_right ? "all there, none twice" : "WRONG");
	if (!has_happened(crashes, server_crashes))
		die("not all of it happened", NULL);
	if (!is_right || COUNTED(violations) > 0)
		die("a limit did not hold", NULL);
	return 0;
}
