/*-------------------------------------------------------------------------
 *
 * worker_input.h
 *		What is written to a worker's process, and when it may be.
 *
 *		from: worker_process.c		to: the pipe
 *
 * A task is started when the end of its line is written.  That is not done
 * while the gate is closed, and never under a later incarnation than the one
 * that the task was given under.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_INPUT_H
#define TWT_WORKER_INPUT_H

#include "base/lines.h"
#include "execute/process/spawn.h"
#include "execute/runner.h"

typedef struct WorkerInput
{
	LineWriter	lines;
	SpawnPipe  *pipe;
	const RunnerGate *gate;
	int64		given_under;	/* incarnation of tasks in lines; 0: none are */
} WorkerInput;

/* Does it hold tasks of another incarnation than this one? */
extern bool worker_input_is_of_another(const WorkerInput *input, int64 incarnation);

/* Calls on_writable when it is worth another try; LINES_CLOSED: nobody reads. */
extern LinesResult worker_input_flush(WorkerInput *input, Loop *loop,
									  LoopIoFn on_writable, void *arg);

/* Waits for the next flush, whether the pipe has room or not. */
extern void worker_input_hold(WorkerInput *input);

/* Forgets what is not written. */
extern void worker_input_reset(WorkerInput *input);

#endif							/* TWT_WORKER_INPUT_H */
