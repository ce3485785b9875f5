/*-------------------------------------------------------------------------
 *
 * trace.h
 *		What a task's context says for those who trace requests.
 *
 *		from: add_task(context)		to: execute_command.c, http_headers.c
 *
 * Its members traceparent and tracestate, as W3C Trace Context has them, and
 * request_id.  Anybody may have written them: what does not fit into a header
 * or an environment is left out, and a long context is not read at all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACE_H
#define TWT_TRACE_H

/* Longer ones would keep the loop too long from what else there is to do. */
#define CONTEXT_READ_MAX (64 * 1024)

typedef struct Trace
{
	struct json_t *context;		/* holds the texts */
	const char *parent;			/* NULL: none, or malformed */
	const char *state;			/* NULL likewise, and without a parent */
	const char *request_id;		/* NULL likewise */
} Trace;

/* context: JSON, or NULL. */
extern void trace_init(Trace *trace, const char *context);
extern void trace_clear(Trace *trace);

#endif							/* TWT_TRACE_H */
