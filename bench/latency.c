/*-------------------------------------------------------------------------
 *
 * latency.c
 *		From the return of a commit to the start of its task's handler.
 *
 *		latency CONNINFO FIFO N
 *
 * Adds N tasks one after another, each in a transaction of its own, and reads
 * from the FIFO when the worker saw each.  Both clocks are the machine's
 * monotonic one.  A task may start before its commit has returned to us:
 * then its latency counts as 0.  Prints median and 99th percentile in ms.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
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
	fprintf(stderr, "latency: %s\n", what);
	exit(1);
}

/* Adds one task, waits until the worker saw it; returns nanoseconds. */
static long long
measure(PGconn *conn, FILE *fifo)
{
	PGresult   *result = PQexecPrepared(conn, "add", 0, NULL, NULL, NULL, 0);
	long long	returned = now_ns();
	long long	seen;
	char		id[37];

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	if (fscanf(fifo, "%36s %lld", id, &seen) != 2)
		die("the worker has gone");
	if (strcmp(id, PQgetvalue(result, 0, 0)) != 0)
		die("another task was started");
	PQclear(result);
	return seen > returned ? seen - returned : 0;
}

int
main(int argc, char **argv)
{
	int			n = argc == 4 ? atoi(argv[3]) : 0;
	long long  *times = calloc(n > 0 ? n : 1, sizeof(long long));
	PGconn	   *conn;
	FILE	   *fifo;

	if (n < 1 || times == NULL)
		die("usage: latency CONNINFO FIFO N");
	conn = PQconnectdb(argv[1]);
	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	fifo = fopen(argv[2], "r");
	if (fifo == NULL)
		die("could not open the FIFO");
	PQclear(PQprepare(conn, "add", "SELECT task_id FROM twtasks.add_task('LATENCY', '{\"to\": 7}')", 0, NULL));
	for (int i = 0; i < n / 10 + 1; i++)
		(void) measure(conn, fifo);
	for (int i = 0; i < n; i++)
		times[i] = measure(conn, fifo);
	qsort(times, n, sizeof(long long), compare);
	printf("%.3f %.3f\n", times[n / 2] / 1e6, times[n * 99 / 100] / 1e6);
	PQfinish(conn);
	return 0;
}
