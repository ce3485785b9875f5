/*-------------------------------------------------------------------------
 *
 * metrics_text.h
 *		Metrics in the text format 0.0.4 of Prometheus.
 *
 * A metric begins with its help and type; its samples follow.  All names begin with
 * "twtasks_".
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_METRICS_TEXT_H
#define TWT_METRICS_TEXT_H

#include "metrics/metrics.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* kind is "counter", "gauge" or "histogram"; names are without "twtasks_". */
extern void metrics_begin(StringInfo out, const char *name, const char *kind, const char *help);

/* labels are as labels.h makes them; NULL: none. */
extern void metrics_sample(StringInfo out, const char *name, const char *labels, int64 value);

/* A value of seconds, given in microseconds. */
extern void metrics_seconds(StringInfo out, const char *name, const char *labels, int64 us);

/* The word for a result of a try. */
extern const char *metrics_result(CountKind kind);

/* All that metrics.h counts; handlers has the label of each handler. */
extern void metrics_write(const Metrics *metrics, StringInfo out, char *const *handlers, int nhandlers);

#endif							/* TWT_METRICS_TEXT_H */
