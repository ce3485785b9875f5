/*-------------------------------------------------------------------------
 *
 * http_counts.h
 *		How many requests were answered, by route and class of status, and how
 *		long they took.
 *
 *		from: http_daemon.c			to: web_metrics.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_COUNTS_H
#define TWT_HTTP_COUNTS_H

typedef struct HttpCounts HttpCounts;

extern HttpCounts *http_counts_new(void);
extern void http_counts_free(HttpCounts *counts);

/* route: the path of an HttpRoute, which stays; NULL: the request had none. */
extern void http_counts_note(HttpCounts *counts, const char *route, int status, int64 us);

/* Appends two metrics in the text format of Prometheus. */
extern void http_counts_write(HttpCounts *counts, StringInfo out);

#endif							/* TWT_HTTP_COUNTS_H */
