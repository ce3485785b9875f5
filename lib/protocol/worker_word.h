/*-------------------------------------------------------------------------
 *
 * worker_word.h
 *		A line from a worker, read.
 *
 *		from: worker_protocol.h, worker_usual.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_WORD_H
#define TWT_WORKER_WORD_H

#include "base/task.h"

#define WORKER_NO_TIME PG_INT64_MIN

typedef enum WorkerWord
{
	WORKER_RESULT,				/* a task's */
	WORKER_STARTED,				/* no result yet: the worker took the task up */
	WORKER_PROGRESS,			/* no result yet: percent of the work is done;
								 * message may say more */
	WORKER_READY,				/* the worker accepted the hello */
	WORKER_REFUSED,				/* the worker refused the hello; message says
								 * why */
	WORKER_STRANGE				/* JSON that is not a reply; message says why */
} WorkerWord;

typedef struct WorkerTask
{
	char		id[TASK_ID_TEXT + 1];
	int64		version;
} WorkerTask;

typedef struct WorkerReply
{
	WorkerWord	word;
	WorkerTask	one;			/* the task that the word is about */
	WorkerTask *many;			/* palloc'd: several in its place; NULL: one */
	int			nmany;
	TaskResult	result;
	int64		delay_us;		/* retry_in, or TASK_DELAY_BY_POLICY */
	int64		at_us;			/* retry_at since 1970, or WORKER_NO_TIME */
	int			percent;		/* 0 to 100, if that is the word */
	char	   *message;		/* palloc'd, safe to store; NULL: none */
	char	   *outcome;		/* palloc'd, a JSON object; NULL: none */
	char	   *add;			/* palloc'd, a JSON array of tasks; NULL: none */
} WorkerReply;

#endif							/* TWT_WORKER_WORD_H */
