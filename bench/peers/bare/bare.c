/*-------------------------------------------------------------------------
 *
 * bare.c
 *		The least that does a task's work, as a measure for the real thing.
 *
 *		bare BATCH WORKER...
 *
 * One connection grabs, one finishes, each up to BATCH tasks by a statement of
 * SQL that is committed durably; one worker process behind pipes gets the
 * tasks and answers them, in the protocol of twtasksd.  There are no retries,
 * no deadlines, no slots, no types and no wake-up: what is there is worked
 * off, finished rows are kept in an archive.
 *
 * The database is where the PG... environment says, its tables are those of
 * driver.py.  Runs until SIGTERM.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_AHEAD 30000
#define NUMBER_MAX 12
#define PIPE_BYTES (1 << 20)
#define NAP_US 20000

static int	batch;
static int	to_worker;
static int	from_worker;

static const char *const sweep =
	"SELECT id, version FROM live WHERE status = 'S' AND id > $1 ORDER BY id LIMIT $2";
static const char *const grab =
	"UPDATE live t SET status = 'P', version = t.version + 1"
	" FROM unnest($1::bigint[], $2::int[]) w(id, version)"
	" WHERE t.id = w.id AND t.version = w.version AND t.status = 'S'"
	" RETURNING t.id, t.version, t.data";
static const char *const finish =
	"WITH gone AS (DELETE FROM live t USING unnest($1::bigint[], $2::int[]) w(id, version)"
	" WHERE t.id = w.id AND t.version = w.version AND t.status = 'P'"
	" RETURNING t.id, t.version, t.data)"
	" INSERT INTO archive SELECT id, version, clock_timestamp(), data FROM gone";

/* Two arrays in the making, as text. */
typedef struct Pairs
{
	char	   *ids;
	char	   *versions;
	size_t		ids_len;
	size_t		versions_len;
	int			count;
} Pairs;

static void
die(const char *what)
{
	fprintf(stderr, "bare: %s\n", what);
	exit(1);
}

static void
clear(Pairs *pairs)
{
	pairs->ids_len = pairs->versions_len = 0;
	pairs->count = 0;
}

static void
init(Pairs *pairs)
{
	pairs->ids = malloc(batch * (size_t) (2 * NUMBER_MAX) + 3);
	pairs->versions = malloc(batch * (size_t) (2 * NUMBER_MAX) + 3);
	if (pairs->ids == NULL || pairs->versions == NULL)
		die("out of memory");
	clear(pairs);
}

static void
append(Pairs *pairs, long id, long version)
{
	char		before = pairs->count++ == 0 ? '{' : ',';

	pairs->ids_len += sprintf(pairs->ids + pairs->ids_len, "%c%ld", before, id);
	pairs->versions_len += sprintf(pairs->versions + pairs->versions_len, "%c%ld",
								   before, version);
}

static PGresult *
execute(PGconn *conn, const char *name, const char *const values[2])
{
	PGresult   *result = PQexecPrepared(conn, name, 2, values, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	return result;
}

/* Sends the pairs as parameters, and forgets them. */
static PGresult *
execute_pairs(PGconn *conn, const char *name, Pairs *pairs)
{
	const char *values[2] = {pairs->ids, pairs->versions};

	strcpy(pairs->ids + pairs->ids_len, "}");
	strcpy(pairs->versions + pairs->versions_len, "}");
	clear(pairs);
	return execute(conn, name, values);
}

static PGconn *
connect_and_prepare(const char *name, const char *sql)
{
	PGconn	   *conn = PQconnectdb("");
	PGresult   *result = PQprepare(conn, name, sql, 0, NULL);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
	return conn;
}

static void
write_all(const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		n = write(to_worker, data, len);

		if (n <= 0)
			die("the worker has gone");
		data += n;
		len -= n;
	}
}

/* Writes what was grabbed to the worker, a line for each task. */
static void
hand_over(PGresult *grabbed)
{
	char	   *text = NULL;
	size_t		len = 0;
	FILE	   *lines = open_memstream(&text, &len);

	for (int i = 0; i < PQntuples(grabbed); i++)
		fprintf(lines, "{\"id\":\"%s\",\"version\":%s,\"type\":\"noop\",\"data\":%s}\n",
				PQgetvalue(grabbed, i, 0), PQgetvalue(grabbed, i, 1),
				PQgetvalue(grabbed, i, 2));
	fclose(lines);
	write_all(text, len);
	free(text);
	PQclear(grabbed);
}

static void
grab_batch(PGconn *conn, Pairs *pairs)
{
	if (pairs->count > 0)
		hand_over(execute_pairs(conn, "grab", pairs));
}

/* Grabs all that one look at the table found; returns the last id. */
static long
grab_found(PGconn *conn, Pairs *pairs, PGresult *found, long last)
{
	for (int i = 0; i < PQntuples(found); i++)
	{
		last = atol(PQgetvalue(found, i, 0));
		append(pairs, last, atol(PQgetvalue(found, i, 1)));
		if (pairs->count == batch)
			grab_batch(conn, pairs);
	}
	grab_batch(conn, pairs);
	PQclear(found);
	return last;
}

static void *
grabber(void *arg)
{
	PGconn	   *conn = connect_and_prepare("grab", grab);
	Pairs		pairs;
	long		last = 0;

	(void) arg;
	init(&pairs);
	PQclear(PQprepare(conn, "sweep", sweep, 0, NULL));
	for (;;)
	{
		char		numbers[2][24];
		const char *values[2] = {numbers[0], numbers[1]};
		PGresult   *found;

		sprintf(numbers[0], "%ld", last);
		sprintf(numbers[1], "%d", LOOK_AHEAD);
		found = execute(conn, "sweep", values);
		if (PQntuples(found) == 0)
			usleep(NAP_US);
		last = grab_found(conn, &pairs, found, last);
	}
	return NULL;
}

/* Finishes whole answers in text; returns how many bytes are left over. */
static size_t
finish_answers(PGconn *conn, Pairs *pairs, char *text, size_t have)
{
	char	   *line = text;
	char	   *end;

	while ((end = memchr(line, '\n', text + have - line)) != NULL)
	{
		long		id;
		long		version;

		if (sscanf(line, "{\"id\":\"%ld\",\"version\":%ld,", &id, &version) != 2)
			die("not an answer");
		append(pairs, id, version);
		if (pairs->count == batch)
			PQclear(execute_pairs(conn, "finish", pairs));
		line = end + 1;
	}
	if (pairs->count > 0)
		PQclear(execute_pairs(conn, "finish", pairs));
	have -= line - text;
	memmove(text, line, have);
	return have;
}

static void
finisher(void)
{
	static char text[PIPE_BYTES];
	PGconn	   *conn = connect_and_prepare("finish", finish);
	Pairs		pairs;
	size_t		have = 0;
	ssize_t		n;

	init(&pairs);
	while ((n = read(from_worker, text + have, sizeof(text) - have)) > 0)
		have = finish_answers(conn, &pairs, text, have + n);
	die("the worker has gone");
}

static void
start_worker(char **argv)
{
	int			in[2];
	int			out[2];
	pid_t		pid;
	posix_spawn_file_actions_t actions;

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		die("no pipes");
	fcntl(in[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(out[1], F_SETPIPE_SZ, PIPE_BYTES);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		die("could not start the worker");
	close(in[0]);
	close(out[1]);
	to_worker = in[1];
	from_worker = out[0];
}

int
main(int argc, char **argv)
{
	pthread_t	thread;

	batch = argc > 2 ? atoi(argv[1]) : 0;
	if (batch < 1)
		die("usage: bare BATCH WORKER...");
	start_worker(argv + 2);
	if (pthread_create(&thread, NULL, grabber, NULL) != 0)
		die("could not start a thread");
	puts("ready");
	fflush(stdout);
	finisher();
	return 0;
}
