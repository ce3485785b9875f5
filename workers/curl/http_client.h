/*-------------------------------------------------------------------------
 *
 * http_client.h
 *		libcurl on our loop: many requests at once, none blocks.
 *
 * A request is a libcurl handle with its options set.  It ends in exactly one
 * call of its function, or by http_client_cancel().  libcurl is not running at
 * that moment, so the function may do anything.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_CLIENT_H
#define TWT_HTTP_CLIENT_H

#include <curl/curl.h>

#include "base/loop.h"

typedef struct HttpClient HttpClient;

/* The callee owns the handle again. */
typedef void (*HttpDone) (void *arg, CURL * easy, CURLcode code);

/*
 * A program calls it before all other functions of libcurl.  A lack of memory in libcurl
 * then ends the program: libcurl itself would go on with fewer headers or options than it
 * was given, or lose the request.
 */
extern void http_client_begin(void);

extern HttpClient *http_client_new(Loop *loop, HttpDone done);

/* Keeps at most n idle connections open, and at most n spare handles. */
extern void http_client_keep(HttpClient *client, int n);

/*
 * Returns a handle without options; NULL: out of memory.  http_client_put()
 * takes it back.
 */
extern CURL * http_client_get(HttpClient *client);
extern void http_client_put(HttpClient *client, CURL * easy);

/*
 * Allows the request no redirects, no proxies from the environment, and nothing but
 * HTTP; names this program.
 */
extern void http_client_confine(CURL * easy);

/* All requests must have ended. */
extern void http_client_free(HttpClient *client);

/* Takes the handle; its CURLOPT_PRIVATE is the arg of the function. */
extern void http_client_start(HttpClient *client, CURL * easy);

/* Aborts the request; the caller owns the handle again. */
extern void http_client_cancel(HttpClient *client, CURL * easy);

#endif							/* TWT_HTTP_CLIENT_H */
