/*-------------------------------------------------------------------------
 *
 * start.c
 *		The start of lone tasks beside the commit of a row, in turn.
 *
 *		start N TRACE
 *
 * Commits a row, a task that may run twice, and a task that may not, N times, in the
 * database of the PG... environment.  TRACE is the FIFO to which the worker writes
 * what it starts.  Prints medians in ms, without the first tenth: the row's commit;
 * for each kind of task the call that adds it, and its start after that call's return.
 *
 *-------------------------------------------------------------------------
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define KINDS 3

static const char *const kinds[KINDS] = {"row", "retry", "durable"};
static const char *const statements[KINDS] = {
	"INSERT INTO ledger (account, amount) VALUES (7, $1::integer)",
	"SELECT twtasks.add_task('retry', pg_catalog.jsonb_build_object('i', $1::integer))",
	"SELECT twtasks.add_task('durable', pg_catalog.jsonb_build_object('i', $1::integer))"
};

static void
die(const char *what)
{
	fprintf(stderr, "start: %s\n", what);
	exit(1);
}

static void
must(PGconn *conn, PGresult *result)
{
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
}

static PGconn *
connect_and_prepare(void)
{
	PGconn	   *conn = PQconnectdb("");

	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	for (int kind = 0; kind < KINDS; kind++)
		must(conn, PQprepare(conn, kinds[kind], statements[kind], 1, NULL));
	return conn;
}

/* Returns how long the call took. */
static int64_t
commit_one(PGconn *conn, int kind, int number)
{
	char		text[16];
	const char *value = text;
	int64_t		begun = now_ns();

	snprintf(text, sizeof(text), "%d", number);
	must(conn, PQexecPrepared(conn, kinds[kind], 1, &value, NULL, NULL, 0));
	return now_ns() - begun;
}

/* A handler may start before its client hears of the commit: 0. */
static int64_t
start_after(int64_t returned, FILE *trace, int kind, int number)
{
	char		found[16];
	int			i;
	long long	at;

	do
		if (fscanf(trace, "%15s %d %lld", found, &i, &at) != 3)
			die("the worker has gone");
	while (i != number || strcmp(found, kinds[kind]) != 0);
	return at > returned ? at - returned : 0;
}

static int
compare(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

static double
median_ms(int64_t *values, int n)
{
	int			warm = n / 10;

	qsort(values + warm, n - warm, sizeof(int64_t), compare);
	return values[warm + (n - warm) / 2] / 1e6;
}

int
main(int argc, char **argv)
{
	int			n = argc == 3 ? atoi(argv[1]) : 0;
	FILE	   *trace = n > 0 ? fopen(argv[2], "r") : NULL;
	int64_t    *calls = calloc((size_t) KINDS * n, sizeof(int64_t));
	int64_t    *starts = calloc((size_t) KINDS * n, sizeof(int64_t));
	PGconn	   *conn = connect_and_prepare();

	if (trace == NULL || calls == NULL || starts == NULL)
		die("usage: start N TRACE");
	for (int i = 0; i < n; i++)
		for (int kind = 0; kind < KINDS; kind++)
		{
			int64_t		returned;

			calls[kind * n + i] = commit_one(conn, kind, i);
			returned = now_ns();
			if (kind > 0)
				starts[kind * n + i] = start_after(returned, trace, kind, i);
		}
	printf("%.3f", median_ms(calls, n));
	for (int kind = 1; kind < KINDS; kind++)
		printf(" %.3f %.3f", median_ms(calls + kind * n, n), median_ms(starts + kind * n, n));
	printf("\n");
	return 0;
}
