/*-------------------------------------------------------------------------
 *
 * http.h
 *		A small HTTP server on our loop.
 *
 *		from: web_config.h (listen)			to: results.h (routes)
 *
 * Modules add tables of routes, which the server serves.  It judges a request by
 * its headers, and reads it whole before it calls the route.  The route answers
 * once, in the call or later; until then the connection is suspended.  After half
 * a minute the server answers in its place that the outcome is not known.
 *
 * When there are tokens, every route needs a bearer token, unless it is marked
 * as open or knows tokens of its own.  Without tokens the server listens on this
 * machine only, and refuses any request that a web page in a local browser could
 * have sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_H
#define TWT_HTTP_H

#include "base/address.h"
#include "base/loop.h"

typedef struct Http Http;
typedef struct HttpRequest HttpRequest;

/* Answers the request, now or later. */
typedef void (*HttpServe) (void *arg, HttpRequest *request);

/*
 * Whether the header Authorization (NULL: none) has one of the tokens that the
 * route itself knows.
 */
typedef bool (*HttpAdmits) (void *arg, const char *authorization);

typedef struct HttpRoute
{
	const char *method;			/* GET serves HEAD as well */
	const char *path;			/* a part "*" matches any; see http_path.h */
	bool		is_open;		/* needs no token */
	HttpServe	serve;
	HttpAdmits	admits;			/* NULL: takes the server's tokens */
} HttpRoute;

/*
 * Listens on the address, and retries until that succeeds; the log has the
 * failure once.  tokens is NULL-terminated, or NULL; the caller keeps the
 * tokens until http_set_tokens() or http_close().  Returns NULL if listen is
 * NULL or not an address; the configuration has refused the latter before.
 */
extern Http *http_open(Loop *loop, const char *listen, char *const *tokens);
extern void http_set_tokens(Http *http, char *const *tokens);

/* See connections_limit() and connections_hurry(). */
extern void http_limit(Http *http, int of_one, char *const *proxies);
extern void http_hurry(Http *http, int64 headers_us, int64 request_us);

/* The caller keeps the table; its functions get arg. */
extern void http_add_routes(Http *http, const HttpRoute *routes, int nroutes,
							void *arg);

/* Accepts no new connections, for a drain. */
extern void http_stop_listening(Http *http);

/* The number of requests that have begun and are not fully answered. */
extern int	http_requests(const Http *http);

/* Appends the requests so far: see http_counts_write(). */
extern void http_write_counts(const Http *http, StringInfo out);

/* Ends all connections, and drops requests without an answer. */
extern void http_close(Http *http);

/*
 * The n-th part of the path that matched a "*" of the route, from 0; decoded.
 */
extern const char *http_part(const HttpRequest *request, int n);

/* NULL if the request has no such header. */
extern const char *http_header(const HttpRequest *request, const char *name);

/* The body, with a NUL at body[len]. */
extern const char *http_body(const HttpRequest *request, size_t *len);

/* Answers with a copy of json, or of a text of another type. */
extern void http_answer(HttpRequest *request, int status, const char *json);
extern void http_answer_text(HttpRequest *request, int status, const char *type, const char *text);

/* Refuses the request with {"error": word, "detail": detail}. */
extern void http_refuse(HttpRequest *request, int status, const char *word,
						const char *detail);

#endif							/* TWT_HTTP_H */
