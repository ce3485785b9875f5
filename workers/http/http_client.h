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

/* Keeps at most so many connections open that nobody uses. */
extern HttpClient *http_client_new(Loop *loop, int idle, HttpDone done);

/* All requests must have ended. */
extern void http_client_free(HttpClient *client);

/* Takes the handle; its CURLOPT_PRIVATE is arg of the function. */
extern void http_client_start(HttpClient *client, CURL * easy);

/* Breaks the request off; the handle is the caller's again. */
extern void http_client_cancel(HttpClient *client, CURL * easy);

#endif							/* TWT_HTTP_CLIENT_H */
