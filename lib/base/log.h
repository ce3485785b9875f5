/*-------------------------------------------------------------------------
 *
 * log.h
 *		One line per event on stderr, as text or as JSON.
 *
 * Levels: FATAL cannot start or go on; ERROR something was given up and a
 * human should look; WARN degraded, will heal itself; INFO events of life;
 * DEBUG each task.  One failure, one line: the place that knows the reason
 * logs, callers only return false.
 *
 * A line is one line whatever the arguments hold: control characters, ANSI
 * sequences and invalid UTF-8 are escaped.  Payloads and connection strings
 * are never logged.  When stderr blocks, lines are dropped and counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOG_H
#define TWT_LOG_H

struct Task;

typedef enum LogLevel
{
	TWT_LOG_FATAL,
	TWT_LOG_ERROR,
	TWT_LOG_WARN,
	TWT_LOG_INFO,
	TWT_LOG_DEBUG
} LogLevel;

typedef enum LogFormat
{
	LOG_FORMAT_TEXT,
	LOG_FORMAT_JSON
} LogFormat;

/* The log begins with format text and level info, on descriptor 2. */
extern void log_init(LogFormat format, LogLevel level, const char *node);
extern bool log_wants(LogLevel level);

/* subject names what the line is about: "grab", "queue", "config", ... */
extern void log_line(LogLevel level, const char *subject,
					 const char *fmt,...) pg_attribute_printf(3, 4);

/* The same with the task's id, version and type as fields of the line. */
extern void log_task(LogLevel level, const char *subject,
					 const struct Task *task,
					 const char *fmt,...) pg_attribute_printf(4, 5);

/* Number of lines of that level so far, also of those that could not be written. */
extern uint64 log_lines(LogLevel level);

/* Number of lines that could not be written so far. */
extern uint64 log_dropped(void);

#endif							/* TWT_LOG_H */
