/*-------------------------------------------------------------------------
 *
 * http_client.h
 *		libcurl on our loop: many requests at once, none blocks.
 *
 * A request is a handle of libcurl's with its options set.  It ends in exactly
 * one call of its function, or by http_client_cancel().  Both are outside of
 * libcurl, so that anything may be done in the function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_CLIENT_H
#define TWT_HTTP_CLIENT_H

#include <curl/curl.h>

#include "base/loop.h"

typedef struct HttpClient HttpClient;

/* The handle is the callee's again. */
typedef void (*HttpDone) (void *arg, CURL * easy, CURLcode code);

extern HttpClient *http_client_new(Loop *loop, HttpDone done);

/* At most so many connections that nobody uses stay open; handles likewise. */
extern void http_client_keep(HttpClient *client, int n);

/* A handle without options, NULL: no memory; and it is not needed any more. */
extern CURL * http_client_get(HttpClient *client);
extern void http_client_put(HttpClient *client, CURL * easy);

/* All requests must have ended. */
extern void http_client_free(HttpClient *client);

/* Takes the handle; its CURLOPT_PRIVATE is arg of the function. */
extern void http_client_start(HttpClient *client, CURL * easy);

/* Breaks the request off; the handle is the caller's again. */
extern void http_client_cancel(HttpClient *client, CURL * easy);

#endif							/* TWT_HTTP_CLIENT_H */
