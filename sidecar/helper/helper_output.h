/*-------------------------------------------------------------------------
 *
 * helper_output.h
 *		The output of a process that stays: lines on stdout, and lines for the log
 *		on stderr.
 *
 *		from: the pipes		to: helper.c, worker_process.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HELPER_OUTPUT_H
#define TWT_HELPER_OUTPUT_H

#include "base/lines.h"
#include "execute/process/spawn.h"
#include "helper/helper_log.h"

typedef struct HelperOutputEvents
{
	/* A line without its end; line[len] is NUL. */
	void		(*on_line) (void *arg, const char *line, size_t len);

	/* A line longer than WORKER_LINE_MAX, of which head is the beginning. */
	void		(*on_long_line) (void *arg, const char *head);

	/* stdout was closed */
	void		(*on_closed) (void *arg);
} HelperOutputEvents;

typedef struct HelperOutput
{
	Loop	   *loop;
	SpawnPipes *pipes;
	const HelperOutputEvents *events;
	void	   *arg;
	Child	   *child;			/* the process, for the log */
	LineReader	lines;
	HelperLog  *log;
} HelperOutput;

/* Sets the other members; loop, pipes, events and arg are already set. */
extern void helper_output_init(HelperOutput *output, const char *program);
extern void helper_output_clear(HelperOutput *output);

/* The process was started: watches those pipes that are open. */
extern void helper_output_begin(HelperOutput *output, Child *child);

/* The process has exited: reads what is left in the pipes. */
extern void helper_output_end(HelperOutput *output);

#endif							/* TWT_HELPER_OUTPUT_H */
