/*-------------------------------------------------------------------------
 *
 * helper_start.h
 *		When a process that stays starts again, or why it cannot start.
 *
 *		from: helper.c, worker_process.c
 *
 * A process that was useful starts again without delay, but at most once in 100 ms.
 * Otherwise the delay doubles, from 100 ms to 30 s.  A helper was useful when it
 * ran for 30 s, and a worker when it finished a task.
 *
 * The caller says when a trouble is over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELPER_START_H
#define TWT_HELPER_START_H

#include "execute/process/spawn.h"

#define HELPER_YOUNG_US SECONDS_TO_US(30)

/* Why there is no process. */
typedef enum HelperTrouble
{
	TROUBLE_NONE,
	TROUBLE_SHORTAGE,			/* short of memory, processes or descriptors */
	TROUBLE_UNFIT				/* the program is missing, ends at once, or
								 * refused its hello */
} HelperTrouble;

typedef struct HelperStart
{
	int			count;
	bool		is_useful;		/* the process has worked */
	int64		last_us;
	int64		backoff_us;		/* 0: the shortest */
	HelperTrouble trouble;
	char	   *message;		/* NULL: no trouble */
} HelperStart;

/* A start begins. */
extern void helper_start_begin(HelperStart *start, int64 now_us);

/* Takes over the message, which may be NULL; frees the previous one. */
extern void helper_start_set_trouble(HelperStart *start, HelperTrouble trouble, char *message);

/* The start has failed; takes over the message of the failure. */
extern void helper_start_fail(HelperStart *start, const SpawnFailure *failure);

/* Whether the process is so young that its end is a failed start, unless it worked. */
extern bool helper_start_is_young(const HelperStart *start, int64 now_us);

/* The process is gone: returns the delay before its next start. */
extern int64 helper_start_delay(HelperStart *start, int64 now_us);

#endif							/* TWT_HELPER_START_H */
