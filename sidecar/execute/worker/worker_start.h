/*-------------------------------------------------------------------------
 *
 * worker_start.h
 *		When a worker process starts again, or why it cannot start.
 *
 * A process that has finished a task starts again without delay, but at most
 * once in 100 ms.  Otherwise the delay doubles, from 100 ms to 30 s.
 *
 * A trouble lasts until a process has read its hello, or answered it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_START_H
#define TWT_WORKER_START_H

#include "execute/process/spawn.h"

/* Why there is no process. */
typedef enum WorkerTrouble
{
	TROUBLE_NONE,
	TROUBLE_SHORTAGE,			/* short of memory, processes or descriptors */
	TROUBLE_UNFIT				/* the program is missing, ends at once, or
								 * refused its hello */
} WorkerTrouble;

typedef struct WorkerStart
{
	int			count;
	bool		is_useful;		/* the process has finished a task */
	int64		last_us;
	int64		backoff_us;		/* 0: the shortest */
	WorkerTrouble trouble;
	char	   *message;		/* NULL: no trouble */
} WorkerStart;

/* A start begins. */
extern void worker_start_begin(WorkerStart *start, int64 now_us);

/* Takes over the message, which may be NULL; frees the previous one. */
extern void worker_start_set_trouble(WorkerStart *start, WorkerTrouble trouble, char *message);

/* The start has failed; takes over the message of the failure. */
extern void worker_start_fail(WorkerStart *start, const SpawnFailure *failure);

/* Whether the process is so young that its end is a failed start, unless it worked. */
extern bool worker_start_is_young(const WorkerStart *start, int64 now_us);

/* The process is gone: returns the delay before its next start. */
extern int64 worker_start_delay(WorkerStart *start, int64 now_us);

#endif							/* TWT_WORKER_START_H */
