/*
 * fail_calls.c -- lets the n-th send() or recv() of a process to a PostgreSQL server
 * fail, or libpq lose its n-th result; built by a test, and put before the process by
 * LD_PRELOAD.
 *
 *	FAIL_CALL	"send", "recv" or "result"
 *	FAIL_NTH	which of these calls, from 1
 *	FAIL_HOW	"error": this call fails, and the socket stays as it is; "lost": what it
 *				sends or receives is lost, and all that follows on this socket.  A result
 *				is replaced by an error of libpq, as if memory was out
 *
 * Without FAIL_NTH, or once it has failed, all calls are left alone.  FAIL_RECORD is a
 * file that gets a line when a call has failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef ssize_t (*SendFn) (int fd, const void *bytes, size_t len, int flags);
typedef ssize_t (*RecvFn) (int fd, void *bytes, size_t len, int flags);

static int	ncalls;
static int	lost_fd = -1;
static ino_t lost_socket;

static int
is_of_server(int fd)
{
	struct sockaddr_un peer;
	socklen_t	len = sizeof(peer);

	memset(&peer, 0, sizeof(peer));
	return getpeername(fd, (struct sockaddr *) &peer, &len) == 0 &&
		peer.sun_family == AF_UNIX && strstr(peer.sun_path, ".s.PGSQL") != NULL;
}

static ino_t
socket_of(int fd)
{
	char		path[64];
	char		target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return 0;
	return (ino_t) strtoull(target + strcspn(target, "0123456789"), NULL, 10);
}

static int
is_lost(int fd)
{
	return fd == lost_fd && socket_of(fd) == lost_socket;
}

static void
record(void)
{
	int			fd = open(getenv("FAIL_RECORD"), O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (fd >= 0)
	{
		(void) !write(fd, "failed\n", 7);
		close(fd);
	}
}

/* Whether this call is the one that fails; fd -1: it is no call on a socket. */
static int
fails_now(const char *call, int fd)
{
	const char *nth = getenv("FAIL_NTH");

	if (nth == NULL || strcmp(getenv("FAIL_CALL"), call) != 0 ||
		(fd >= 0 && !is_of_server(fd)) || ++ncalls != atoi(nth))
		return 0;
	record();
	if (strcmp(getenv("FAIL_HOW"), "lost") == 0)
	{
		lost_fd = fd;
		lost_socket = socket_of(fd);
		return 0;
	}
	return 1;
}

ssize_t
send(int fd, const void *bytes, size_t len, int flags)
{
	if (fails_now("send", fd))
	{
		errno = EHOSTUNREACH;
		return -1;
	}
	if (is_lost(fd))
		return (ssize_t) len;
	return ((SendFn) dlsym(RTLD_NEXT, "send")) (fd, bytes, len, flags);
}

ssize_t
recv(int fd, void *bytes, size_t len, int flags)
{
	ssize_t		n;

	if (fails_now("recv", fd))
	{
		errno = ETIMEDOUT;
		return -1;
	}
	n = ((RecvFn) dlsym(RTLD_NEXT, "recv")) (fd, bytes, len, flags);
	if (n <= 0 || !is_lost(fd))
		return n;
	errno = EAGAIN;
	return -1;
}

/* As in libpq-fe.h. */
#define TUPLES_OK 2
#define FATAL_ERROR 7
typedef void *(*GetFn) (void *conn);
typedef void *(*MakeFn) (void *conn, int status);
typedef int (*StatusFn) (const void *result);
typedef void (*ClearFn) (void *result);

void *
PQgetResult(void *conn)
{
	void	   *result = ((GetFn) dlsym(RTLD_NEXT, "PQgetResult")) (conn);

	if (result == NULL || ((StatusFn) dlsym(RTLD_NEXT, "PQresultStatus")) (result) != TUPLES_OK ||
		!fails_now("result", -1))
		return result;
	((ClearFn) dlsym(RTLD_NEXT, "PQclear")) (result);
	return ((MakeFn) dlsym(RTLD_NEXT, "PQmakeEmptyPGresult")) (NULL, FATAL_ERROR);
}
