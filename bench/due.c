/*-------------------------------------------------------------------------
 *
 * due.c
 *		How late tasks with run_after start.
 *
 *		due CONNINFO FIFO N GAP_MS
 *		due timer N GAP_MS
 *		due commit CONNINFO N GAP_MS
 *
 * Adds N tasks, each in a transaction of its own, that are due one after
 * another, GAP_MS apart on average, from two seconds later on; and reads from
 * the FIFO, which is the trace of peers/twtasks/worker, when each started.  Times are those of this machine, where
 * the server runs too.  Prints median, 99th percentile and the longest in ms;
 * one that started before its time is a failure.
 *
 * The other forms are for comparison: how late a plain sleep of so long ends,
 * and how late rows are committed, by one session, that are due so far apart;
 * the table plain_row (i bigint) must be there.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAD_US 2000000

static long long
now_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	long long	x = *(const long long *) a;
	long long	y = *(const long long *) b;

	return (x > y) - (x < y);
}

static void
die(const char *what)
{
	fprintf(stderr, "due: %s\n", what);
	exit(1);
}

/* Adds the task of this number; says when it is due, since 1970. */
static long long
add(PGconn *conn, int number, long long delay_us)
{
	char		i[16];
	char		delay[32];
	const char *values[2] = {i, delay};
	long long	due_ns;
	PGresult   *result;

	snprintf(i, sizeof(i), "%d", number);
	snprintf(delay, sizeof(delay), "%lld", delay_us);
	result = PQexecPrepared(conn, "add", 2, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	due_ns = atoll(PQgetvalue(result, 0, 0)) * 1000;
	PQclear(result);
	return due_ns;
}

/* How late the task in the next line of the FIFO was. */
static long long
lateness(FILE *fifo, const long long *dues_ns, int n)
{
	int			number;
	long long	seen;

	if (fscanf(fifo, "%*s %d %lld", &number, &seen) != 2)
		die("the worker has gone");
	if (number < 0 || number >= n)
		die("another task was started");
	seen += now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
	return seen - dues_ns[number];
}

static void
report(long long *late, int n)
{
	qsort(late, n, sizeof(long long), compare);
	if (late[0] < 0)
		die("a task was started before its time");
	printf("%.3f %.3f %.3f\n", late[n / 2] / 1e6, late[n * 99 / 100] / 1e6, late[n - 1] / 1e6);
}

static int
sleep_often(int n, long long gap_ns)
{
	struct timespec gap = {gap_ns / 1000000000, gap_ns % 1000000000};
	long long  *late = calloc(n > 0 ? n : 1, sizeof(long long));

	if (n < 1 || gap_ns < 1 || late == NULL)
		die("usage: due timer N GAP_MS");
	for (int i = 0; i < n; i++)
	{
		long long	begin = now_ns(CLOCK_MONOTONIC);

		nanosleep(&gap, NULL);
		late[i] = now_ns(CLOCK_MONOTONIC) - begin - gap_ns;
	}
	report(late, n);
	return 0;
}

static PGconn *
connect_to(const char *conninfo)
{
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	return conn;
}

static void
commit_row(PGconn *conn)
{
	PGresult   *result = PQexecPrepared(conn, "row", 0, NULL, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
}

static void
sleep_until(long long at_ns)
{
	struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static int
commit_often(const char *conninfo, int n, long long gap_ns)
{
	PGconn	   *conn = connect_to(conninfo);
	long long  *late = calloc(n > 0 ? n : 1, sizeof(long long));
	long long	start;

	if (n < 1 || gap_ns < 1 || late == NULL)
		die("usage: due commit CONNINFO N GAP_MS");
	PQclear(PQprepare(conn, "row", "INSERT INTO plain_row VALUES (1)", 0, NULL));
	start = now_ns(CLOCK_MONOTONIC) + LEAD_US * 1000;
	for (int i = 0; i < n; i++)
	{
		sleep_until(start + i * gap_ns);
		commit_row(conn);
		late[i] = now_ns(CLOCK_MONOTONIC) - (start + i * gap_ns);
	}
	report(late, n);
	PQfinish(conn);
	return 0;
}

int
main(int argc, char **argv)
{
	int			n = argc == 5 ? atoi(argv[3]) : 0;
	long long	gap_us = argc == 5 ? atoll(argv[4]) * 1000 : 0;
	long long  *dues_ns = calloc(n > 0 ? n : 1, sizeof(long long));
	long long  *late = calloc(n > 0 ? n : 1, sizeof(long long));
	long long	start;
	PGconn	   *conn;
	FILE	   *fifo;

	if (argc == 4 && strcmp(argv[1], "timer") == 0)
		return sleep_often(atoi(argv[2]), atoll(argv[3]) * 1000000);
	if (argc == 5 && strcmp(argv[1], "commit") == 0)
		return commit_often(argv[2], n, gap_us * 1000);
	if (n < 1 || gap_us < 1 || dues_ns == NULL || late == NULL)
		die("usage: due CONNINFO FIFO N GAP_MS");
	conn = connect_to(argv[1]);
	fifo = fopen(argv[2], "r");
	if (fifo == NULL)
		die("could not open the FIFO");
	PQclear(PQprepare(conn, "add", "SELECT (extract(epoch FROM x.due) * 1000000)::bigint "
					  "FROM (SELECT clock_timestamp() + $2::bigint * interval '1 microsecond' AS due OFFSET 0) x, "
					  "twtasks.add_task('DUE', jsonb_build_object('i', $1::integer), run_after => x.due) a", 0, NULL));
	start = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < n; i++)
	{
		long long	due_us = LEAD_US + i * gap_us + rand() % (2 * gap_us);

		dues_ns[i] = add(conn, i, due_us - (now_ns(CLOCK_MONOTONIC) - start) / 1000);
	}
	for (int i = 0; i < n; i++)
		late[i] = lateness(fifo, dues_ns, n);
	report(late, n);
	PQfinish(conn);
	return 0;
}
