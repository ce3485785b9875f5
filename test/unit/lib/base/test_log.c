/*-------------------------------------------------------------------------
 *
 * test_log.c
 *		Log lines: their forms, that none can be forged, and a blocked stderr.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/task.h"
#include "check.h"
#include "config/config.h"

#define LINE_MAX_BYTES 4096

/* Characters that would end a line, drive a terminal or pass for another. */
#define HOSTILE \
	"a\nFATAL b\r\t\x1b[31m\x7f\x01 \xc2\x85\xc2\x9b" \
	"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf" \
	"\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82 \\ \" \xc3\xbc"

static int	real_stderr;
static int	reader;				/* reading end of the pipe that is stderr */

static Task task = {
	.id_text = "0193b0a0-0000-7000-8000-000000000001",
	.version = 3,
	.type = "SEND_EMAIL"
};

static void
capture_by(int ends[2])
{
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	reader = ends[0];
	assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
}

/* Returns the text written since, maybe empty. */
static const char *
written(void)
{
	static char buf[16 * LINE_MAX_BYTES];
	ssize_t		n = read(reader, buf, sizeof(buf) - 1);

	buf[Max(n, 0)] = '\0';
	return buf;
}

static int
set_up(void **state)
{
	int			ends[2];

	real_stderr = dup(STDERR_FILENO);
	if (pipe(ends) != 0)
		return -1;
	capture_by(ends);
	log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "node-1");
	/* The line about losses of an earlier test comes now. */
	log_line(TWT_LOG_INFO, "test", "begins");
	written();
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

/* The one line that was written, without its time. */
static const char *
written_line(void)
{
	const char *line = written();
	const char *end = strchr(line, '\n');

	assert_non_null(end);
	assert_int_equal(end[1], '\0');
	assert_in_range(end - line, 26, LINE_MAX_BYTES - 1);
	assert_int_equal(line[10], 'T');
	assert_int_equal(line[19], '.');
	assert_int_equal(line[23], 'Z');
	return line + 25;
}

/* The object that the one line is. */
static json_t *
written_object(void)
{
	const char *line = written();
	json_t	   *object;
	json_error_t error;

	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_in_range(strlen(line), 1, LINE_MAX_BYTES);
	object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
	if (object == NULL)
		fail_msg("%s in %s", error.text, line);
	return object;
}

static const char *
member(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void
test_text_lines(void **state)
{
	log_line(TWT_LOG_INFO, "queue", "took %d triggers", 3);
	assert_string_equal(written_line(), "INFO  queue: took 3 triggers\n");
	log_line(TWT_LOG_FATAL, "config", "no");
	assert_string_equal(written_line(), "FATAL config: no\n");
	log_line(TWT_LOG_WARN, "pg", "%s", "");
	assert_string_equal(written_line(), "WARN  pg: \n");
	log_task(TWT_LOG_ERROR, "grab", &task, "lost the race");
	assert_string_equal(written_line(),
						"ERROR grab: lost the race task=0193b0a0-0000-7000-8000-000000000001 version=3 type=SEND_EMAIL\n");
}

/* time() may still say the second before, for some milliseconds. */
static time_t
now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

static void
test_time_is_utc(void **state)
{
	int			year,
				month,
				day,
				hour,
				minute,
				second;
	struct tm	tm = {0};
	time_t		before = now();
	time_t		then;

	log_line(TWT_LOG_INFO, "test", "now");
	assert_int_equal(sscanf(written(), "%4d-%2d-%2dT%2d:%2d:%2d.", &year,
							&month, &day, &hour, &minute, &second), 6);
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	tm.tm_hour = hour;
	tm.tm_min = minute;
	tm.tm_sec = second;
	then = timegm(&tm);
	assert_true(then >= before && then <= now());
}

static void
test_json_lines(void **state)
{
	json_t	   *object;

	log_init(LOG_FORMAT_JSON, TWT_LOG_INFO, "node \"1\"");
	log_task(TWT_LOG_INFO, "grab", &task, "lost the race");
	object = written_object();
	assert_int_equal(json_object_size(object), 8);
	assert_int_equal(strlen(member(object, "time")), 24);
	assert_string_equal(member(object, "level"), "info");
	assert_string_equal(member(object, "node"), "node \"1\"");
	assert_string_equal(member(object, "subject"), "grab");
	assert_string_equal(member(object, "message"), "lost the race");
	assert_string_equal(member(object, "task"), task.id_text);
	assert_int_equal(json_integer_value(json_object_get(object, "version")), 3);
	assert_string_equal(member(object, "type"), "SEND_EMAIL");
	json_decref(object);

	log_line(TWT_LOG_DEBUG, "grab", "not wanted");
	log_line(TWT_LOG_WARN, "log", "x");
	object = written_object();
	assert_int_equal(json_object_size(object), 5);
	json_decref(object);
}

/* One event is one printable line, whatever a handler or server says. */
static void
test_text_cannot_be_forged(void **state)
{
	const char *line;
	const char *s;

	log_line(TWT_LOG_INFO, "worker", "%s", HOSTILE);
	line = written_line();
	assert_string_equal(line,
						"INFO  worker: a\\nFATAL b\\r\\t\\x1b[31m\\x7f\\x01 \\u0085\\u009b"
						"\\u2028\\u2029\\u202e\\u2066\\ufeff"
						"\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82 \\\\ \" \xc3\xbc\n");
	for (s = line; *s != '\n'; s++)
		assert_true((unsigned char) *s >= 0x20 && *s != 0x7f);
}

static void
test_fields_cannot_be_forged(void **state)
{
	Task		hostile = task;

	log_line(TWT_LOG_INFO, "worker", "x task=1 version=2 type=Y task=");
	assert_string_equal(written_line(),
						"INFO  worker: x task:1 version:2 type:Y task:\n");
	hostile.type = "A\nB";
	log_task(TWT_LOG_INFO, "worker", &hostile, "task=1");
	assert_string_equal(written_line(),
						"INFO  worker: task:1 task=0193b0a0-0000-7000-8000-000000000001 version=3 type=A\\nB\n");
}

static void
test_json_cannot_be_forged(void **state)
{
	json_t	   *object;

	log_init(LOG_FORMAT_JSON, TWT_LOG_INFO, "n");
	log_task(TWT_LOG_INFO, "worker", &task, "%s", HOSTILE);
	object = written_object();
	assert_string_equal(member(object, "message"),
						"a\nFATAL b\r\t\x1b[31m\x7f\x01 \xc2\x85\xc2\x9b"
						"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf"
						"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
						"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
						"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
						"\xef\xbf\xbd\xef\xbf\xbd \\ \" \xc3\xbc");
	json_decref(object);

	log_line(TWT_LOG_INFO, "worker", "\",\"level\":\"fatal\",\"x\":\"");
	object = written_object();
	assert_string_equal(member(object, "level"), "info");
	json_decref(object);
}

/* Any bytes at all: still one line of JSON. */
static void
test_random_bytes(void **state)
{
	Chance		chance;
	char		noise[200];
	int			step;
	int			i;

	log_init(LOG_FORMAT_JSON, TWT_LOG_INFO, "n");
	chance_init(&chance, test_seed());
	for (step = 0; step < 2000; step++)
	{
		for (i = 0; i < (int) sizeof(noise) - 1; i++)
			noise[i] = (char) (chance_below(&chance, 255) + 1);
		noise[chance_below(&chance, sizeof(noise))] = '\0';
		noise[sizeof(noise) - 1] = '\0';
		log_line(TWT_LOG_INFO, "test", "%s", noise);
		json_decref(written_object());
	}
}

/* Fills a string with size bytes of the two-byte character after a prefix. */
static char *
long_text(int prefix, int size)
{
	char	   *text = palloc(size + 1);
	int			i;

	for (i = 0; i < prefix; i++)
		text[i] = 'x';
	for (; i + 1 < size; i += 2)
		memcpy(text + i, "\xc3\xbc", 2);
	text[i] = '\0';
	return text;
}

static void
test_long_messages_are_cut(void **state)
{
	int			prefix;

	for (prefix = 0; prefix < 4; prefix++)
	{
		char	   *text = long_text(prefix, 20000);
		const char *line;
		const char *cut;
		json_t	   *object;

		log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "n");
		log_task(TWT_LOG_INFO, "test", &task, "%s", text);
		line = written_line();
		assert_in_range(strlen(line) + 25, LINE_MAX_BYTES - 4, LINE_MAX_BYTES);
		cut = strstr(line, "\xe2\x80\xa6 task=0193b0a0");
		assert_non_null(cut);
		assert_memory_equal(cut - 2, "\xc3\xbc", 2);

		/* Each control character grows to six bytes. */
		log_init(LOG_FORMAT_JSON, TWT_LOG_INFO, "n");
		memset(text, '\x01', 10000);
		log_task(TWT_LOG_INFO, "test", &task, "%s", text);
		object = written_object();
		assert_string_equal(member(object, "task"), task.id_text);
		json_decref(object);
		pfree(text);
	}
}

static void
test_long_fields_are_cut(void **state)
{
	Task		odd = task;
	char	   *text = long_text(0, 20000);
	json_t	   *object;

	memset(text, '\x02', 20000);
	odd.type = text;
	log_init(LOG_FORMAT_JSON, TWT_LOG_INFO, text);
	log_task(TWT_LOG_INFO, text, &odd, "%s", text);
	object = written_object();
	assert_int_equal(json_object_size(object), 8);
	json_decref(object);
	log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "n");
	pfree(text);
}

static void
test_levels(void **state)
{
	log_init(LOG_FORMAT_TEXT, TWT_LOG_WARN, "n");
	assert_true(log_wants(TWT_LOG_FATAL));
	assert_true(log_wants(TWT_LOG_WARN));
	assert_false(log_wants(TWT_LOG_INFO));
	log_line(TWT_LOG_INFO, "test", "no");
	log_task(TWT_LOG_DEBUG, "test", &task, "no");
	assert_string_equal(written(), "");
}

static void
test_errno(void **state)
{
	errno = ENOENT;
	log_line(TWT_LOG_INFO, "test", "could not: %m");
	assert_int_equal(errno, ENOENT);
	assert_string_equal(written_line(),
						"INFO  test: could not: No such file or directory\n");
}

/* Logs until a line is lost; returns how many were written. */
static int
fill(void)
{
	uint64		dropped = log_dropped();
	int			n;

	for (n = 0; n < 100000; n++)
	{
		log_line(TWT_LOG_INFO, "test", "line %d", n);
		if (log_dropped() > dropped)
			return n;
	}
	fail_msg("stderr never filled up");
	return n;
}

/* Reads all there is, as somebody who woke up would. */
static void
drain(void)
{
	while (written()[0] != '\0')
		;
}

static void
check_dropping(void)
{
	uint64		before = log_dropped();

	assert_true(fill() > 10);
	log_line(TWT_LOG_INFO, "test", "lost too");
	log_task(TWT_LOG_INFO, "test", &task, "and this");
	assert_int_equal(log_dropped() - before, 3);
	drain();

	log_line(TWT_LOG_INFO, "test", "again");
	assert_non_null(strstr(written(), "WARN  log: 3 log lines could not be written\n"));
	log_line(TWT_LOG_INFO, "test", "once only");
	assert_string_equal(written_line(), "INFO  test: once only\n");
	assert_int_equal(log_dropped() - before, 3);
}

static void
test_full_pipe(void **state)
{
	int			flags = fcntl(STDERR_FILENO, F_GETFL);

	check_dropping();
	/* Other users of the pipe must not find it changed. */
	assert_int_equal(fcntl(STDERR_FILENO, F_GETFL), flags);
	assert_int_equal(flags & O_NONBLOCK, 0);
}

static void
test_full_socket(void **state)
{
	int			ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(reader);
	capture_by(ends);
	check_dropping();
}

/* SIGPIPE is at its default here: it would end the test. */
static void
test_reader_is_gone(void **state)
{
	uint64		before = log_dropped();

	close(reader);
	log_line(TWT_LOG_INFO, "test", "nobody reads");
	assert_int_equal(log_dropped() - before, 1);
}

static void
test_closed_stderr(void **state)
{
	uint64		before = log_dropped();

	close(STDERR_FILENO);
	log_line(TWT_LOG_INFO, "test", "nowhere");
	assert_int_equal(log_dropped() - before, 1);
}

static void
set_journal_stream(bool is_ours)
{
	struct stat st;
	char		value[64];

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(value, sizeof(value), "%llu:%llu", (unsigned long long) st.st_dev,
			 (unsigned long long) st.st_ino + (is_ours ? 0 : 1));
	setenv("JOURNAL_STREAM", value, 1);
}

static void
test_journal(void **state)
{
	json_t	   *object;

	set_journal_stream(true);
	log_init(LOG_FORMAT_TEXT, TWT_LOG_DEBUG, "n");
	log_line(TWT_LOG_FATAL, "test", "x");
	assert_memory_equal(written(), "<2>2", 4);
	log_line(TWT_LOG_ERROR, "test", "x");
	assert_memory_equal(written(), "<3>2", 4);
	log_line(TWT_LOG_WARN, "test", "x");
	assert_memory_equal(written(), "<4>2", 4);
	log_line(TWT_LOG_INFO, "test", "x");
	assert_memory_equal(written(), "<6>2", 4);
	log_line(TWT_LOG_DEBUG, "test", "x");
	assert_memory_equal(written(), "<7>2", 4);

	log_init(LOG_FORMAT_JSON, TWT_LOG_DEBUG, "n");
	log_line(TWT_LOG_ERROR, "test", "x");
	object = written_object();
	json_decref(object);

	/* Somebody redirected stderr: the journal is elsewhere. */
	set_journal_stream(false);
	log_init(LOG_FORMAT_TEXT, TWT_LOG_DEBUG, "n");
	log_line(TWT_LOG_ERROR, "test", "x");
	assert_string_equal(written_line(), "ERROR test: x\n");
	unsetenv("JOURNAL_STREAM");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time_is_utc, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_json_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_text_cannot_be_forged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fields_cannot_be_forged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_json_cannot_be_forged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_messages_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_fields_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_levels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errno, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_pipe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reader_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed_stderr, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_journal, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
