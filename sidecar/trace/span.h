/*-------------------------------------------------------------------------
 *
 * span.h
 *		A try as a span of a distributed trace.
 *
 *		from: execute.c (begin), finish_item.c (stop), finish_session.c (end)
 *		to: tracer.h
 *
 * A first try is a child of the traceparent in its task's context.  A retry begins a trace
 * of its own that is linked to it, as the time between them may be long.  Without a
 * traceparent, or with a malformed one, each try begins a trace.
 *
 * Before it lies a span of the wait, from when the task could run until its handler began.
 *
 * The handler gets the span's own traceparent, since that replaces the one in the context.
 *
 * A traceparent's flag says whether its trace is sampled, and it is kept.  In other traces
 * the trace id decides, as OpenTelemetry's ratio sampler does, so all parts decide alike.
 *
 * A span ends when the database has stored or refused the result, so it never tells of a
 * success that was none.  It carries names, times and the class of the result, but no
 * data, context or message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SPAN_H
#define TWT_SPAN_H

#include "base/task.h"
#include "config/config.h"
#include "metrics/metrics.h"

typedef struct Spans Spans;
typedef struct Span Span;

/* Takes a line for "twtasks-notify traces" (workers/notify/trace_span.h). */
typedef void (*SpanSink) (void *arg, const char *line, size_t len);

extern Spans *spans_open(const Config *config);
extern void spans_free(Spans *spans);
extern void spans_on_end(Spans *spans, SpanSink sink, void *arg);

/* Tries that begin from now on follow this configuration. */
extern void spans_reload(Spans *spans, const Config *config);

/* Begins the task's span and replaces its context; NULL: nobody traces. */
extern void span_begin(Spans *spans, Task *task);

/*
 * The handler has ended.  Returns a copy of the task's span for its outcome, palloc'd;
 * NULL: none is wanted.
 */
extern Span *span_stop(const Task *task, int64 now_us);

/* This became of the result; NULL is allowed. */
extern void span_end(const Span *span, CountKind result);

#endif							/* TWT_SPAN_H */
