/*-------------------------------------------------------------------------
 *
 * http.c
 *		A small HTTP server on our loop.
 *
 *		from: web_config.h (listen)			to: results.c (routes)
 *
 * libmicrohttpd reads and writes.  The loop watches libmicrohttpd's epoll
 * descriptor, and a timer keeps its timeout.  Either calls MHD_run(), which
 * does what can be done without waiting.  MHD_run() must not be called from
 * inside itself, so an answer only starts the timer.
 *
 *	 a request is	until						and then
 *	 reading		its body is there			served
 *	 served			http_answer()				answered; meanwhile suspended
 *	 answered		libmicrohttpd asks again	queued
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <microhttpd.h>
#include <unistd.h>

#include "web/http.h"
#include "web/http_access.h"
#include "web/http_path.h"
#include "base/log.h"
#include "base/text.h"

#define TELL_AGAIN_US SECONDS_TO_US(60)
#define CONNECTIONS_MAX 256
#define CONNECTIONS_OF_ONE 64
#define IDLE_SECONDS 30
#define CONNECTION_BYTES (16 * 1024)
#define BODY_MAX (256 * 1024)

typedef struct Routes
{
	slist_node	node;
	const HttpRoute *routes;
	int			n;
	void	   *arg;
} Routes;

struct Http
{
	Loop	   *loop;
	Address		address;
	char	   *const *tokens;
	struct MHD_Daemon *daemon;	/* NULL: does not listen yet */
	LoopIo	   *io;
	LoopTimer  *timer;			/* the next MHD_run(), or attempt to listen */
	slist_head	routes;
	dlist_head	suspended;
	int			nrequests;
	bool		is_down;		/* could not listen */
	int			nrefused;		/* tokens since the last log line about them */
	int64		refused_us;
};

struct HttpRequest
{
	dlist_node	node;			/* while suspended */
	Http	   *http;
	struct MHD_Connection *connection;
	StringInfoData body;
	bool		is_long;
	bool		is_served;
	bool		is_suspended;
	HttpParts	parts;
	struct MHD_Response *response;	/* NULL: not answered yet */
	int			status;
	bool		is_queued;
};

/* ---- answers ---- */

static void
run_soon(Http *http)
{
	if (http->daemon != NULL)
		loop_timer_start(http->timer, 0);
}

void
http_answer(HttpRequest *request, int status, const char *json)
{
	Assert(request->response == NULL);
	request->status = status;
	request->response = MHD_create_response_from_buffer(strlen(json), unconstify(char *, json),
														MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(request->response, "Content-Type", "application/json");
	MHD_add_response_header(request->response, "Cache-Control", "no-store");
	MHD_add_response_header(request->response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(request->response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(request->response, "Retry-After", "1");
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	dlist_delete(&request->node);
	MHD_resume_connection(request->connection);
	run_soon(request->http);
}

void
http_refuse(HttpRequest *request, int status, const char *word,
			const char *detail)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"error\":\"%s\",\"detail\":\"", word);
	text_escape_json(&json, detail, strlen(detail), SIZE_MAX);
	appendStringInfoString(&json, "\"}\n");
	http_answer(request, status, json.data);
	pfree(json.data);
}

const char *
http_part(const HttpRequest *request, int n)
{
	return n < request->parts.n ? request->parts.parts[n] : "";
}

const char *
http_header(const HttpRequest *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *
http_body(const HttpRequest *request, size_t *len)
{
	*len = request->body.len;
	return request->body.data;
}

/* ---- access ---- */

/* Logs refused requests once in a while, with their number. */
static void
note_refused(Http *http)
{
	int64		now = loop_now_us(http->loop);

	http->nrefused++;
	if (http->refused_us != 0 && now - http->refused_us < TELL_AGAIN_US)
		return;
	log_line(TWT_LOG_WARN, "http", "%d requests came without the right token", http->nrefused);
	http->nrefused = 0;
	http->refused_us = now;
}

/* Whether the request has a token for the route, or needs none. */
static bool
is_admitted(const HttpRequest *request, const HttpRoute *route, void *arg)
{
	const char *authorization = http_header(request, "Authorization");

	if (route->admits != NULL)
		return route->admits(arg, authorization);
	return route->is_open || request->http->tokens == NULL ||
		http_has_token(authorization, request->http->tokens);
}

static bool
refuse_unauthorized(HttpRequest *request, const HttpRoute *route, void *arg)
{
	Http	   *http = request->http;
	const char *host = http_header(request, "Host");

	if (!http_is_our_origin(http_header(request, "Origin"), host) ||
		(http->tokens == NULL && route->admits == NULL && !http_is_our_host(host)))
	{
		http_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
					"Requests of other web pages are not taken.");
		return true;
	}
	if (is_admitted(request, route, arg))
		return false;
	note_refused(http);
	http_refuse(request, MHD_HTTP_UNAUTHORIZED, "unauthorized",
				"The header Authorization must be \"Bearer\" and a token.");
	return true;
}

static bool
refuse_body(HttpRequest *request)
{
	const char *type = http_header(request, "Content-Type");

	if (request->is_long)
		http_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large",
					"A request has at most 256 kB.");
	else if (request->body.len > 0 &&
			 (type == NULL || pg_strncasecmp(type, "application/json", 16) != 0))
		http_refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
					"The body must be application/json.");
	else
		return false;
	return true;
}

/* ---- routes ---- */

/* *is_path: the path exists, but with another method. */
static const HttpRoute *
find_route(HttpRequest *request, const char *method, const char *path,
		   void **arg)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
	bool		is_path = false;
	slist_iter	iter;

	slist_foreach(iter, &request->http->routes)
	{
		Routes	   *table = slist_container(Routes, node, iter.cur);

		for (int i = 0; i < table->n; i++)
		{
			const HttpRoute *route = &table->routes[i];

			if (!http_path_match(route->path, path, &request->parts))
				continue;
			is_path = true;
			*arg = table->arg;
			if (strcmp(route->method, wanted) == 0)
				return route;
		}
	}
	if (is_path)
		http_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed",
					"This path is for another method.");
	else
		http_refuse(request, MHD_HTTP_NOT_FOUND, "no_such_path", "There is nothing here.");
	return NULL;
}

static void
serve(HttpRequest *request, const char *method, const char *path)
{
	void	   *arg;
	const HttpRoute *route;

	request->is_served = true;
	if (!http_path_is_encoded(path))
	{
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
					"The path has a % that encodes no character.");
		return;
	}
	route = find_route(request, method, path, &arg);
	if (route == NULL || refuse_unauthorized(request, route, arg) || refuse_body(request))
		return;
	route->serve(arg, request);
	if (request->response != NULL)
		return;
	request->is_suspended = true;
	dlist_push_tail(&request->http->suspended, &request->node);
	MHD_suspend_connection(request->connection);
}

/* ---- libmicrohttpd ---- */

static HttpRequest *
new_request(Http *http, struct MHD_Connection *connection)
{
	HttpRequest *request = palloc0(sizeof(HttpRequest));

	request->http = http;
	request->connection = connection;
	http->nrequests++;
	initStringInfo(&request->body);
	return request;
}

static void
take_body(HttpRequest *request, const char *bytes, size_t len)
{
	if (request->body.len + len > BODY_MAX)
		request->is_long = true;
	if (!request->is_long)
		appendBinaryStringInfo(&request->body, bytes, len);
}

static enum MHD_Result
queue_answer(HttpRequest *request)
{
	request->is_queued = true;
	return MHD_queue_response(request->connection, request->status, request->response);
}

/* Leaves the path as it is, since http_path.h decodes its parts. */
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
		*state = new_request(arg, connection);
		return MHD_YES;
	}
	if (*len > 0)
	{
		take_body(request, bytes, *len);
		*len = 0;
		return MHD_YES;
	}
	if (!request->is_served)
		serve(request, method, path);
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
	if (request->response != NULL)
		MHD_destroy_response(request->response);
	http_parts_free(&request->parts);
	pfree(request->body.data);
	pfree(request);
	*state = NULL;
}

static void
on_log(void *arg, const char *fmt, va_list args)
{
	char		line[512];

	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	log_line(TWT_LOG_DEBUG, "http", "%s", line);
}

static void
run(Http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;

	loop_timer_stop(http->timer);
	MHD_run(http->daemon);
	if (!loop_timer_active(http->timer) && MHD_get_timeout(http->daemon, &ms) == MHD_YES)
		loop_timer_start(http->timer, MS_TO_US(Min(ms, 60000)));
}

static void
on_ready(void *arg, int ready)
{
	run(arg);
}

/* ---- listening ---- */

static struct MHD_Daemon *
start_daemon(Http *http, int fd)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
							0, NULL, NULL, request_hook, http,
							MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
							MHD_OPTION_LISTEN_SOCKET, fd,
							MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
							MHD_OPTION_CONNECTION_LIMIT, (unsigned int) CONNECTIONS_MAX,
							MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int) CONNECTIONS_OF_ONE,
							MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int) IDLE_SECONDS,
							MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES,
							MHD_OPTION_STRICT_FOR_CLIENT, 1,
							MHD_OPTION_UNESCAPE_CALLBACK, unescape_hook, NULL,
							MHD_OPTION_END);
}

static bool
start_listening(Http *http)
{
	int			fd = address_listen(&http->address, &http->is_down);

	if (fd < 0)
		return false;
	http->daemon = start_daemon(http, fd);
	if (http->daemon == NULL)
	{
		log_line(TWT_LOG_ERROR, "http", "could not start the server: out of memory; will try again");
		close(fd);
		return false;
	}
	http->io = loop_io_new(http->loop,
						   MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
						   on_ready, http);
	loop_io_want(http->io, LOOP_READ);
	return true;
}

static void
on_timer(void *arg)
{
	Http	   *http = arg;

	if (http->daemon != NULL)
		run(http);
	else if (!start_listening(http))
		loop_timer_start(http->timer, ADDRESS_AGAIN_US);
}

Http *
http_open(Loop *loop, const char *listen, char *const *tokens)
{
	Http	   *http;
	Address		address;

	if (listen == NULL || address_parse(listen, &address) != NULL)
		return NULL;
	http = palloc0(sizeof(Http));
	http->loop = loop;
	http->address = address;
	http->tokens = tokens;
	slist_init(&http->routes);
	dlist_init(&http->suspended);
	http->timer = loop_timer_new(loop, on_timer, http);
	loop_timer_start(http->timer, 0);
	return http;
}

void
http_set_tokens(Http *http, char *const *tokens)
{
	http->tokens = tokens;
}

void
http_add_routes(Http *http, const HttpRoute *routes, int nroutes, void *arg)
{
	Routes	   *table = palloc(sizeof(Routes));

	table->routes = routes;
	table->n = nroutes;
	table->arg = arg;
	slist_push_head(&http->routes, &table->node);
}

void
http_stop_listening(Http *http)
{
	if (http->daemon == NULL)
		loop_timer_stop(http->timer);
	else
		close(MHD_quiesce_daemon(http->daemon));
}

int
http_requests(const Http *http)
{
	return http->nrequests;
}

/* libmicrohttpd must not stop while connections are suspended. */
void
http_close(Http *http)
{
	while (!dlist_is_empty(&http->suspended))
		http_refuse(dlist_head_element(HttpRequest, node, &http->suspended),
					MHD_HTTP_SERVICE_UNAVAILABLE, "stopping", "The server stops.");
	if (http->io != NULL)
		loop_io_free(http->io);
	if (http->daemon != NULL)
		MHD_stop_daemon(http->daemon);
	while (!slist_is_empty(&http->routes))
		pfree(slist_container(Routes, node, slist_pop_head_node(&http->routes)));
	loop_timer_free(http->timer);
	pfree(http);
}
