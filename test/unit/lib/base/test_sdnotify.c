/*-------------------------------------------------------------------------
 *
 * test_sdnotify.c
 *		What systemd hears, on a real socket.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/sdnotify.h"
#include "check.h"

static int	listener = -1;
static char path[64];

/* Listens at a path, or at an abstract name ("@..."). */
static void
listen_at(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t	len = offsetof(struct sockaddr_un, sun_path) + strlen(name);

	memcpy(addr.sun_path, name, strlen(name));
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *) &addr, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static int
set_up(void **state)
{
	snprintf(path, sizeof(path), "/tmp/twtasks_test_sdnotify.%d",
			 (int) getpid());
	listen_at(path);
	return 0;
}

static int
tear_down(void **state)
{
	close(listener);
	unlink(path);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

/* The next datagram; "" when there is none. */
static const char *
heard(void)
{
	static char buf[2048];
	ssize_t		n = recv(listener, buf, sizeof(buf) - 1, 0);

	buf[Max(n, 0)] = '\0';
	return buf;
}

static void
test_messages(void **state)
{
	sdnotify_init();
	sdnotify_ready();
	assert_string_equal(heard(), "READY=1");
	sdnotify_watchdog();
	assert_string_equal(heard(), "WATCHDOG=1");
	sdnotify_stopping();
	assert_string_equal(heard(), "STOPPING=1");
	assert_string_equal(heard(), "");
}

static void
test_reloading_has_the_time(void **state)
{
	struct timespec now;
	long long	us;

	sdnotify_init();
	sdnotify_reloading();
	assert_int_equal(sscanf(heard(), "RELOADING=1\nMONOTONIC_USEC=%lld", &us), 1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_in_range(us, SECONDS_TO_US(now.tv_sec - 60),
					SECONDS_TO_US(now.tv_sec + 1));
}

static void
test_status_is_one_assignment(void **state)
{
	char		text[2000];

	sdnotify_init();
	sdnotify_status("%d tasks", 3);
	assert_string_equal(heard(), "STATUS=3 tasks");
	sdnotify_status("x\nMAINPID=%d", 1);
	assert_string_equal(heard(), "STATUS=x\\nMAINPID=1");

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sdnotify_status("%s", text);
	assert_in_range(strlen(heard()), 500, 520);
}

static void
test_abstract_name(void **state)
{
	char		name[64];

	close(listener);
	snprintf(name, sizeof(name), "@twtasks_test_sdnotify.%d", (int) getpid());
	listen_at(name);
	sdnotify_init();
	sdnotify_ready();
	assert_string_equal(heard(), "READY=1");
}

static void
test_environment_is_removed(void **state)
{
	setenv("WATCHDOG_USEC", "1000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	sdnotify_init();
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	sdnotify_ready();
	assert_string_equal(heard(), "READY=1");
}

static void
all_calls(void)
{
	sdnotify_ready();
	sdnotify_reloading();
	sdnotify_status("x");
	sdnotify_watchdog();
	sdnotify_stopping();
}

static void
test_no_op_without_socket(void **state)
{
	static const char *const unusable[] = {
		"", "relative", "/", "@", "vsock:2:1",
		"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	};
	int			i;

	unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "1000000", 1);
	sdnotify_init();
	all_calls();
	assert_int_equal(sdnotify_watchdog_us(), 0);
	for (i = 0; i < (int) lengthof(unusable); i++)
	{
		setenv("NOTIFY_SOCKET", unusable[i], 1);
		sdnotify_init();
		all_calls();
	}
	assert_string_equal(heard(), "");
}

/* Nobody listens, or nobody reads: the calls come back all the same. */
static void
test_deaf_listener(void **state)
{
	int			i;

	sdnotify_init();
	for (i = 0; i < 5000; i++)
		sdnotify_watchdog();
	close(listener);
	unlink(path);
	all_calls();
	listener = -1;
}

static int64
watchdog_for(const char *usec, const char *pid)
{
	setenv("NOTIFY_SOCKET", path, 1);
	setenv("WATCHDOG_USEC", usec, 1);
	if (pid != NULL)
		setenv("WATCHDOG_PID", pid, 1);
	sdnotify_init();
	return sdnotify_watchdog_us();
}

static void
test_watchdog_period(void **state)
{
	char		own[16];

	snprintf(own, sizeof(own), "%d", (int) getpid());
	assert_int_equal(watchdog_for("3000000", NULL), 1500000);
	assert_int_equal(watchdog_for("3000000", own), 1500000);
	assert_int_equal(watchdog_for("3000000", "1"), 0);
	assert_int_equal(watchdog_for("3000000", ""), 0);
	assert_int_equal(watchdog_for("", NULL), 0);
	assert_int_equal(watchdog_for("0", NULL), 0);
	assert_int_equal(watchdog_for("-2", NULL), 0);
	assert_int_equal(watchdog_for("3s", NULL), 0);
	assert_int_equal(watchdog_for("99999999999999999999", NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reloading_has_the_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_status_is_one_assignment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abstract_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_environment_is_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_op_without_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deaf_listener, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_watchdog_period, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
