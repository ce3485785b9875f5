/*-------------------------------------------------------------------------
 *
 * test_trouble.c
 *		A connection that stays away is told again each minute, and what nobody
 *		but a person can mend is told as such.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "check.h"
#include "config/config.h"
#include "pg/trouble.h"

#define REFUSED "connection to server failed: FATAL:  28P01: password wrong\nLOCATION: x"
#define AWAY "connection to server failed: Connection refused\n"

static int	real_stderr;
static int	reader;				/* reading end of the pipe that is stderr */
static Trouble trouble;

/* Whether exactly one line was written since, and this is in it; NULL: none. */
static bool
told(const char *text)
{
	char		buf[4096];
	ssize_t		n = read(reader, buf, sizeof(buf) - 1);

	buf[Max(n, 0)] = '\0';
	if (text == NULL)
		return n <= 0;
	return n > 0 && strchr(buf, '\n') == buf + n - 1 && strstr(buf, text) != NULL;
}

static int
set_up(void **state)
{
	int			ends[2];

	real_stderr = dup(STDERR_FILENO);
	if (pipe(ends) != 0)
		return -1;
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	reader = ends[0];
	fcntl(reader, F_SETFL, O_NONBLOCK);
	log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "node-1");
	memset(&trouble, 0, sizeof(trouble));
	trouble.role = "control";
	return 0;
}

static int
tear_down(void **state)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(reader);
	return 0;
}

static void
test_repeated_each_minute(void **state)
{
	trouble_down(&trouble, 0, AWAY, TROUBLE_HEALS);
	assert_true(told("WARN  postgres: control: connection to server failed: "
					 "Connection refused; will connect again"));
	trouble_down(&trouble, SECONDS_TO_US(59), AWAY, TROUBLE_HEALS);
	assert_true(told(NULL));
	trouble_down(&trouble, SECONDS_TO_US(60), AWAY, TROUBLE_HEALS);
	assert_true(told("Connection refused"));
	trouble_down(&trouble, SECONDS_TO_US(119), AWAY, TROUBLE_HEALS);
	assert_true(told(NULL));
	trouble_over(&trouble);
	assert_true(told("INFO  postgres: control: connected"));
	trouble_over(&trouble);
	assert_true(told(NULL));
}

static void
test_no_healing_is_promised(void **state)
{
	trouble_down(&trouble, 0, REFUSED, TROUBLE_HEALS);
	assert_true(told("ERROR postgres: control: connection to server failed: "
					 "FATAL:  28P01: password wrong; somebody must mend this"));
	trouble_down(&trouble, SECONDS_TO_US(60), REFUSED, TROUBLE_HEALS);
	assert_true(told("somebody must mend this"));
	trouble_over(&trouble);
	told("connected");
	trouble_down(&trouble, SECONDS_TO_US(61), "no password", TROUBLE_NEEDS_PERSON);
	assert_true(told("ERROR postgres: control: no password; somebody must mend this"));
}

static void
test_a_change_is_told_at_once(void **state)
{
	trouble_down(&trouble, 0, AWAY, TROUBLE_HEALS);
	assert_true(told("will connect again"));
	trouble_down(&trouble, 1, REFUSED, TROUBLE_HEALS);
	assert_true(told("somebody must mend this"));
	trouble_down(&trouble, 2, AWAY, TROUBLE_HEALS);
	assert_true(told("will connect again"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_repeated_each_minute, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_healing_is_promised, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_change_is_told_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
