/*-------------------------------------------------------------------------
 *
 * http_private.h
 *		The server and its requests, as http.c and http_daemon.c share them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_PRIVATE_H
#define TWT_HTTP_PRIVATE_H

#include <microhttpd.h>

#include "base/address.h"
#include "web/connections.h"
#include "web/http.h"
#include "web/http_counts.h"
#include "web/http_path.h"
#include "web/local_socket.h"

#define BODY_MAX (256 * 1024)

/* Bodies of their own of all answers that are not sent yet. */
#define ANSWERS_MAX (64 * 1024 * 1024)

/* Counts at most for one of them, so that a small one does not end a single large one. */
#define ANSWER_COUNTS_MAX (ANSWERS_MAX / 2)

/* Requests that routes with a judge have, above which they get no more. */
#define SERVED_MAX 200

/* A table of routes. */
typedef struct HttpRoutes
{
	slist_node	node;
	const HttpRoute *routes;
	int			n;
	void	   *arg;
} HttpRoutes;

/* The form of refusals for paths with a prefix. */
typedef struct HttpRefusals
{
	slist_node	node;
	const char *prefix;
	HttpRefusal refusal;
} HttpRefusals;

/* Each has connections of its own, so that one cannot use up all of another. */
typedef struct HttpListener
{
	slist_node	node;
	Http	   *http;
	Address		address;
	LocalSocket *local;			/* NULL: listens on the address */
	HttpTls    *tls;			/* that libmicrohttpd started with, or NULL */
	struct MHD_Daemon *daemon;	/* NULL: does not listen yet */
	LoopIo	   *io;
	LoopTimer  *timer;			/* the next MHD_run(), or attempt to listen */
	Connections *connections;
	bool		is_down;		/* could not listen */
} HttpListener;

struct Http
{
	Loop	   *loop;
	slist_head	listeners;
	char	   *const *tokens;
	bool		checks_hosts;
	char	   *const *hosts;
	HttpTls    *tls;			/* for new connections, or NULL */
	HttpCounts *counts;
	slist_head	routes;
	slist_head	refusals;
	dlist_head	suspended;
	dlist_head	answers;		/* with a body of their own, the oldest first */
	size_t		answer_bytes;	/* ... and what counts of all */
	int			nserved;		/* by routes with a judge */
	bool		is_stopping;	/* accepts no more connections or streams */
	dlist_head	streams;
	int			nstreams;
	LoopTimer  *streams_idle;	/* the next comments */
	int64		idle_us;		/* ... between them */
	int			nrequests;
	int			nrefused;		/* tokens since the last log line about them */
	int64		refused_us;
};

struct HttpRequest
{
	dlist_node	node;			/* while suspended */
	Http	   *http;
	HttpListener *listener;
	struct MHD_Connection *connection;	/* NULL: it is gone */
	Connection *held;			/* the same, in the list of all */
	HttpPeer	peer;
	const char *method;			/* empty: one that no route has */
	HttpQuery	query;
	HttpRefusal refusal;		/* NULL: the plain form */
	const HttpRoute *route;
	void	   *arg;			/* the route's */
	StringInfoData allowed;		/* methods of its path; no data: no such path */
	StringInfoData body;
	bool		has_body;		/* as its headers say */
	size_t		received;		/* bytes of its body */
	bool		is_long;
	bool		is_last;		/* its connection ends with it */
	bool		is_served;		/* the route has it, and has not answered */
	bool		is_suspended;
	HttpParts	parts;
	struct MHD_Response *response;	/* NULL: not answered yet */
	int			status;
	dlist_node	answer_node;
	size_t		answer_len;		/* 0: not among the answers */
	bool		is_queued;
	int64		since_us;		/* its headers were there */
};

/* ---- http.c ---- */

/* The request is over.  Its memory stays as long as its route has it. */
extern void http_release(HttpRequest *request);

/* ---- http_answer.c ---- */

/* The route has the request, or has answered it. */
extern void http_set_served(HttpRequest *request, bool is_served);

/* Queues the response, whose headers it adds. */
extern void http_put(HttpRequest *request, const HttpAnswer *answer,
					 struct MHD_Response *response);

/* The answer is sent, or its connection has ended. */
extern void http_answer_done(HttpRequest *request);

/* ---- http_stream.c ---- */

extern void http_streams_init(Http *http);

/* ---- http_judge.c ---- */

/*
 * Finds the route, and refuses the request for a fault of its framing (NULL: it
 * has none), its host, path, method, origin, token, or for what its headers say
 * about its body.
 */
extern void http_judge(HttpRequest *request, const char *method, const char *path,
					   const char *fault);

/* The body is there: judges the token again, and gives the request to its route. */
extern void http_serve(HttpRequest *request);

/* The time of a request is over: see ConnectionLate. */
extern bool http_is_late(void *request);

/* ---- http_daemon.c ---- */

/* Starts to listen, now or later, on the address or (NULL) the socket. */
extern void http_listener_new(Http *http, const Address *address, const char *path);

/* Lets libmicrohttpd go on, after the current event. */
extern void http_listener_wake(HttpListener *listener);
extern void http_listener_stop_listening(HttpListener *listener);

/* All suspended requests must have been answered. */
extern void http_listener_free(HttpListener *listener);

#endif							/* TWT_HTTP_PRIVATE_H */
