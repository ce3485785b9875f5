#include "base/port.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/sdnotify.h"
#include "base/text.h"

#define STATUS_MAX 512

static int	notify_fd = -1;
static struct sockaddr_un notify_addr;
static socklen_t notify_addr_len;
static int64 watchdog_us;
static LoopTimer *watchdog;

static void
send_state(const char *state)
{
	if (notify_fd < 0)
		return;
	(void) sendto(notify_fd, state, strlen(state),
				  MSG_DONTWAIT | MSG_NOSIGNAL,
				  (struct sockaddr *) &notify_addr, notify_addr_len);
}

/*
 * name is a path or, if it begins with '@', a name in the abstract namespace.
 */
static bool
set_address(const char *name)
{
	size_t		len = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || len < 2 ||
		len >= sizeof(notify_addr.sun_path))
		return false;

	memset(&notify_addr, 0, sizeof(notify_addr));
	notify_addr.sun_family = AF_UNIX;
	memcpy(notify_addr.sun_path, name, len);
	notify_addr_len = offsetof(struct sockaddr_un, sun_path) + len;
	if (name[0] == '@')
		notify_addr.sun_path[0] = '\0';
	else
		notify_addr_len++;		/* count the NUL */
	return true;
}

/* A positive decimal number, or 0. */
static int64
number_from_env(const char *name)
{
	const char *text = getenv(name);
	char	   *end;
	long long	value;

	if (text == NULL)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < 0)
		return 0;
	return value;
}

static int64
watchdog_from_env(void)
{
	if (getenv("WATCHDOG_PID") != NULL &&
		number_from_env("WATCHDOG_PID") != getpid())
		return 0;
	return number_from_env("WATCHDOG_USEC") / 2;
}

void
sdnotify_init(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (notify_fd >= 0)
		close(notify_fd);
	notify_fd = -1;
	watchdog_us = watchdog_from_env();
	if (name != NULL && set_address(name))
		notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void
sdnotify_ready(void)
{
	send_state("READY=1");
}

/* The time lets systemd tell this reload's READY=1 from an earlier one. */
void
sdnotify_reloading(void)
{
	struct timespec now;
	char		state[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=" INT64_FORMAT,
			 SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000);
	send_state(state);
}

void
sdnotify_stopping(void)
{
	send_state("STOPPING=1");
}

/* Escapes the text, since a line end would begin another assignment. */
void
sdnotify_status(const char *fmt,...)
{
	char		text[STATUS_MAX];
	StringInfoData state;
	va_list		args;

	if (notify_fd < 0)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	initStringInfo(&state);
	appendStringInfoString(&state, "STATUS=");
	text_escape_line(&state, text, strlen(text), STATUS_MAX);
	send_state(state.data);
	pfree(state.data);
}

void
sdnotify_watchdog(void)
{
	send_state("WATCHDOG=1");
}

int64
sdnotify_watchdog_us(void)
{
	return notify_fd >= 0 ? watchdog_us : 0;
}

static void
on_watchdog(void *arg)
{
	(void) arg;
	sdnotify_watchdog();
	loop_timer_start(watchdog, sdnotify_watchdog_us());
}

void
sdnotify_watch_open(Loop *loop)
{
	watchdog = loop_timer_new(loop, on_watchdog, NULL);
	if (sdnotify_watchdog_us() > 0)
		loop_timer_start(watchdog, 0);
}

void
sdnotify_watch_close(void)
{
	loop_timer_free(watchdog);
}
