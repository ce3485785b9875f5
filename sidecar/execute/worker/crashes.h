/*-------------------------------------------------------------------------
 *
 * crashes.h
 *		A worker handler whose processes end again and again with their tasks.
 *
 *		from: execute_worker.c, worker_process.c
 *
 * Each such end costs the tasks in flight a try, and the next process looks healthy
 * until it has a task.  So nobody sees the loop in the log of starts.  After the third
 * end in a row, with no finished task in between, the handler has a text for
 * twtasks.warnings.  It goes when a task is finished, or after five quiet minutes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CRASHES_H
#define TWT_CRASHES_H

typedef struct Crashes Crashes;

extern Crashes *crashes_new(void);
extern void crashes_free(Crashes *crashes);

/* A process ended by itself while it had tasks: how, and what it said last. */
extern void crashes_add(Crashes *crashes, const char *what, int64 now_us);

/* A task was finished. */
extern void crashes_clear(Crashes *crashes);

/* NULL: the processes do not end again and again. */
extern const char *crashes_text(const Crashes *crashes, int64 now_us);

#endif							/* TWT_CRASHES_H */
