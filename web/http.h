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
 * The results of http_part(), http_query() and http_body() live until the route
 * answers.  Headers live as long, but are NULL when the client has gone.
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
#include "web/http_tls.h"
#include "web/peer.h"

typedef struct Http Http;
typedef struct HttpRequest HttpRequest;
typedef struct HttpShared HttpShared;

/* Answers the request, now or later. */
typedef void (*HttpServe) (void *arg, HttpRequest *request);

/*
 * Whether the header Authorization (NULL: none) has one of the tokens that the
 * route itself knows.
 */
typedef bool (*HttpAdmits) (void *arg, const char *authorization);

/*
 * Answers the request if it refuses it.  The server calls it when the headers are
 * there, and again when the body is, since the configuration may have changed.
 */
typedef void (*HttpJudge) (void *arg, HttpRequest *request);

/* Answers with a refusal: see http_refuse(). */
typedef void (*HttpRefusal) (HttpRequest *request, int status, const char *word,
							 const char *detail);

typedef struct HttpRoute
{
	const char *method;			/* GET serves HEAD as well */
	const char *path;			/* a part "*" matches any; see http_path.h */
	bool		is_open;		/* needs no token */
	HttpServe	serve;
	HttpAdmits	admits;			/* NULL: takes the server's tokens */
	HttpJudge	judge;			/* NULL: by tokens, as above; otherwise the
								 * server asks for no token itself */
} HttpRoute;

typedef struct HttpAnswer
{
	int			status;
	const char *type;			/* NULL: application/json */
	const char *etag;			/* with its quotes; NULL: none */
	const char *cache_control;	/* NULL: no-store */
	const char *location;		/* NULL: none */
	const char *const *headers; /* names and values by turns, then NULL; or
								 * NULL */
} HttpAnswer;

/*
 * Listens on the address, and retries until that succeeds; the log has the
 * failure once.  tokens is NULL-terminated, or NULL; the caller keeps the
 * tokens until http_set_tokens() or http_close().  Returns NULL if listen is
 * NULL or not an address; the configuration has refused the latter before.
 */
extern Http *http_open(Loop *loop, const char *listen, char *const *tokens);
extern void http_set_tokens(Http *http, char *const *tokens);

/* Listens on a Unix socket too: see local_socket.h.  Call it before http_limit(). */
extern void http_listen_unix(Http *http, const char *path);

/*
 * Speaks TLS on the address, and shares tls.  The first call stands right behind
 * http_open(); a later one is for new connections, and NULL then changes nothing.
 */
extern void http_set_tls(Http *http, HttpTls *tls);

/*
 * Whether requests for other hosts get 421: see http_is_our_host() and
 * http_is_listed_host().  The caller keeps the names, as it does the tokens.
 */
extern void http_set_hosts(Http *http, bool are_checked, char *const *hosts);

/* See connections_limit() and connections_hurry(). */
extern void http_limit(Http *http, int of_one, char *const *proxies);
extern void http_hurry(Http *http, int64 headers_us, int64 request_us);

/* The caller keeps the table; its functions get arg. */
extern void http_add_routes(Http *http, const HttpRoute *routes, int nroutes,
							void *arg);

/*
 * The form of refusals for all paths that begin with prefix, the server's own
 * refusals included.  The caller keeps prefix.
 */
extern void http_set_refusal(Http *http, const char *prefix, HttpRefusal refusal);

/* Ends all streams, whose clients connect again: see http_stream.h. */
extern void http_end_streams(Http *http);

/* Accepts no new connections, for a drain, and ends all streams. */
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

/* GET, HEAD, POST, PUT or DELETE. */
extern const char *http_method(const HttpRequest *request);

/* The first value of that name in the query, decoded; NULL: there is none. */
extern const char *http_query(const HttpRequest *request, const char *name);

/* Calls fn for each name of the query, until it returns false; returns whether it never did. */
extern bool http_each_query(const HttpRequest *request,
							bool (*fn) (void *arg, const char *name, const char *value),
							void *arg);

/* Its groups and its name are gone when the client has gone. */
extern const HttpPeer *http_peer(const HttpRequest *request);

/* NULL if the request has no such header. */
extern const char *http_header(const HttpRequest *request, const char *name);

extern int	http_header_count(const HttpRequest *request, const char *name);

/* The body, with a NUL at body[len]. */
extern const char *http_body(const HttpRequest *request, size_t *len);

/* Answers with a copy of json, or of a text of another type. */
extern void http_answer(HttpRequest *request, int status, const char *json);
extern void http_answer_text(HttpRequest *request, int status, const char *type, const char *text);

/*
 * Answers with a copy of the body.  A GET whose If-None-Match has the etag gets
 * 304 in place of 200.
 */
extern void http_answer_with(HttpRequest *request, const HttpAnswer *answer,
							 const char *body, size_t len);

/*
 * The same with a body that several answers share, without a copy of it, and of
 * any length.
 */
extern void http_answer_shared(HttpRequest *request, const HttpAnswer *answer,
							   HttpShared *body);

/*
 * A body for http_answer_shared(): a copy of the bytes, or bytes that stay for
 * ever.  It lives until http_unshare() and the end of the answers with it.
 */
extern HttpShared *http_share(const char *bytes, size_t len);
extern HttpShared *http_share_static(const char *bytes, size_t len);
extern void http_unshare(HttpShared *body);

/*
 * Refuses the request with {"error": word, "detail": detail}, or in the form of
 * http_set_refusal().
 */
extern void http_refuse(HttpRequest *request, int status, const char *word,
						const char *detail);

#endif							/* TWT_HTTP_H */
