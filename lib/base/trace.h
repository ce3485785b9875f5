/*-------------------------------------------------------------------------
 *
 * trace.h
 *		Trace identifiers from the context of a task.
 *
 *		from: add_task(context)	to: execute_command.c, http_headers.c, kafka_headers.c
 *
 * The context may have the members traceparent and tracestate, in the format
 * of W3C Trace Context, and request_id.  Anybody may have written them: a
 * value that does not fit into a header or an environment is left out, and a
 * long context is not read at all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACE_H
#define TWT_TRACE_H

/* Reading a longer context would hold up the loop. */
#define CONTEXT_READ_MAX (64 * 1024)

typedef struct Trace
{
	struct json_t *context;		/* holds the texts */
	const char *parent;			/* NULL: none, or malformed */
	const char *state;			/* NULL: none, malformed, or no parent */
	const char *request_id;		/* NULL: none, or malformed */
} Trace;

/* context: JSON, or NULL. */
extern void trace_init(Trace *trace, const char *context);
extern void trace_clear(Trace *trace);

#endif							/* TWT_TRACE_H */
