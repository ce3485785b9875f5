/*-------------------------------------------------------------------------
 *
 * trace_export.h
 *		Spans sent in batches by OTLP over HTTP.
 *
 *		from: traces.c			to: notify_send.h, trace_span.h
 *
 * One request is under way at a time.  It has up to 512 tries, and waits up to a second for
 * them.  A receiver that is down, or answers 429, 502, 503 or 504, gets the same request
 * again: after its Retry-After, or after 1 s to 30 s, for 5 minutes at most.  Another refusal
 * drops the request at once, as OTLP wants it.
 *
 * At most 10,000 tries wait; the next ones are dropped.
 *
 * The sidecar hears, a second after a change at most,
 *	{"sent":N,"dropped":N,"trouble":TEXT or null}	tries since the last such line
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACE_EXPORT_H
#define TWT_TRACE_EXPORT_H

#include "base/loop.h"
#include "workers/notify/trace_settings.h"

#define TRACE_WAITING_MAX 10000
#define TRACE_BATCH_MAX 512

typedef struct TraceExport TraceExport;

/* Appends its lines to out.  Keeps the settings. */
extern TraceExport *trace_export_new(Loop *loop, StringInfo out, const TraceSettings *settings);

/* Takes a line of the sidecar (trace_span.h), and ignores other lines. */
extern void trace_export_take(TraceExport *export, const char *line, size_t len);

/* Sends what waits, each batch once; then calls done(arg). */
extern void trace_export_leave(TraceExport *export, LoopFn done, void *arg);

#endif							/* TWT_TRACE_EXPORT_H */
