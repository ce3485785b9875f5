/*-------------------------------------------------------------------------
 *
 * worker_output.h
 *		What a worker process writes: replies to stdout, and to stderr what is
 *		for the log.
 *
 *		from: the pipes		to: worker_process.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_OUTPUT_H
#define TWT_WORKER_OUTPUT_H

#include "base/lines.h"
#include "execute/process/spawn.h"
#include "execute/worker/worker_log.h"
#include "execute/worker/worker_protocol.h"

typedef struct WorkerOutputEvents
{
	void		(*on_reply) (void *arg, const WorkerReply *reply);

	/* Something that is no reply; quote, which may be NULL, is the callee's. */
	void		(*on_fault) (void *arg, const char *what, char *quote);

	/* stdout was closed */
	void		(*on_closed) (void *arg);
} WorkerOutputEvents;

typedef struct WorkerOutput
{
	Loop	   *loop;
	SpawnPipes *pipes;
	const WorkerOutputEvents *events;
	void	   *arg;
	int			pid;			/* the process, for the log */
	LineReader	replies;
	WorkerLog  *log;
} WorkerOutput;

/* Sets up the rest; loop, pipes, events and arg are there. */
extern void worker_output_init(WorkerOutput *output, const char *program);
extern void worker_output_clear(WorkerOutput *output);

/* The process was started: watches its pipes. */
extern void worker_output_begin(WorkerOutput *output, int pid);

/* It has exited: reads what may still be in the pipes. */
extern void worker_output_end(WorkerOutput *output);

#endif							/* TWT_WORKER_OUTPUT_H */
