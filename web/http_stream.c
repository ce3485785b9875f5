/*-------------------------------------------------------------------------
 *
 * http_stream.c
 *		Server-sent events: answers without an end.
 *
 * libmicrohttpd asks for bytes when it can send some.  When there are none, its
 * connection is suspended until there are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/log.h"
#include "web/http_private.h"
#include "web/http_stream.h"

/* The bytes that may wait for a client, besides those in its socket. */
#define WAITING_MAX (16 * 1024)

#define IDLE_US SECONDS_TO_US(15)

/* Sent bytes that no machine acknowledges end a connection. */
#define GONE_MS 30000

struct HttpStream
{
	dlist_node	node;
	Http	   *http;
	HttpListener *listener;
	struct MHD_Connection *connection;
	Connection *held;
	HttpStreamClosed closed;	/* NULL: its owner has closed it */
	void	   *arg;
	StringInfoData waiting;
	bool		is_suspended;
	bool		is_ending;
};

/* ---- libmicrohttpd ---- */

static void
resume(HttpStream *stream)
{
	if (!stream->is_suspended)
		return;
	stream->is_suspended = false;
	MHD_resume_connection(stream->connection);
	http_listener_wake(stream->listener);
}

static ssize_t
on_wanted(void *arg, uint64_t position, char *bytes, size_t max)
{
	HttpStream *stream = arg;
	size_t		len = Min((size_t) stream->waiting.len, max);

	if (len > 0)
	{
		memcpy(bytes, stream->waiting.data, len);
		stream->waiting.len -= len;
		memmove(stream->waiting.data, stream->waiting.data + len, stream->waiting.len);
		return len;
	}
	if (stream->is_ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	stream->is_suspended = true;
	MHD_suspend_connection(stream->connection);
	return 0;
}

/* The connection has ended, or the stream. */
static void
on_end(void *arg)
{
	HttpStream *stream = arg;

	dlist_delete(&stream->node);
	stream->http->nstreams--;
	if (stream->closed != NULL)
		stream->closed(stream->arg);
	pfree(stream->waiting.data);
	pfree(stream);
}

/* ---- all streams ---- */

static void
send_bytes(HttpStream *stream, const char *bytes)
{
	if (stream->is_ending)
		return;
	if (stream->waiting.len + strlen(bytes) <= WAITING_MAX)
		appendStringInfoString(&stream->waiting, bytes);
	else
	{
		stream->is_ending = true;
		connection_end(stream->held);
	}
	resume(stream);
}

static void
on_idle(void *arg)
{
	Http	   *http = arg;
	dlist_iter	iter;

	dlist_foreach(iter, &http->streams)
		send_bytes(dlist_container(HttpStream, node, iter.cur), ":\n\n");
	if (http->nstreams > 0)
		loop_timer_start(http->streams_idle, http->idle_us);
}

void
http_streams_init(Http *http)
{
	dlist_init(&http->streams);
	http->streams_idle = loop_timer_new(http->loop, on_idle, http);
	http->idle_us = IDLE_US;
}

void
http_hurry_streams(Http *http, int64 idle_us)
{
	http->idle_us = idle_us;
}

static void
end_stream(HttpStream *stream)
{
	stream->is_ending = true;
	resume(stream);
}

void
http_end_streams(Http *http)
{
	dlist_iter	iter;

	dlist_foreach(iter, &http->streams)
		end_stream(dlist_container(HttpStream, node, iter.cur));
}

/* ---- one stream ---- */

static void
watch_client(int fd)
{
	unsigned int ms = GONE_MS;

	/* A Unix socket has no such option, and needs none. */
	(void) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

static HttpStream *
new_stream(HttpRequest *request, HttpStreamClosed closed, void *arg)
{
	HttpStream *stream = palloc0(sizeof(HttpStream));
	Http	   *http = request->http;

	stream->http = http;
	stream->listener = request->listener;
	stream->connection = request->connection;
	stream->held = request->held;
	stream->closed = closed;
	stream->arg = arg;
	initStringInfo(&stream->waiting);
	dlist_push_tail(&http->streams, &stream->node);
	if (http->nstreams++ == 0)
		loop_timer_start(http->streams_idle, http->idle_us);
	return stream;
}

HttpStream *
http_stream_open(HttpRequest *request, HttpStreamClosed closed, void *arg)
{
	static const char *const headers[] = {"X-Accel-Buffering", "no", NULL};
	HttpAnswer	answer = {.status = MHD_HTTP_OK, .type = "text/event-stream", .headers = headers};
	HttpStream *stream;

	if (request->connection == NULL || request->response != NULL || request->http->is_stopping ||
		request->http->nstreams >= HTTP_STREAMS_MAX)
	{
		http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "too_many_streams",
					"Too many streams are open, or the server ends.");
		return NULL;
	}
	stream = new_stream(request, closed, arg);
	connection_stream(request->held);
	watch_client(MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
	http_set_served(request, false);
	http_put(request, &answer,
			 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, WAITING_MAX, on_wanted, stream, on_end));
	/* The first bytes carry the headers along. */
	send_bytes(stream, ":\n\n");
	return stream;
}

void
http_stream_send(HttpStream *stream, const char *event, const char *data)
{
	char	   *text = psprintf("event: %s\ndata: %s\n\n", event, data);

	send_bytes(stream, text);
	pfree(text);
}

void
http_stream_close(HttpStream *stream)
{
	stream->closed = NULL;
	end_stream(stream);
}
