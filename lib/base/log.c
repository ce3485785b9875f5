/*-------------------------------------------------------------------------
 *
 * log.c
 *		One line per event on stderr, as text or as JSON.
 *
 * A line is put together from three parts: what stands before the message,
 * the message, and the fields of a task.  Only the message is cut when the
 * line would be too long, so that a JSON line stays valid and a task stays
 * named.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/task.h"
#include "base/text.h"

/* Includes the line end.  A pipe takes this many bytes at once (PIPE_BUF). */
#define LINE_MAX_BYTES 4096

/* Limits every field but the message, far below the size of a line. */
#define FIELD_MAX_BYTES 256

typedef struct LevelName
{
	const char *name;
	const char *padded;			/* as text lines show it */
	int			severity;		/* syslog's */
} LevelName;

static const LevelName levels[] = {
	[TWT_LOG_FATAL] = {"fatal", "FATAL", 2},
	[TWT_LOG_ERROR] = {"error", "ERROR", 3},
	[TWT_LOG_WARN] = {"warn", "WARN ", 4},
	[TWT_LOG_INFO] = {"info", "INFO ", 6},
	[TWT_LOG_DEBUG] = {"debug", "DEBUG", 7},
};

/* The subject of a line. */
typedef struct Event
{
	LogLevel	level;
	const char *subject;
	const Task *task;			/* NULL: none */
	char	   *message;		/* a copy that we may change */
} Event;

static struct
{
	LogFormat	format;
	LogLevel	level;
	char	   *node;			/* NULL: not known yet */
	bool		has_severity;	/* lines go to the journal */
	bool		is_torn;		/* the last line was only partly written */
	uint64		lines[TWT_LOG_DEBUG + 1];
	uint64		dropped;
	uint64		reported;		/* dropped lines that the log has reported */
	StringInfoData line;		/* reused */
}			logger = {.format = LOG_FORMAT_TEXT, .level = TWT_LOG_INFO};

/* systemd names the device and inode of the stream that it gave us. */
static bool
is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char		own[64];

	if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
		return false;
	snprintf(own, sizeof(own), "%llu:%llu",
			 (unsigned long long) st.st_dev, (unsigned long long) st.st_ino);
	return strcmp(stream, own) == 0;
}

void
log_init(LogFormat format, LogLevel level, const char *node)
{
	char	   *copy = pstrdup(node);

	logger.format = format;
	logger.level = level;
	pfree(logger.node);
	logger.node = copy;
	logger.has_severity = format == LOG_FORMAT_TEXT && is_journal();
}

bool
log_wants(LogLevel level)
{
	return level <= logger.level;
}

uint64
log_lines(LogLevel level)
{
	return logger.lines[level];
}

uint64
log_dropped(void)
{
	return logger.dropped;
}

static void
append_time(StringInfo out)
{
	struct timespec now;
	struct tm	tm;
	char		text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	appendStringInfo(out, "%s.%03dZ", text, (int) (now.tv_nsec / 1000000));
}

static void
append_text_head(StringInfo out, const Event *event)
{
	if (logger.has_severity)
		appendStringInfo(out, "<%d>", levels[event->level].severity);
	append_time(out);
	appendStringInfo(out, " %s ", levels[event->level].padded);
	text_escape_line(out, event->subject, strlen(event->subject),
					 FIELD_MAX_BYTES);
	appendStringInfoString(out, ": ");
}

static void
append_text_tail(StringInfo out, const Event *event)
{
	const Task *task = event->task;

	if (task != NULL)
	{
		appendStringInfo(out, " task=%s version=" INT64_FORMAT " type=",
						 task->id_text, task->version);
		text_escape_line(out, task->type, strlen(task->type),
						 FIELD_MAX_BYTES);
	}
	appendStringInfoChar(out, '\n');
}

/* ,"name":"value" */
static void
append_json_field(StringInfo out, const char *name, const char *value)
{
	appendStringInfo(out, ",\"%s\":\"", name);
	text_escape_json(out, value, strlen(value), FIELD_MAX_BYTES);
	appendStringInfoChar(out, '"');
}

static void
append_json_head(StringInfo out, const Event *event)
{
	appendStringInfoString(out, "{\"time\":\"");
	append_time(out);
	appendStringInfoChar(out, '"');
	append_json_field(out, "level", levels[event->level].name);
	if (logger.node != NULL)
		append_json_field(out, "node", logger.node);
	append_json_field(out, "subject", event->subject);
	appendStringInfoString(out, ",\"message\":\"");
}

static void
append_json_tail(StringInfo out, const Event *event)
{
	const Task *task = event->task;

	appendStringInfoChar(out, '"');
	if (task != NULL)
	{
		append_json_field(out, "task", task->id_text);
		appendStringInfo(out, ",\"version\":" INT64_FORMAT, task->version);
		append_json_field(out, "type", task->type);
	}
	appendStringInfoString(out, "}\n");
}

/*
 * Keeps text of a handler or a server from looking like the fields of a task:
 * "task=" in a message becomes "task:".
 */
static void
disarm_fields(char *message)
{
	static const char *const names[] = {"task=", "version=", "type="};
	int			i;

	for (i = 0; i < (int) lengthof(names); i++)
	{
		char	   *s = message;

		while ((s = strstr(s, names[i])) != NULL)
		{
			s += strlen(names[i]) - 1;
			*s = ':';
		}
	}
}

/* Composes the tail first, to know how much room the message has. */
static void
compose(StringInfo line, const Event *event)
{
	bool		is_json = logger.format == LOG_FORMAT_JSON;
	StringInfoData tail;
	size_t		room;

	initStringInfo(&tail);
	if (is_json)
	{
		append_json_head(line, event);
		append_json_tail(&tail, event);
	}
	else
	{
		append_text_head(line, event);
		append_text_tail(&tail, event);
		disarm_fields(event->message);
	}
	room = LINE_MAX_BYTES - line->len - tail.len;
	if (is_json)
		text_escape_json(line, event->message, strlen(event->message), room);
	else
		text_escape_line(line, event->message, strlen(event->message), room);
	appendBinaryStringInfo(line, tail.data, tail.len);
	pfree(tail.data);
}

/*
 * Whether there is room for a line, as far as poll() can tell.  A reader that
 * is gone counts as no room.
 */
static bool
can_write(void)
{
	struct pollfd stream = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&stream, 1, 0) == 1 && stream.revents == POLLOUT;
}

/*
 * The process that started us shares stderr, so we leave its flags alone.
 * Each write to a socket asks not to wait, and a pipe that is ready takes
 * LINE_MAX_BYTES at once.
 */
static bool
write_line(const StringInfo line)
{
	ssize_t		written;

	if (!can_write())
		return false;
	do
	{
		written = send(STDERR_FILENO, line->data, line->len,
					   MSG_DONTWAIT | MSG_NOSIGNAL);
		if (written < 0 && errno == ENOTSOCK)
			written = write(STDERR_FILENO, line->data, line->len);
	} while (written < 0 && errno == EINTR);

	if (written <= 0)
		return false;
	logger.is_torn = written < line->len;
	return !logger.is_torn;
}

static bool
put(const Event *event)
{
	if (logger.line.data == NULL)
		initStringInfo(&logger.line);
	resetStringInfo(&logger.line);
	if (logger.is_torn)
		appendStringInfoChar(&logger.line, '\n');
	compose(&logger.line, event);
	return write_line(&logger.line);
}

/*
 * Reports once how many lines were lost, before the first line that gets
 * through.
 */
static bool
report_dropped(void)
{
	uint64		lost = logger.dropped - logger.reported;
	char		message[64];
	Event		event = {TWT_LOG_WARN, "log", NULL, message};

	if (lost == 0)
		return true;
	snprintf(message, sizeof(message),
			 UINT64_FORMAT " log lines could not be written", lost);
	if (!put(&event))
		return false;
	logger.reported += lost;
	return true;
}

static void
put_formatted(const Event *about, const char *fmt, va_list args)
{
	int			save_errno = errno;
	char		message[LINE_MAX_BYTES];
	Event		event = *about;

	/* Text that does not fit here would not fit into the line either. */
	vsnprintf(message, sizeof(message), fmt, args);
	event.message = message;
	logger.lines[event.level]++;
	if (!report_dropped() || !put(&event))
		logger.dropped++;
	errno = save_errno;
}

void
log_line(LogLevel level, const char *subject, const char *fmt,...)
{
	Event		event = {level, subject, NULL, NULL};
	va_list		args;

	if (!log_wants(level))
		return;
	va_start(args, fmt);
	put_formatted(&event, fmt, args);
	va_end(args);
}

void
log_task(LogLevel level, const char *subject, const struct Task *task,
		 const char *fmt,...)
{
	Event		event = {level, subject, task, NULL};
	va_list		args;

	if (!log_wants(level))
		return;
	va_start(args, fmt);
	put_formatted(&event, fmt, args);
	va_end(args);
}
