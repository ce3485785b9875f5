/*-------------------------------------------------------------------------
 *
 * tracer.h
 *		Spans on their way to a receiver: "twtasks-notify traces".
 *
 *		from: sidecar.c		to: span.h, helper.h, workers/notify/trace_export.h
 *
 * Each node has such a helper, beside the one for incidents, so a receiver that hangs
 * holds up neither tasks nor incidents.  Spans are statistics: those that the helper
 * cannot take or send are dropped and counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRACER_H
#define TWT_TRACER_H

#include <jansson.h>

#include "base/loop.h"
#include "config/config.h"
#include "trace/span.h"

typedef struct Tracer Tracer;

extern Tracer *tracer_open(Loop *loop, const Config *config);

/* Spans of it are sent when they end. */
extern Spans *tracer_spans(const Tracer *tracer);
extern void tracer_reload(Tracer *tracer, const Config *config);

/* Why spans do not arrive. */
extern void tracer_add_troubles(void *tracer, json_t *list);

/* Writes the counters for /metrics. */
extern void tracer_write(const Tracer *tracer, StringInfo out);

/* No more spans come: the helper sends what it has, and ends.  Whether it has ended. */
extern bool tracer_end(Tracer *tracer);

/* Kills the helper if it still runs. */
extern void tracer_free(Tracer *tracer);

#endif							/* TWT_TRACER_H */
