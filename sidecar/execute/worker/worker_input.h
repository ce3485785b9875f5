/*-------------------------------------------------------------------------
 *
 * worker_input.h
 *		The input of a worker process, and when it may be written.
 *
 *		from: worker_process.c		to: the pipe
 *
 * A task may start when its line is written.  No task line is written while the
 * gate is closed, or under a later incarnation than the task was given under.
 *
 * The pipe keeps a line until the process reads it, so a process that has ended
 * leaves the lines that it never saw.  worker_input_close() takes them out of the
 * pipe, where no descendant can read them any more.
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
	int64		given_under;	/* incarnation of the unwritten tasks; 0: none */
	int64		taken_back;		/* bytes that were written but not read */
} WorkerInput;

/* Whether unwritten tasks belong to another incarnation than this one. */
extern bool worker_input_is_of_another(const WorkerInput *input, int64 incarnation);

/*
 * Writes what may be written.  Calls on_writable when the pipe has room again.
 * LINES_CLOSED: the process has closed the pipe.
 */
extern LinesResult worker_input_flush(WorkerInput *input, Loop *loop,
									  LoopIoFn on_writable, void *arg);

/* Whether the process has read all lines, as far as the kernel can tell. */
extern bool worker_input_is_read(const WorkerInput *input);

/* Closes the pipe.  Bytes that the process has not read count as never sent. */
extern void worker_input_close(WorkerInput *input);

/* Stops watching the pipe until the next flush. */
extern void worker_input_hold(WorkerInput *input);

/* Drops the unwritten lines. */
extern void worker_input_reset(WorkerInput *input);

#endif							/* TWT_WORKER_INPUT_H */
