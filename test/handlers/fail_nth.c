/*
 * fail_nth.c -- counts the calls that a process makes to the system and to the C library,
 * by their names, and lets the n-th of one name fail; built by a test, and put before the
 * process by LD_PRELOAD.
 *
 *	NTH_RECORD	a file of as many 32-bit numbers as there are names: their counts.  One
 *				number more, after them, counts the calls that have failed
 *	NTH_CALL	the name whose calls fail, or several with commas between; unset: none
 *	NTH_FROM	which call of the first name is the first to fail, from 1
 *	NTH_EVERY	0: no other; else each call that comes so many calls after one that failed
 *	NTH_MS		if not 0: from that call on, all calls of all names fail for so many ms
 *	NTH_LEAK	if not 0, the library leaves a pipe open where a call fails, as a fault of
 *				the process would
 *	NTH_ERROR	the number that errno gets, or that a function returns as its error
 *	NTH_STACK	a file to which each failure adds its stack; unset: none
 *
 * Children of the process go without this library.  Its own calls are not counted, nor are
 * those between functions of the C library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* As in microhttpd.h. */
typedef void (*SentFn) (void *arg);
extern void *MHD_create_response_from_buffer_with_free_callback_cls(size_t size, void *bytes, SentFn sent, void *arg);

/* TwTasks::NthCall has the same names in the same order. */
#define CALLS(X) \
	X(MHD_create_response_from_buffer_with_free_callback_cls) X(accept4) X(access) X(bind) X(calloc) X(chmod) X(clone) X(close) X(connect) X(dup2) X(epoll_create1) \
	X(epoll_ctl) X(epoll_wait) X(eventfd) X(execve) X(fcntl) X(fopen) X(fork) X(fstat) X(getaddrinfo) X(getpeername) \
	X(getrandom) X(getsockname) X(getsockopt) X(kill) X(listen) X(lseek) X(malloc) X(memfd_create) X(open) X(pipe) X(pipe2) \
	X(poll) X(prctl) X(pthread_create) X(read) X(readlink) X(realloc) X(recv) X(recvmsg) X(send) X(sendmsg) X(sendto) X(setrlimit) X(setsid) \
	X(setsockopt) X(shutdown) X(signalfd) X(socket) X(stat) X(syscall) X(thrd_create) X(timerfd_create) X(timerfd_settime) X(unlink) X(vfork) \
	X(waitid) X(waitpid) X(write)

enum
{
#define ENUM(name) CALL_##name,
	CALLS(ENUM)
	COUNT
};

static const char *const names[COUNT] = {
#define NAME(name) #name,
	CALLS(NAME)
};

static struct
{
#define POINTER(name) __typeof__(name) *name;
	CALLS(POINTER)
	__typeof__(open64) *open64;
	__typeof__(fopen64) *fopen64;
	__typeof__(fcntl64) *fcntl64;
}			real;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static _Atomic unsigned *counts;	/* NULL: nothing fails */
static int	chosen[COUNT];
static int	first = -1;			/* the first of them; -1: none */
static unsigned from;
static unsigned every;
static unsigned storm_ms;
static unsigned leaks;
static _Atomic long long until_ms;	/* the end of the storm; 0: it has not begun */
static int	error_number;

static unsigned
number_of(const char *name)
{
	const char *text = getenv(name);

	return text == NULL ? 0 : (unsigned) strtoul(text, NULL, 10);
}

static void
find_calls(void)
{
#define FIND(name) *(void **) &real.name = dlsym(RTLD_NEXT, #name);
	CALLS(FIND)
	FIND(open64)
	FIND(fopen64)
	FIND(fcntl64)
}

/* Libraries make calls before begin() is called. */
#define REAL(name) (real.name != NULL ? real.name : (find_calls(), real.name))

static void
map_counts(const char *path)
{
	size_t		size = (COUNT + 1) * sizeof(*counts);
	int			fd = real.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void	   *map;

	if (fd < 0 || ftruncate(fd, (off_t) size) != 0 ||
		(map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		abort();
	real.close(fd);
	counts = map;
}

static void
choose_calls(const char *text)
{
	size_t		len;

	for (; *text != '\0'; text += len + strspn(text + len, ","))
	{
		len = strcspn(text, ",");
		for (int i = 0; i < COUNT; i++)
			if (strlen(names[i]) == len && strncmp(names[i], text, len) == 0)
			{
				chosen[i] = 1;
				first = first < 0 ? i : first;
			}
	}
}

static void __attribute__((constructor))
begin(void)
{
	find_calls();
	if (getenv("NTH_CALL") != NULL)
		choose_calls(getenv("NTH_CALL"));
	from = number_of("NTH_FROM");
	every = number_of("NTH_EVERY");
	storm_ms = number_of("NTH_MS");
	leaks = number_of("NTH_LEAK");
	error_number = (int) number_of("NTH_ERROR");
	/* The first call loads a library, which no child between vfork() and execve() may do. */
	(void) backtrace(&(void *) {NULL}, 1);
	if (getenv("NTH_RECORD") != NULL)
		map_counts(getenv("NTH_RECORD"));
	unsetenv("LD_PRELOAD");
}

static void
write_stack(void)
{
	const char *path = getenv("NTH_STACK");
	void	   *frames[40];
	int			fd;

	if (path == NULL || (fd = real.open(path, O_WRONLY | O_APPEND | O_CREAT, 0600)) < 0)
		return;
	backtrace_symbols_fd(frames, backtrace(frames, 40), fd);
	real.close(fd);
}

static long long
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Whether a storm rages, which the n-th call of the first name begins. */
static int
is_in_storm(int call, unsigned n)
{
	if (call == first && n == from)
		until_ms = now_ms() + storm_ms;
	return until_ms != 0 && now_ms() < until_ms;
}

static int
is_due(int call, unsigned n)
{
	if (storm_ms > 0)
		return is_in_storm(call, n);
	return call == first && n >= from && (n == from || (every > 0 && (n - from) % every == 0));
}

static void
leak_pipe(void)
{
	int			fds[2];

	if (real.pipe2(fds, O_CLOEXEC) == 0)
		real.close(fds[1]);
}

/* Counts the call; whether it fails.  A storm writes the stack of its first failure alone. */
static int
fails(int call)
{
	unsigned	n;

	if (counts == NULL)
		return 0;
	n = atomic_fetch_add(&counts[call], 1) + 1;
	if (!chosen[call] || !is_due(call, n))
		return 0;
	if (atomic_fetch_add(&counts[COUNT], 1) == 0 || storm_ms == 0)
		write_stack();
	if (leaks)
		leak_pipe();
	errno = error_number;
	return 1;
}

/* ---- calls with fixed parameters ---- */

#define CALL_1(type, name, A) \
	type name(A a) { return fails(CALL_##name) ? -1 : REAL(name)(a); }
#define CALL_2(type, name, A, B) \
	type name(A a, B b) { return fails(CALL_##name) ? -1 : REAL(name)(a, b); }
#define CALL_3(type, name, A, B, C) \
	type name(A a, B b, C c) { return fails(CALL_##name) ? -1 : REAL(name)(a, b, c); }
#define CALL_4(type, name, A, B, C, D) \
	type name(A a, B b, C c, D d) { return fails(CALL_##name) ? -1 : REAL(name)(a, b, c, d); }
#define CALL_5(type, name, A, B, C, D, E) \
	type name(A a, B b, C c, D d, E e) { return fails(CALL_##name) ? -1 : REAL(name)(a, b, c, d, e); }

CALL_4(int, accept4, int, struct sockaddr *, socklen_t *, int)
CALL_2(int, access, const char *, int)
CALL_3(int, bind, int, const struct sockaddr *, socklen_t)
CALL_2(int, chmod, const char *, mode_t)
CALL_3(int, connect, int, const struct sockaddr *, socklen_t)
CALL_2(int, dup2, int, int)
CALL_1(int, epoll_create1, int)
CALL_4(int, epoll_ctl, int, int, int, struct epoll_event *)
CALL_4(int, epoll_wait, int, struct epoll_event *, int, int)
CALL_2(int, eventfd, unsigned, int)
CALL_3(int, execve, const char *, char *const *, char *const *)
CALL_2(int, fstat, int, struct stat *)
CALL_3(int, getpeername, int, struct sockaddr *, socklen_t *)
CALL_3(ssize_t, getrandom, void *, size_t, unsigned)
CALL_3(int, getsockname, int, struct sockaddr *, socklen_t *)
CALL_5(int, getsockopt, int, int, int, void *, socklen_t *)
CALL_2(int, kill, pid_t, int)
CALL_2(int, listen, int, int)
CALL_3(off_t, lseek, int, off_t, int)
CALL_2(int, memfd_create, const char *, unsigned)
CALL_1(int, pipe, int *)
CALL_2(int, pipe2, int *, int)
CALL_3(int, poll, struct pollfd *, nfds_t, int)
CALL_3(ssize_t, read, int, void *, size_t)
CALL_3(ssize_t, readlink, const char *, char *, size_t)
CALL_2(int, setrlimit, __rlimit_resource_t, const struct rlimit *)
CALL_5(int, setsockopt, int, int, int, const void *, socklen_t)
CALL_2(int, shutdown, int, int)
CALL_3(int, signalfd, int, const sigset_t *, int)
CALL_3(int, socket, int, int, int)
CALL_2(int, stat, const char *, struct stat *)
CALL_2(int, timerfd_create, clockid_t, int)
CALL_4(int, timerfd_settime, int, int, const struct itimerspec *, struct itimerspec *)
CALL_1(int, unlink, const char *)
CALL_4(int, waitid, idtype_t, id_t, siginfo_t *, int)
CALL_3(pid_t, waitpid, pid_t, int *, int)
CALL_3(ssize_t, write, int, const void *, size_t)

void *
MHD_create_response_from_buffer_with_free_callback_cls(size_t size, void *bytes, SentFn sent, void *arg)
{
	return fails(CALL_MHD_create_response_from_buffer_with_free_callback_cls) ? NULL :
		REAL(MHD_create_response_from_buffer_with_free_callback_cls)(size, bytes, sent, arg);
}

pid_t
fork(void)
{
	return fails(CALL_fork) ? -1 : REAL(fork)();
}

/* The compiler makes a jump of this call, as it must: the child returns first. */
pid_t
vfork(void)
{
	if (fails(CALL_vfork))
		return -1;
	return REAL(vfork)();
}

pid_t
setsid(void)
{
	return fails(CALL_setsid) ? -1 : REAL(setsid)();
}

ssize_t
sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *address, socklen_t size)
{
	return fails(CALL_sendto) ? -1 : REAL(sendto)(fd, bytes, len, flags, address, size);
}

/* After such an error a socket is dead in both directions. */
static int
fails_with_socket(int call, int fd)
{
	if (!fails(call))
		return 0;
	if (error_number == ECONNRESET || error_number == EPIPE)
		REAL(shutdown)(fd, SHUT_RDWR);
	errno = error_number;
	return 1;
}

ssize_t
recv(int fd, void *bytes, size_t len, int flags)
{
	return fails_with_socket(CALL_recv, fd) ? -1 : REAL(recv)(fd, bytes, len, flags);
}

ssize_t
send(int fd, const void *bytes, size_t len, int flags)
{
	return fails_with_socket(CALL_send, fd) ? -1 : REAL(send)(fd, bytes, len, flags);
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	return fails_with_socket(CALL_recvmsg, fd) ? -1 : REAL(recvmsg)(fd, message, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	return fails_with_socket(CALL_sendmsg, fd) ? -1 : REAL(sendmsg)(fd, message, flags);
}

/* The descriptor is gone also where close() fails. */
int
close(int fd)
{
	int			is_failure = fails(CALL_close);
	int			error = errno;
	int			result = REAL(close)(fd);

	if (!is_failure)
		return result;
	errno = error;
	return -1;
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start) (void *), void *arg)
{
	return fails(CALL_pthread_create) ? error_number : REAL(pthread_create)(thread, attributes, start, arg);
}

int
thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	return fails(CALL_thrd_create) ? thrd_error : REAL(thrd_create)(thread, start, arg);
}

/* NTH_ERROR is for errno: the function itself says EAI_SYSTEM. */
int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
	return fails(CALL_getaddrinfo) ? EAI_SYSTEM : REAL(getaddrinfo)(host, service, hints, found);
}

FILE *
fopen(const char *path, const char *mode)
{
	return fails(CALL_fopen) ? NULL : REAL(fopen)(path, mode);
}

FILE *
fopen64(const char *path, const char *mode)
{
	return fails(CALL_fopen) ? NULL : REAL(fopen64)(path, mode);
}

/* ---- calls with more parameters than their prototypes name ---- */

static mode_t
mode_of(int flags, va_list args)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

int
open(const char *path, int flags,...)
{
	va_list		args;
	mode_t		mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails(CALL_open) ? -1 : REAL(open)(path, flags, mode);
}

int
open64(const char *path, int flags,...)
{
	va_list		args;
	mode_t		mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return fails(CALL_open) ? -1 : REAL(open64)(path, flags, mode);
}

int
fcntl(int fd, int command,...)
{
	va_list		args;
	void	   *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return fails(CALL_fcntl) ? -1 : REAL(fcntl)(fd, command, arg);
}

int
fcntl64(int fd, int command,...)
{
	va_list		args;
	void	   *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	return fails(CALL_fcntl) ? -1 : REAL(fcntl64)(fd, command, arg);
}

int
prctl(int option,...)
{
	va_list		args;
	unsigned long a[4];

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	return fails(CALL_prctl) ? -1 : REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

long
syscall(long number,...)
{
	va_list		args;
	long		a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return fails(CALL_syscall) ? -1 : REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int
clone(int (*run) (void *), void *stack, int flags, void *arg,...)
{
	va_list		args;
	void	   *a[3];

	va_start(args, arg);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(args, void *);
	va_end(args);
	return fails(CALL_clone) ? -1 : REAL(clone)(run, stack, flags, arg, a[0], a[1], a[2]);
}

/* ---- memory, which is asked for before begin() ---- */

void *
malloc(size_t size)
{
	return fails(CALL_malloc) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return fails(CALL_calloc) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return fails(CALL_realloc) ? NULL : __libc_realloc(old, size);
}
