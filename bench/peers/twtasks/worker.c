/*-------------------------------------------------------------------------
 *
 * worker.c
 *		A worker for measurements: counts, and does next to nothing.
 *
 *		worker TALLY TRACE SLOW_MS CONNINFO
 *
 * TALLY is a file of two 64-bit numbers shared by all workers: when the first
 * task was seen (0: none yet) and how many were answered.  Unless TRACE is "-"
 * the start of each task is written there: its type, its number, the time.
 *
 * By type: "slow" is answered after SLOW_MS; "chain" first adds its successor
 * in a transaction of its own, in the database of CONNINFO, or by its reply if
 * CONNINFO is "-"; all others are answered at once.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"

#define MAX_SLOW 1024
#define ANSWER_MAX 128

typedef struct Tally
{
	_Atomic int64_t first_ns;
	_Atomic int64_t handled;
} Tally;

/* All sleep equally long, so the oldest is always due first. */
typedef struct Sleeper
{
	int64_t		due_ns;
	char		answer[ANSWER_MAX];
} Sleeper;

static char input[1 << 20];
static char output[1 << 20];
static size_t out_used;
static int	out_tasks;

static Tally *tally;
static int	trace_fd = -1;
static int64_t slow_ns;
static const char *conninfo;
static Sleeper sleepers[MAX_SLOW];
static unsigned slept;
static unsigned woken;

static void
die(const char *what)
{
	fprintf(stderr, "worker: %s\n", what);
	exit(1);
}

static void
flush_answers(void)
{
	for (size_t done = 0; done < out_used;)
	{
		ssize_t		n = write(1, output + done, out_used - done);

		if (n <= 0)
			exit(1);
		done += n;
	}
	atomic_fetch_add(&tally->handled, out_tasks);
	out_used = 0;
	out_tasks = 0;
}

static void
answer(const char *line)
{
	size_t		len = strlen(line);

	if (out_used + len > sizeof(output))
		flush_answers();
	memcpy(output + out_used, line, len);
	out_used += len;
	out_tasks++;
}

/* The number in the data: {"i":7,...}, with or without a space. */
static long
number_after(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at == NULL ? -1 : strtol(at + strlen(name), NULL, 10);
}

static PGconn *
connect_and_prepare(void)
{
	PGconn	   *conn = PQconnectdb(conninfo);
	PGresult   *result = PQprepare(conn, "add", "SELECT twtasks.add_task('chain', $1::jsonb)",
								   1, NULL);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
	return conn;
}

/* The same data, but one less to follow.  The caller frees it. */
static char *
successor_data(const char *line, long left)
{
	const char *text = strstr(line, "\"p\": \"");
	int			len = text == NULL ? 0 : (int) strcspn(text + 6, "\"");
	char	   *data = malloc(len + 64);

	sprintf(data, "{\"i\":%ld,\"left\":%ld,\"p\":\"%.*s\"}",
			number_after(line, "\"i\":"), left, len, text == NULL ? "" : text + 6);
	return data;
}

static void
add_successor(const char *line, long left)
{
	static PGconn *conn;
	char	   *data = successor_data(line, left);
	const char *value = data;
	PGresult   *result;

	if (conn == NULL)
		conn = connect_and_prepare();
	result = PQexecPrepared(conn, "add", 1, &value, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die(PQerrorMessage(conn));
	PQclear(result);
	free(data);
}

static void
answer_with_successor(const char *id, long long version, const char *line, long left)
{
	char	   *data = successor_data(line, left);
	char	   *text = malloc(strlen(data) + ANSWER_MAX);

	sprintf(text, "{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\",\"add\":[{\"type\":\"chain\",\"data\":%s}]}\n",
			id, version, data);
	answer(text);
	free(text);
	free(data);
}

static void
trace(const char *type, const char *line)
{
	char		text[64];
	int			len;

	len = sprintf(text, "%.15s %ld %lld\n", type, number_after(line, "\"i\":"),
				  (long long) now_ns());
	if (write(trace_fd, text, len) != len)
		exit(1);
}

static void
handle(const char *line)
{
	char		id[37];
	char		type[16] = "";
	char		text[ANSWER_MAX];
	long long	version;
	long		left;

	if (sscanf(line, "{\"id\":\"%36[^\"]\",\"version\":%lld,\"type\":\"%15[^\"]\"",
			   id, &version, type) != 3)
		return;
	if (tally->first_ns == 0)
		tally->first_ns = now_ns();
	if (trace_fd >= 0)
		trace(type, line);
	sprintf(text, "{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\"}\n",
			id, version);
	if (strcmp(type, "slow") == 0)
	{
		Sleeper    *sleeper = &sleepers[slept++ % MAX_SLOW];

		if (slept - woken > MAX_SLOW)
			die("too many slow tasks");
		sleeper->due_ns = now_ns() + slow_ns;
		strcpy(sleeper->answer, text);
		return;
	}
	left = strcmp(type, "chain") == 0 ? number_after(line, "\"left\":") : 0;
	if (left > 0 && strcmp(conninfo, "-") == 0)
	{
		answer_with_successor(id, version, line, left - 1);
		return;
	}
	if (left > 0)
		add_successor(line, left - 1);
	answer(text);
}

/* Handles the whole lines in input; returns how many bytes are left over. */
static size_t
handle_lines(size_t have)
{
	char	   *line = input;
	char	   *end;

	while ((end = memchr(line, '\n', input + have - line)) != NULL)
	{
		*end = '\0';
		handle(line);
		line = end + 1;
	}
	have -= line - input;
	memmove(input, line, have);
	return have;
}

/* Answers the slow tasks that are due; returns ms to the next, -1: none. */
static int
wake_sleepers(void)
{
	while (woken != slept)
	{
		int64_t		left = sleepers[woken % MAX_SLOW].due_ns - now_ns();

		if (left > 0)
			return (int) (left / 1000000 < 60000 ? left / 1000000 + 1 : 60000);
		answer(sleepers[woken++ % MAX_SLOW].answer);
	}
	return -1;
}

int
main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	size_t		have = 0;
	int			fd = argc == 5 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0)
		die("usage: worker TALLY TRACE SLOW_MS CONNINFO");
	tally = mmap(NULL, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		die("could not map the tally");
	if (strcmp(argv[2], "-") != 0 &&
		(trace_fd = open(argv[2], O_WRONLY | O_APPEND)) < 0)
		die("could not open the trace");
	slow_ns = atoll(argv[3]) * 1000000;
	conninfo = argv[4];
	for (;;)
	{
		int			wait_ms = wake_sleepers();
		ssize_t		n;

		flush_answers();
		if (wait_ms >= 0 && poll(&in, 1, wait_ms) == 0)
			continue;
		n = read(0, input + have, sizeof(input) - have);
		if (n <= 0)
			return 0;
		have = handle_lines(have + n);
	}
}
