/*-------------------------------------------------------------------------
 *
 * worker_output.h
 *		The output of a worker process: replies on stdout, and lines for the log
 *		on stderr.
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
#include "protocol/worker_protocol.h"

typedef struct WorkerOutputEvents
{
	void		(*on_reply) (void *arg, const WorkerReply *reply);

	/* A line that is no reply.  The callee frees quote, which may be NULL. */
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

/* Sets the other members; loop, pipes, events and arg are already set. */
extern void worker_output_init(WorkerOutput *output, const char *program);
extern void worker_output_clear(WorkerOutput *output);

/* The process was started: watches its pipes. */
extern void worker_output_begin(WorkerOutput *output, int pid);

/* The process has exited: reads what is left in the pipes. */
extern void worker_output_end(WorkerOutput *output);

#endif							/* TWT_WORKER_OUTPUT_H */
