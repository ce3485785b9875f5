/*-------------------------------------------------------------------------
 *
 * http_daemon.c
 *		libmicrohttpd on our loop.
 *
 * libmicrohttpd reads and writes.  The loop watches libmicrohttpd's epoll
 * descriptor, and a timer keeps its timeout.  Either calls MHD_run(), which
 * does what can be done without waiting.  MHD_run() must not be called from
 * inside itself, so an answer only starts the timer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "web/http_framing.h"
#include "web/http_private.h"

#define IDLE_SECONDS 30
#define CONNECTION_BYTES (16 * 1024)
#define MORE_OPTIONS 4

static const char priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* ---- libmicrohttpd ---- */

static void *
tls_session(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info != NULL ? info->tls_session : NULL;
}

static HttpRequest *
new_request(HttpListener *listener, struct MHD_Connection *connection)
{
	HttpRequest *request = palloc0(sizeof(HttpRequest));
	Http	   *http = listener->http;

	request->http = http;
	request->listener = listener;
	request->connection = connection;
	request->held = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	connection_identify(request->held, tls_session(connection));
	request->peer = *connection_peer(request->held);
	request->since_us = loop_now_us(http->loop);
	http->nrequests++;
	initStringInfo(&request->body);
	return request;
}

static enum MHD_Result
queue_answer(HttpRequest *request)
{
	request->is_queued = true;
	return MHD_queue_response(request->connection, request->status, request->response);
}

static enum MHD_Result
on_query(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	http_query_add(arg, name, value);
	return MHD_YES;
}

/* A request that is refused before its body has come ends its connection. */
static enum MHD_Result
begin(HttpRequest *request, const char *method, const char *path, const char *version)
{
	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, on_query, &request->query);
	http_judge(request, method, path, http_framing_fault(request->connection, method, version));
	connection_busy(request->held, request, request->response == NULL && !request->route->is_open);
	if (request->response == NULL || !(request->has_body || request->is_last))
		return MHD_YES;
	connection_early(request->held);
	return queue_answer(request);
}

/* False: the body has no end in sight, so the connection is closed. */
static bool
take_body(HttpRequest *request, const char *bytes, size_t len)
{
	request->received += len;
	request->is_long = request->received > BODY_MAX;
	if (!request->is_long)
		appendBinaryStringInfo(&request->body, bytes, len);
	return request->received <= 4 * BODY_MAX;
}

/* Leaves path and query as they are, since http_path.h decodes their parts. */
static size_t
unescape_hook(void *arg, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

static enum MHD_Result
request_hook(void *arg, struct MHD_Connection *connection, const char *path,
			 const char *method, const char *version, const char *bytes,
			 size_t *len, void **state)
{
	HttpRequest *request = *state;

	if (request == NULL)
	{
		*state = request = new_request(arg, connection);
		return begin(request, method, path, version);
	}
	if (*len > 0)
	{
		bool		is_taken = take_body(request, bytes, *len);

		*len = 0;
		return is_taken ? MHD_YES : MHD_NO;
	}
	if (request->response == NULL && !request->is_served)
		http_serve(request);
	if (request->response != NULL && !request->is_queued)
		return queue_answer(request);
	return MHD_YES;
}

static void
on_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	HttpRequest *request = *state;

	if (request == NULL)
		return;
	request->http->nrequests--;
	http_answer_done(request);
	if (request->response != NULL)
	{
		http_counts_note(request->http->counts, request->route != NULL ? request->route->path : NULL,
						 request->status, loop_now_us(request->http->loop) - request->since_us);
		MHD_destroy_response(request->response);
	}
	connection_kept(request->held);
	http_release(request);
	*state = NULL;
}

static enum MHD_Result
on_address(void *arg, const struct sockaddr *address, socklen_t len)
{
	return connections_admit(((HttpListener *) arg)->connections, address) ? MHD_YES : MHD_NO;
}

/* Its socket is still open in both cases. */
static void
on_connection(void *arg, struct MHD_Connection *connection, void **held,
			  enum MHD_ConnectionNotificationCode code)
{
	HttpListener *listener = arg;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
	{
		connection_remove(*held);
		return;
	}
	*held = connections_add(listener->connections,
								MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
								MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	if (listener->tls != NULL)
		connection_begin_tls(*held, listener->http->tls, tls_session(connection));
}

/* Returns the state of the request, which there is none of yet. */
static void *
on_line(void *arg, const char *line, struct MHD_Connection *connection)
{
	connection_line(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
	return NULL;
}

static void
on_log(void *arg, const char *fmt, va_list args)
{
	char		line[512];

	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	log_line(TWT_LOG_DEBUG, "http", "%s", line);
}

/* libmicrohttpd would abort, with no line in our log. */
static void
on_panic(void *arg, const char *file, unsigned int line, const char *reason)
{
	(void) arg;
	log_line(TWT_LOG_FATAL, "http", "the HTTP library cannot go on (%s:%u): %s", file, line, reason == NULL ? "no reason" : reason);
	program_exit(EXIT_FAILURE);
}

static void
run(HttpListener *listener)
{
	MHD_UNSIGNED_LONG_LONG ms;

	loop_timer_stop(listener->timer);
	MHD_run(listener->daemon);
	if (!loop_timer_active(listener->timer) && MHD_get_timeout(listener->daemon, &ms) == MHD_YES)
		loop_timer_start(listener->timer, MS_TO_US(Min(ms, 60000)));
}

static void
on_ready(void *arg, int ready)
{
	run(arg);
}

/* ---- listening ---- */

static void
set_option(struct MHD_OptionItem *item, enum MHD_OPTION option, const char *value)
{
	item->option = option;
	item->value = 0;
	item->ptr_value = unconstify(char *, value);
}

/* Writes the options of TLS; false: there is none. */
static bool
begin_tls(HttpListener *listener, struct MHD_OptionItem *options)
{
	HttpTls    *tls = listener->local == NULL ? listener->http->tls : NULL;

	http_tls_free(listener->tls);
	listener->tls = tls != NULL ? http_tls_share(tls) : NULL;
	if (tls != NULL)
	{
		set_option(options++, MHD_OPTION_HTTPS_MEM_CERT, http_tls_certificate(tls));
		set_option(options++, MHD_OPTION_HTTPS_MEM_KEY, http_tls_key(tls));
		set_option(options++, MHD_OPTION_HTTPS_PRIORITIES, priorities);
	}
	set_option(options, MHD_OPTION_END, NULL);
	return tls != NULL;
}

static struct MHD_Daemon *
start_daemon(HttpListener *listener, int fd)
{
	struct MHD_OptionItem more[MORE_OPTIONS];
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (begin_tls(listener, more))
		flags |= MHD_USE_TLS;
	return MHD_start_daemon(flags,
							0, on_address, listener, request_hook, listener,
							MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
							MHD_OPTION_LISTEN_SOCKET, fd,
							MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
							MHD_OPTION_CONNECTION_LIMIT, (unsigned int) CONNECTIONS_MAX,
							MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener,
							MHD_OPTION_URI_LOG_CALLBACK, on_line, NULL,
							MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int) IDLE_SECONDS,
							MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES,
							MHD_OPTION_STRICT_FOR_CLIENT, 1,
							MHD_OPTION_UNESCAPE_CALLBACK, unescape_hook, NULL,
							MHD_OPTION_ARRAY, more,
							MHD_OPTION_END);
}

static int
open_socket(HttpListener *listener)
{
	return listener->local != NULL ? local_socket_listen(listener->local) :
		address_listen(&listener->address, &listener->is_down);
}

static bool
start_listening(HttpListener *listener)
{
	int			fd = open_socket(listener);

	if (fd < 0)
		return false;
	listener->daemon = start_daemon(listener, fd);
	if (listener->daemon == NULL)
	{
		log_line(TWT_LOG_ERROR, "http", "could not start the server: no memory, or no TLS; will try again");
		if (listener->local != NULL)
			local_socket_remove(listener->local);
		close(fd);
		return false;
	}
	listener->io = loop_io_new(listener->http->loop,
							   MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
							   on_ready, listener);
	loop_io_want(listener->io, LOOP_READ);
	return true;
}

static void
on_timer(void *arg)
{
	HttpListener *listener = arg;

	if (listener->daemon != NULL)
		run(listener);
	else if (!start_listening(listener))
		loop_timer_start(listener->timer, ADDRESS_AGAIN_US);
}

/* ---- the whole ---- */

void
http_listener_new(Http *http, const Address *address, const char *path)
{
	HttpListener *listener = palloc0(sizeof(HttpListener));

	listener->http = http;
	if (address != NULL)
		listener->address = *address;
	else
		listener->local = local_socket_new(path);
	MHD_set_panic_func(on_panic, NULL);
	listener->connections = connections_new(http->loop, http_is_late);
	listener->timer = loop_timer_new(http->loop, on_timer, listener);
	loop_timer_start(listener->timer, 0);
	slist_push_head(&http->listeners, &listener->node);
}

void
http_listener_wake(HttpListener *listener)
{
	if (listener->daemon != NULL)
		loop_timer_start(listener->timer, 0);
}

void
http_listener_stop_listening(HttpListener *listener)
{
	if (listener->local != NULL)
		local_socket_remove(listener->local);
	if (listener->daemon == NULL)
		loop_timer_stop(listener->timer);
	else
		close(MHD_quiesce_daemon(listener->daemon));
}

void
http_listener_free(HttpListener *listener)
{
	if (listener->io != NULL)
		loop_io_free(listener->io);
	if (listener->local != NULL)
		local_socket_free(listener->local);
	if (listener->daemon != NULL)
		MHD_stop_daemon(listener->daemon);
	http_tls_free(listener->tls);
	loop_timer_free(listener->timer);
	connections_free(listener->connections);
	pfree(listener);
}
