/*-------------------------------------------------------------------------
 *
 * due.c
 *		How late tasks with run_after start.
 *
 *		due CONNINFO FIFO N GAP_MS
 *
 * Adds N tasks, each in a transaction of its own, that are due one after
 * another, GAP_MS apart on average, from two seconds later on; and reads from
 * the FIFO when the worker saw each.  Times are those of this machine, where
 * the server runs too.  Prints median, 99th percentile and the longest in ms;
 * one that started before its time is a failure.
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

typedef struct Due
{
	char		id[37];
	long long	due_ns;			/* since 1970 */
} Due;

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

static void
add(PGconn *conn, Due *due, long long delay_us)
{
	char		text[32];
	const char *values[1] = {text};
	PGresult   *result;

	snprintf(text, sizeof(text), "%lld", delay_us);
	result = PQexecPrepared(conn, "add", 1, values, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	snprintf(due->id, sizeof(due->id), "%s", PQgetvalue(result, 0, 0));
	due->due_ns = atoll(PQgetvalue(result, 0, 1)) * 1000;
	PQclear(result);
}

/* How late the task in the next line of the FIFO was. */
static long long
lateness(FILE *fifo, const Due *dues, int n)
{
	char		id[37];
	long long	seen;

	if (fscanf(fifo, "%36s %lld", id, &seen) != 2)
		die("the worker has gone");
	seen += now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < n; i++)
		if (strcmp(dues[i].id, id) == 0)
			return seen - dues[i].due_ns;
	die("another task was started");
	return 0;
}

int
main(int argc, char **argv)
{
	int			n = argc == 5 ? atoi(argv[3]) : 0;
	long long	gap_us = argc == 5 ? atoll(argv[4]) * 1000 : 0;
	Due		   *dues = calloc(n > 0 ? n : 1, sizeof(Due));
	long long  *late = calloc(n > 0 ? n : 1, sizeof(long long));
	long long	start;
	PGconn	   *conn;
	FILE	   *fifo;

	if (n < 1 || gap_us < 1 || dues == NULL || late == NULL)
		die("usage: due CONNINFO FIFO N GAP_MS");
	conn = PQconnectdb(argv[1]);
	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	fifo = fopen(argv[2], "r");
	if (fifo == NULL)
		die("could not open the FIFO");
	PQclear(PQprepare(conn, "add", "SELECT a.task_id, (extract(epoch FROM x.due) * 1000000)::bigint "
					  "FROM (SELECT clock_timestamp() + $1::bigint * interval '1 microsecond' AS due OFFSET 0) x, "
					  "twtasks.add_task('DUE', run_after => x.due) a", 0, NULL));
	start = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < n; i++)
	{
		long long	due_us = LEAD_US + i * gap_us + rand() % (2 * gap_us);

		add(conn, &dues[i], due_us - (now_ns(CLOCK_MONOTONIC) - start) / 1000);
	}
	for (int i = 0; i < n; i++)
		late[i] = lateness(fifo, dues, n);
	qsort(late, n, sizeof(long long), compare);
	if (late[0] < 0)
		die("a task was started before its time");
	printf("%.3f %.3f %.3f\n", late[n / 2] / 1e6, late[n * 99 / 100] / 1e6, late[n - 1] / 1e6);
	PQfinish(conn);
	return 0;
}
