/*-------------------------------------------------------------------------
 *
 * client.c
 *		Adds tasks by a statement of SQL, for whichever system it belongs to.
 *
 *		client latency SQL BYTES N SECONDS TRACE
 *		client probe SQL BYTES N TRACE
 *		client enqueue SQL BYTES CLIENTS SECONDS
 *		client open SQL BYTES CLIENTS RATE SECONDS
 *		client fill SQL BYTES N BATCH [MEMBERS]
 *
 * SQL has the payload as its $1, a JSON text of BYTES bytes with a running
 * number in it: {"i":7,"p":"xxx"}; for "fill" a jsonb[] of BATCH of them, in
 * binary, with MEMBERS ("left":99,) in each.  The database is where the PG... environment
 * says.  Prints one line of JSON as the README of the folder
 * above says; TRACE is the FIFO to which a worker writes what it starts.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"

#define MAX_CLIENTS 256

#define JSONB_OID 3802
#define JSONB_VERSION 1

static const char *sql;
static size_t bytes;
static const char *members = "";

static atomic_long next_task;
static atomic_long added;
static int64_t begin_ns;
static int64_t end_ns;
static double interval_ns;		/* 0: as fast as they can */

static void
die(const char *what)
{
	fprintf(stderr, "client: %s\n", what);
	exit(1);
}

static PGconn *
connect_and_prepare(void)
{
	PGconn	   *conn = PQconnectdb("");
	PGresult   *result;

	if (PQstatus(conn) != CONNECTION_OK)
		die(PQerrorMessage(conn));
	result = PQprepare(conn, "add", sql, 1, NULL);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
	return conn;
}

/* The payload of task i, malloc'd. */
static char *
make_payload(long i)
{
	char	   *payload = malloc(bytes + strlen(members) + 64);
	int			len = sprintf(payload, "{\"i\":%ld,%s\"p\":\"", i, members);

	while ((size_t) len + 2 < bytes)
		payload[len++] = 'x';
	strcpy(payload + len, "\"}");
	return payload;
}

/* len 0: the value is text. */
static void
execute(PGconn *conn, const char *value, int len)
{
	int			format = len > 0;
	PGresult   *result = PQexecPrepared(conn, "add", 1, &value, &len, &format, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
}

static void
add_task(PGconn *conn, long i)
{
	char	   *payload = make_payload(i);

	execute(conn, payload, 0);
	free(payload);
}

static char *
append_int(char *to, int32_t value)
{
	value = htonl(value);
	return (char *) memcpy(to, &value, sizeof(value)) + sizeof(value);
}

/* Begins an array of n elements, as array_recv() reads it; returns its end. */
static char *
append_header(char *to, int n)
{
	to = append_int(to, 1);		/* dimensions */
	to = append_int(to, 0);		/* no NULLs */
	to = append_int(to, JSONB_OID);
	to = append_int(to, n);
	return append_int(to, 1);	/* first subscript */
}

static char *
append_element(char *to, long i)
{
	char	   *payload = make_payload(i);
	size_t		len = strlen(payload);

	to = append_int(to, len + 1);
	*to++ = JSONB_VERSION;
	memcpy(to, payload, len);
	free(payload);
	return to + len;
}

static void
fill(long n, long batch)
{
	PGconn	   *conn = connect_and_prepare();
	char	   *array = malloc(batch * (bytes + strlen(members) + 96) + 64);
	int64_t		begin = now_ns();

	for (long i = 0; i < n;)
	{
		long		end = i + batch < n ? i + batch : n;
		char	   *to = array;

		to = append_header(to, end - i);
		for (; i < end; i++)
			to = append_element(to, i);
		execute(conn, array, to - array);
	}
	printf("{\"added\":%ld,\"seconds\":%.6f}\n", n, (now_ns() - begin) / 1e9);
}

/* A FIFO never ends here: we hold it open for writing, too. */
static FILE *
open_trace(const char *path)
{
	int			fd = open(path, O_RDWR);
	FILE	   *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file == NULL)
		die("could not open the trace");
	return file;
}

/* Waits for the start of the given task; returns when that was. */
static int64_t
await_start(FILE *trace, long want)
{
	char		kind[16];
	long		i;
	long long	at;

	while (fscanf(trace, "%15s %ld %lld", kind, &i, &at) == 3)
		if (strcmp(kind, "noop") == 0 && i == want)
			return at;
	die("the worker has gone");
	return 0;
}

static void
print_array(const char *name, const int64_t *values, int n)
{
	printf("\"%s\":[", name);
	for (int i = 0; i < n; i++)
		printf("%s%lld", i ? "," : "", (long long) values[i]);
	printf("]");
}

static void
measure_latency(int n, double seconds, const char *path)
{
	PGconn	   *conn = connect_and_prepare();
	FILE	   *trace = open_trace(path);
	int64_t    *from_call = calloc(n, sizeof(int64_t));
	int64_t    *from_return = calloc(n, sizeof(int64_t));
	int64_t		until = now_ns() + (int64_t) (seconds * 1e9);
	int			done = 0;

	while (done < n && now_ns() < until)
	{
		int64_t		call = now_ns();
		int64_t		returned;
		int64_t		start;

		add_task(conn, done);
		returned = now_ns();
		start = await_start(trace, done);
		from_call[done] = start - call;
		from_return[done] = start - returned;
		done++;
	}
	printf("{");
	print_array("from_call_ns", from_call, done);
	printf(",");
	print_array("from_return_ns", from_return, done);
	printf("}\n");
}

static void
probe(int n, const char *path)
{
	PGconn	   *conn = connect_and_prepare();
	FILE	   *trace = open_trace(path);
	int64_t		call = now_ns();
	int64_t		last = call;
	bool	   *seen = calloc(n, sizeof(bool));
	char		kind[16];
	long		i;
	long long	at;

	PQclear(PQexec(conn, "BEGIN"));
	for (i = 0; i < n; i++)
		add_task(conn, i);
	PQclear(PQexec(conn, "COMMIT"));
	for (int left = n; left > 0;)
	{
		if (fscanf(trace, "%15s %ld %lld", kind, &i, &at) != 3)
			die("the worker has gone");
		if (strcmp(kind, "noop") != 0 || i < 0 || i >= n || seen[i])
			continue;
		seen[i] = true;
		last = at > last ? at : last;
		left--;
	}
	printf("{\"tasks\":%d,\"call_ns\":%lld,\"last_start_ns\":%lld}\n", n,
		   (long long) call, (long long) (last - call));
}

static void
sleep_until(int64_t at)
{
	struct timespec until = {at / 1000000000, at % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void *
client_main(void *arg)
{
	PGconn	   *conn = arg;

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;)
	{
		long		i = atomic_fetch_add(&next_task, 1);
		int64_t		due = begin_ns + (int64_t) (i * interval_ns);

		if ((interval_ns > 0 ? due : now_ns()) >= end_ns)
			return NULL;
		if (interval_ns > 0)
			sleep_until(due);
		add_task(conn, i);
		atomic_fetch_add(&added, 1);
	}
}

/* rate 0: as fast as they can */
static void
run_clients(int clients, double rate, double seconds)
{
	pthread_t	threads[MAX_CLIENTS];
	PGconn	   *conns[MAX_CLIENTS];

	if (clients < 1 || clients > MAX_CLIENTS)
		die("too many clients");
	for (int c = 0; c < clients; c++)
		conns[c] = connect_and_prepare();
	interval_ns = rate > 0 ? 1e9 / rate : 0;
	begin_ns = now_ns() + 1000000;
	end_ns = begin_ns + (int64_t) (seconds * 1e9);
	for (int c = 0; c < clients; c++)
		if (pthread_create(&threads[c], NULL, client_main, conns[c]) != 0)
			die("could not start a thread");
	for (int c = 0; c < clients; c++)
		pthread_join(threads[c], NULL);
	printf("{\"added\":%ld,\"seconds\":%.6f,\"begin_ns\":%lld,\"rate\":%g}\n",
		   added, (now_ns() - begin_ns) / 1e9, (long long) begin_ns, rate);
}

int
main(int argc, char **argv)
{
	const char *command = argc > 3 ? argv[1] : "";

	if (argc > 3)
	{
		sql = argv[2];
		bytes = strtoul(argv[3], NULL, 10);
	}
	if (strcmp(command, "latency") == 0 && argc == 7)
		measure_latency(atoi(argv[4]), atof(argv[5]), argv[6]);
	else if (strcmp(command, "probe") == 0 && argc == 6)
		probe(atoi(argv[4]), argv[5]);
	else if (strcmp(command, "enqueue") == 0 && argc == 6)
		run_clients(atoi(argv[4]), 0, atof(argv[5]));
	else if (strcmp(command, "open") == 0 && argc == 7)
		run_clients(atoi(argv[4]), atof(argv[5]), atof(argv[6]));
	else if (strcmp(command, "fill") == 0 && (argc == 6 || argc == 7))
	{
		members = argc == 7 ? argv[6] : "";
		fill(atol(argv[4]), atol(argv[5]));
	}
	else
		die("usage: see the head of client.c");
	return 0;
}
