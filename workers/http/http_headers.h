/*-------------------------------------------------------------------------
 *
 * http_headers.h
 *		The headers of a task's HTTP request.
 *
 *		from: requests.c			to: libcurl
 *
 *	 Content-Type			application/json, or application/octet-stream for
 *							a payload
 *	 Idempotency-Key		the one that the task's context names, else
 *							ID:VERSION, another one in each try
 *	 Twtasks-Id, -Version, -Type, -Sub-Type, -Tries, -Deadline
 *	 webhook-id, webhook-timestamp, webhook-signature, Twtasks-Signature
 *							when there are keys; the id is the task's
 *	 traceparent, tracestate, X-Request-Id
 *							from the task's context, where they are there and
 *							fit
 *
 * Twtasks-Signature is of version v2.  Before the body it signs these lines, each
 * ended by a line feed: "v2", the URL, the timestamp, and the values of Twtasks-Id,
 * -Version, -Type, -Sub-Type, -Tries, -Deadline and Idempotency-Key as they are in
 * the request; an empty line for a header that is not there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_HEADERS_H
#define TWT_HTTP_HEADERS_H

#include "base/task.h"
#include "workers/curl/http_sign.h"

struct curl_slist;

typedef struct HttpHeaders
{
	const HttpKeys *keys;		/* NULL: not signed */
	const char *url;			/* for the signature */
	const char *idempotency_key;	/* NULL: ID:VERSION */
	char	  **more;			/* lines of the handler's own; NULL: none */
	int64		timestamp;		/* seconds since 1970 */
} HttpHeaders;

/* Returns a list for curl_slist_free_all(). */
extern struct curl_slist *http_headers_make(const HttpHeaders *headers,
											const Task *task);

/* The fault of a line of the handler's own; NULL: none. */
extern const char *http_headers_check(const char *line);

/*
 * Finds the URL that the task's context names; palloc'd, NULL: none.  Returns
 * NULL, or why the URL is ambiguous or unreadable.
 */
extern const char *http_headers_url(const Task *task, char **url) MUSTCHECK;

/*
 * The same for the idempotency key.  A task whose key cannot be used must not be
 * sent: with a key that changes in each try its receiver may act twice.
 */
extern const char *http_headers_key(const Task *task, char **key) MUSTCHECK;

#endif							/* TWT_HTTP_HEADERS_H */
