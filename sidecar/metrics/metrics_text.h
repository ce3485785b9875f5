/*-------------------------------------------------------------------------
 *
 * metrics_text.h
 *		The metrics of metrics.h in the text format of Prometheus.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_METRICS_TEXT_H
#define TWT_METRICS_TEXT_H

#include "metrics/metrics.h"

/* The word for a result of a try. */
extern const char *metrics_result(CountKind kind);

/* All that metrics.h counts; handlers has the label of each handler. */
extern void metrics_write(const Metrics *metrics, StringInfo out, char *const *handlers, int nhandlers);

#endif							/* TWT_METRICS_TEXT_H */
