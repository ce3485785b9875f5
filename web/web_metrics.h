/*-------------------------------------------------------------------------
 *
 * web_metrics.h
 *		What the database knows, for Prometheus.
 *
 *		from: http.h			to: sql/watch/metrics.sql
 *
 *	 GET /metrics	the text format of Prometheus, version 0.0.4
 *
 * An answer of the database serves all requests of METRICS_FRESH_US, and one call
 * at a time is under way, however many ask.  While the database is away the
 * answer is 200 too: twtasks_database_up is 0, and its figures are absent.
 *
 * A request needs a token of metrics_token_file; without this file, a token of
 * token_file, if there is one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WEB_METRICS_H
#define TWT_WEB_METRICS_H

#include "base/loop.h"
#include "web/http.h"
#include "web/web_config.h"

#define METRICS_FRESH_US SECONDS_TO_US(5)

typedef struct WebMetrics WebMetrics;

/* config is the caller's, and stays until the next call or the close. */
extern WebMetrics *web_metrics_open(Loop *loop, const WebConfig *config, Http *http);
extern void web_metrics_set_config(WebMetrics *metrics, const WebConfig *config);

/* Appends figures of another part to each answer: fn writes them. */
typedef void (*WebMetricsFn) (void *arg, StringInfo out);
extern void web_metrics_add(WebMetrics *metrics, WebMetricsFn fn, void *arg);

/* Call it before http_close(). */
extern void web_metrics_close(WebMetrics *metrics);

#endif							/* TWT_WEB_METRICS_H */
