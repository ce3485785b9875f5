/*-------------------------------------------------------------------------
 *
 * http.h
 *		A small HTTP server on our loop.
 *
 *		from: web_config.h (listen)			to: results.h (routes)
 *
 * Modules add tables of routes, which the server serves.  It reads a request
 * whole before it calls the route.  The route answers once, in the call or later;
 * until then the connection is suspended.
 *
 * Everything but routes marked as open needs a bearer token, when there are
 * tokens.  When there are none we listen on this machine only, and refuse what
 * a web page in a browser on it could have sent.
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

typedef struct HttpRoute
{
	const char *method;			/* GET serves HEAD as well */
	const char *path;			/* a part that is "*" stands for any */
	bool		is_open;		/* needs no token */
	HttpServe	serve;
} HttpRoute;

/*
 * Listens; where that is not possible now it is tried again and again, and
 * said in the log once.  tokens: NULL-terminated, or NULL; they stay the
 * caller's until http_set_tokens() or http_close().  NULL: listen is NULL, or no
 * address, which the configuration has refused before.
 */
extern Http *http_open(Loop *loop, const char *listen, char *const *tokens);
extern void http_set_tokens(Http *http, char *const *tokens);

/* The table stays the caller's; arg is for its functions. */
extern void http_add_routes(Http *http, const HttpRoute *routes, int nroutes,
							void *arg);

/* No new connections (a drain). */
extern void http_stop_listening(Http *http);

/* Requests that have begun, and whose answer is not sent yet. */
extern int	http_requests(const Http *http);

/* Ends all connections; requests that are not answered are gone. */
extern void http_close(Http *http);

/* The n-th part of the path that the route left open, from 0; decoded. */
extern const char *http_part(const HttpRequest *request, int n);

/* NUL at body[len]. */
extern const char *http_body(const HttpRequest *request, size_t *len);

/* Copies the body; JSON. */
extern void http_answer(HttpRequest *request, int status, const char *json);

/* An answer that says no: {"error": word, "detail": detail}. */
extern void http_refuse(HttpRequest *request, int status, const char *word,
						const char *detail);

#endif							/* TWT_HTTP_H */
