/*-------------------------------------------------------------------------
 *
 * replaced.c
 *		The log, chance, the machine's clock and the supervisor in the simulation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <stdarg.h>
#include <time.h>

#include "base/chance.h"
#include "base/log.h"
#include "base/sdnotify.h"
#include "base/task.h"
#include "process.h"
#include "world.h"

/* Machines whose clocks differ from the database's, until it has told its own. */
#define CLOCK_ERROR_US MS_TO_US(300)

extern int	__wrap_clock_gettime(clockid_t id, struct timespec *now);

int
__wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	int64		us = WORLD_EPOCH_US + world_now_us();

	if (process_current() != NULL)
		us += (process_current()->machine - 1) * CLOCK_ERROR_US;
	now->tv_sec = us / SECONDS_TO_US(1);
	now->tv_nsec = us % SECONDS_TO_US(1) * 1000;
	return 0;
}

int64
chance_delay(int64 us)
{
	return us - us * world_between(0, 999) / 2000;
}

/* ---- log.h ---- */

void
log_init(LogFormat format, LogLevel level, const char *node)
{
}

bool
log_wants(LogLevel level)
{
	return world_is_told();
}

static void
say(LogLevel level, const char *subject, const char *fmt, va_list args)
{
	char		text[800];

	if (level > TWT_LOG_FATAL && !world_is_told())
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	if (level == TWT_LOG_FATAL)
		world_fail("%s: %s", subject, text);
	fprintf(stderr, "%12.6f     %s logs %d %s: %s\n", world_now_us() / 1e6,
			process_current() == NULL ? "nobody" : process_current()->name, level, subject, text);
}

void
log_line(LogLevel level, const char *subject, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	say(level, subject, fmt, args);
	va_end(args);
}

void
log_task(LogLevel level, const char *subject, const Task *task, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	say(level, subject, fmt, args);
	va_end(args);
}

uint64
log_lines(LogLevel level)
{
	return 0;
}

uint64
log_dropped(void)
{
	return 0;
}

/* ---- sdnotify.h: nobody supervises a simulated sidecar ---- */

void
sdnotify_init(void)
{
}

void
sdnotify_ready(void)
{
}

void
sdnotify_reloading(void)
{
}

void
sdnotify_stopping(void)
{
}

void
sdnotify_status(const char *fmt,...)
{
}

void
sdnotify_watchdog(void)
{
}

int64
sdnotify_watchdog_us(void)
{
	return 0;
}

void
sdnotify_watch_open(Loop *loop)
{
}

void
sdnotify_watch_close(void)
{
}
