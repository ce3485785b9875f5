/*-------------------------------------------------------------------------
 *
 * helper_log.h
 *		Copies the stderr of a process that stays to our log, line by line.
 *
 * A line is cut at 1 kB.  If a process keeps writing more than ten lines a
 * second, the rest is dropped.  The next logged line says how many.  The last bytes
 * can be kept too, for the tasks that the process takes along.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELPER_LOG_H
#define TWT_HELPER_LOG_H

#include "base/loop.h"

typedef struct HelperLog HelperLog;

/* name is the source of the lines.  The caller keeps it. */
extern HelperLog *helper_log_new(Loop *loop, const char *name);
extern void helper_log_free(HelperLog *log);

/* Logs each complete line of these bytes, and keeps an unfinished last line. */
extern void helper_log_add(HelperLog *log, int pid, const char *bytes,
						   size_t len);

/* The process is gone: logs its unfinished line. */
extern void helper_log_end(HelperLog *log, int pid);

/* The last line of the process, without an end; *len is 0 if it wrote none. */
extern const char *helper_log_last(const HelperLog *log, int *len);

/* From now on keeps the last bytes of the process, at most max; forgets the others. */
extern void helper_log_keep(HelperLog *log, size_t max);

/* Appends ": " and the kept bytes, made safe (output.h); nothing if there are none. */
extern void helper_log_append(const HelperLog *log, StringInfo out);

/* Another process begins, of which nothing is kept yet. */
extern void helper_log_begin(HelperLog *log);

#endif							/* TWT_HELPER_LOG_H */
