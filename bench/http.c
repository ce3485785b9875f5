/*-------------------------------------------------------------------------
 *
 * http.c
 *		How many requests twtasks-http sends in a second, and what that costs.
 *
 *		http WORKER AT_ONCE REQUESTS
 *
 * One process is the server: it answers 200 to whatever ends in an empty line
 * and a body of two bytes.  The other one is the sidecar: it keeps AT_ONCE tasks in
 * flight at the worker until REQUESTS are answered.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_EVENTS 256

/* The end of each request: the empty line, and the body "{}". */
#define END "\r\n\r\n{}"

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static double
now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

static int
listen_somewhere(int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *) &address, len) != 0 || listen(fd, 1024) != 0 ||
		getsockname(fd, (struct sockaddr *) &address, &len) != 0)
		die("listen");
	*port = ntohs(address.sin_port);
	return fd;
}

/* Requests are small, and come one after the other: each is in one block. */
static void
answer_one(int fd)
{
	char		block[8192];
	ssize_t		n = read(fd, block, sizeof(block) - 1);

	if (n <= 0)
	{
		close(fd);
		return;
	}
	block[n] = '\0';
	if (strstr(block, END) != NULL &&
		write(fd, answer, sizeof(answer) - 1) != (ssize_t) sizeof(answer) - 1)
		die("write");
}

static void
serve(int listener)
{
	int			epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN,.data.fd = listener};
	struct epoll_event events[MAX_EVENTS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	for (;;)
	{
		int			n = epoll_wait(epoll, events, MAX_EVENTS, -1);

		for (int i = 0; i < n; i++)
		{
			if (events[i].data.fd != listener)
			{
				answer_one(events[i].data.fd);
				continue;
			}
			event.data.fd = accept(listener, NULL, NULL);
			epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
		}
	}
}

static pid_t
start_worker(char *program, FILE **in, FILE **out)
{
	int			to[2];
	int			from[2];
	pid_t		pid;

	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		die("pipe");
	pid = fork();
	if (pid == 0)
	{
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(program, program, NULL);
		die(program);
	}
	close(to[0]);
	close(from[1]);
	*in = fdopen(to[1], "w");
	*out = fdopen(from[0], "r");
	return pid;
}

static void
give(FILE *in, int number)
{
	fprintf(in, "{\"id\":\"0190d1a2-0000-7000-8000-%012x\",\"version\":1,\"type\":\"BENCH\","
			"\"sub_type\":null,\"tries\":1,\"max_tries\":20,"
			"\"deadline\":\"2031-01-02T03:04:05Z\",\"data\":{},\"context\":null}\n", number);
}

/* Gives one for each that is answered; returns how many said something else. */
static int
run(FILE *in, FILE *out, int at_once, int requests)
{
	char		line[4096];
	int			given = 0;
	int			wrong = 0;

	while (given < at_once)
		give(in, given++);
	fflush(in);
	for (int answered = 0; answered < requests; answered++)
	{
		if (fgets(line, sizeof(line), out) == NULL)
			die("the worker has ended");
		if (strstr(line, "\"done\"") == NULL)
			wrong++;
		if (given < requests)
			give(in, given++);
		if (given % 16 == 0 || requests - answered <= at_once)
			fflush(in);
	}
	return wrong;
}

int
main(int argc, char **argv)
{
	int			at_once = argc == 4 ? (int) strtol(argv[2], NULL, 10) : 0;
	int			requests = argc == 4 ? (int) strtol(argv[3], NULL, 10) : 0;
	int			port;
	int			listener = listen_somewhere(&port);
	struct rusage used;
	char		line[4096];
	double		start;
	double		took;
	FILE	   *in;
	FILE	   *out;
	pid_t		server;
	pid_t		worker;
	int			wrong;

	if (at_once < 32 || requests < at_once)
	{
		fputs("usage: http WORKER AT_ONCE REQUESTS (at least 32 at once)\n", stderr);
		return 2;
	}
	server = fork();
	if (server == 0)
		serve(listener);
	worker = start_worker(argv[1], &in, &out);
	fprintf(in, "{\"hello\":1,\"settings\":{\"http\":\"http://127.0.0.1:%d/\",\"concurrency\":%d}}\n",
			port, at_once);
	fflush(in);
	if (fgets(line, sizeof(line), out) == NULL || strstr(line, "ready") == NULL)
		die("the worker is not ready");
	start = now();
	wrong = run(in, out, at_once, requests);
	took = now() - start;
	fclose(in);
	if (wait4(worker, NULL, 0, &used) != worker)
		die("wait");
	kill(server, SIGKILL);
	printf("%d requests, %d at once: %.0f/s, %.1f us of CPU each, %d failed\n", requests, at_once,
		   requests / took,
		   (used.ru_utime.tv_sec + used.ru_stime.tv_sec +
			(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6) * 1e6 / requests, wrong);
	return wrong != 0;
}
