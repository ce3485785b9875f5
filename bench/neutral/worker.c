/*-------------------------------------------------------------------------
 *
 * worker.c
 *		A worker that works for a fixed time on each task, many tasks at once.
 *
 *		worker TALLY WORK_MS
 *
 * TALLY is a file that the adapter reads: how many tasks were answered, and two
 * histograms of microseconds since the task was added, "at" in its data: at its
 * start, and at its answer.  A histogram has 512 buckets for each doubling.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../peers/lib/clock.h"

#define BUCKETS (30 * 512)
#define MAX_TASKS 4096
#define ANSWER_MAX 128

typedef struct Tally
{
	_Atomic int64_t answered;
	_Atomic int64_t started_after[BUCKETS];
	_Atomic int64_t answered_after[BUCKETS];
} Tally;

/* All tasks take equally long, so the oldest one ends first. */
typedef struct Running
{
	int64_t		ends_ns;
	int64_t		added_us;
	char		answer[ANSWER_MAX];
} Running;

static char input[1 << 20];
static char output[MAX_TASKS * ANSWER_MAX];
static size_t out_used;
static Tally *tally;
static int64_t work_ns;
static Running tasks[MAX_TASKS];
static unsigned started;
static unsigned ended;

static void
die(const char *what)
{
	fprintf(stderr, "worker: %s\n", what);
	exit(1);
}

static int64_t
wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void
count(_Atomic int64_t *histogram, int64_t us)
{
	int			doublings = 0;
	int64_t		bucket;

	if (us < 0)
		us = 0;
	while (us >> doublings >= 1024)
		doublings++;
	bucket = doublings * 512 + (us >> doublings);
	atomic_fetch_add(&histogram[bucket < BUCKETS ? bucket : BUCKETS - 1], 1);
}

static void
take_up(const char *line)
{
	const char *at = strstr(line, "\"at\":");
	Running    *task = &tasks[started % MAX_TASKS];
	char		id[37];
	long long	version;

	if (sscanf(line, "{\"id\":\"%36[^\"]\",\"version\":%lld", id, &version) != 2)
		return;
	if (started++ - ended == MAX_TASKS)
		die("too many tasks at once");
	task->added_us = at == NULL ? 0 : strtoll(at + strlen("\"at\":"), NULL, 10);
	task->ends_ns = now_ns() + work_ns;
	snprintf(task->answer, sizeof(task->answer),
			 "{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\"}\n", id, version);
	count(tally->started_after, wall_us() - task->added_us);
}

/* Takes up the tasks of whole lines; returns how many bytes are left over. */
static size_t
read_lines(size_t have)
{
	char	   *line = input;
	char	   *end;

	while ((end = memchr(line, '\n', input + have - line)) != NULL)
	{
		*end = '\0';
		take_up(line);
		line = end + 1;
	}
	have -= line - input;
	memmove(input, line, have);
	return have;
}

static void
answer(const Running *task)
{
	size_t		length = strlen(task->answer);

	memcpy(output + out_used, task->answer, length);
	out_used += length;
	count(tally->answered_after, wall_us() - task->added_us);
	atomic_fetch_add(&tally->answered, 1);
}

static void
send_answers(void)
{
	for (size_t done = 0; done < out_used;)
	{
		ssize_t		n = write(STDOUT_FILENO, output + done, out_used - done);

		if (n <= 0)
			exit(1);
		done += n;
	}
	out_used = 0;
}

/* Answers all tasks that are over; returns ns until the next one, -1: none runs. */
static int64_t
end_tasks(void)
{
	while (ended != started)
	{
		int64_t		left = tasks[ended % MAX_TASKS].ends_ns - now_ns();

		if (left > 0)
			return left;
		answer(&tasks[ended++ % MAX_TASKS]);
	}
	return -1;
}

int
main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t		have = 0;
	int			fd = argc == 3 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(Tally)) < 0)
		die("usage: worker TALLY WORK_MS");
	tally = mmap(NULL, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		die("could not map the tally");
	work_ns = atoll(argv[2]) * 1000000;
	for (;;)
	{
		int64_t		left = end_tasks();
		struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
		ssize_t		n;

		send_answers();
		if (left >= 0 && ppoll(&in, 1, &wait, NULL) == 0)
			continue;
		n = read(STDIN_FILENO, input + have, sizeof(input) - have);
		if (n <= 0)
			return 0;
		have = read_lines(have + n);
	}
}
