/*-------------------------------------------------------------------------
 *
 * http_stream.h
 *		Server-sent events: answers without an end.
 *
 * A stream ends when its client goes, when the client does not read what was sent,
 * or when the server wants it: at http_end_streams(), which a reload calls since
 * the client's rights may have changed, and at the end of the server.  Clients
 * connect again by themselves, and are judged anew.
 *
 * An idle stream gets a comment now and then, which finds clients that have gone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_STREAM_H
#define TWT_HTTP_STREAM_H

#include "web/http.h"

/* The most streams at once. */
#define HTTP_STREAMS_MAX 64

typedef struct HttpStream HttpStream;

/* The stream has ended, and may not be used any more.  http_close() calls it too. */
typedef void (*HttpStreamClosed) (void *arg);

/*
 * Answers the request with a stream.  Returns NULL if there are too many or the server
 * stops, with the answer 503, or if the client has gone.
 */
extern HttpStream *http_stream_open(HttpRequest *request, HttpStreamClosed closed, void *arg);

/* Sends an event.  Its name and its data are one line each. */
extern void http_stream_send(HttpStream *stream, const char *event, const char *data);

/* Ends the stream after what was sent; closed will not be called. */
extern void http_stream_close(HttpStream *stream);

/* The delay of comments, for tests. */
extern void http_hurry_streams(Http *http, int64 idle_us);

#endif							/* TWT_HTTP_STREAM_H */
