/*-------------------------------------------------------------------------
 *
 * frozen_clock.c
 *		A clock that stands still until a test moves it, for a server.
 *
 * The dynamic linker loads this library before others (LD_PRELOAD).  The file that
 * TWT_FROZEN_CLOCK names holds two numbers of microseconds: the time of day, since 1970,
 * and the time since the start of the machine.  The test writes both, and all processes of
 * the server read them.
 *
 * A timeout must end although the clock stands still.  So its alarm sees the time at which
 * the timeout ends.
 *
 *-------------------------------------------------------------------------
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000

static volatile const int64_t *times;	/* NULL: nobody froze the clock */
static int64_t alarm_us;		/* the time at which the next timeout ends */
static bool is_alarm;
static void (*on_alarm) (int signo);

static int	(*real_gettime) (clockid_t clock, struct timespec *at);
static int	(*real_setitimer) (__itimer_which_t which, const struct itimerval *value, struct itimerval *old);
static int	(*real_sigaction) (int signo, const struct sigaction *action, struct sigaction *old);

static void
__attribute__((constructor))
open_clock(void)
{
	const char *path = getenv("TWT_FROZEN_CLOCK");
	int			fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void	   *map;

	real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	real_setitimer = dlsym(RTLD_NEXT, "setitimer");
	real_sigaction = dlsym(RTLD_NEXT, "sigaction");
	if (fd < 0)
		return;
	map = mmap(NULL, 2 * sizeof(*times), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		times = map;
}

static int64_t
now_us(void)
{
	return is_alarm && alarm_us > times[0] ? alarm_us : times[0];
}

int
clock_gettime(clockid_t clock, struct timespec *at)
{
	int64_t		us;

	if (times == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return real_gettime(clock, at);
	us = clock == CLOCK_REALTIME ? now_us() : times[1];
	at->tv_sec = us / SECOND;
	at->tv_nsec = us % SECOND * 1000;
	return 0;
}

int
gettimeofday(struct timeval *at, void *zone)
{
	struct timespec time;

	(void) clock_gettime(CLOCK_REALTIME, &time);
	at->tv_sec = time.tv_sec;
	at->tv_usec = time.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *at)
{
	struct timespec time;

	(void) clock_gettime(CLOCK_REALTIME, &time);
	if (at != NULL)
		*at = time.tv_sec;
	return time.tv_sec;
}

int
setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	if (times != NULL && which == ITIMER_REAL)
		alarm_us = now_us() + value->it_value.tv_sec * SECOND + value->it_value.tv_usec;
	return real_setitimer(which, value, old);
}

static void
handle_alarm(int signo)
{
	is_alarm = true;
	on_alarm(signo);
	is_alarm = false;
}

int
sigaction(int signo, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction ours;

	if (times == NULL || signo != SIGALRM || action == NULL ||
		action->sa_handler == SIG_IGN || action->sa_handler == SIG_DFL)
		return real_sigaction(signo, action, old);
	ours = *action;
	on_alarm = action->sa_handler;
	ours.sa_handler = handle_alarm;
	return real_sigaction(signo, &ours, old);
}
