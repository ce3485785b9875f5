/*-------------------------------------------------------------------------
 *
 * http.c
 *		A small HTTP server on our loop.
 *
 *		from: web_config.h (listen)			to: results.c (routes)
 *
 *	 a request is	until						and then
 *	 judged			its headers are there		refused, or
 *	 reading		its body is there			served
 *	 served			http_answer()				answered; meanwhile suspended
 *	 answered		libmicrohttpd asks again	queued
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/text.h"
#include "web/http_access.h"
#include "web/http_private.h"

#define TELL_AGAIN_US SECONDS_TO_US(60)

typedef struct Routes
{
	slist_node	node;
	const HttpRoute *routes;
	int			n;
	void	   *arg;
} Routes;

/* ---- answers ---- */

/* Answers for the route, or in its place. */
static void
answer(HttpRequest *request, int status, const char *type, const char *text)
{
	request->status = status;
	request->response = MHD_create_response_from_buffer(strlen(text), unconstify(char *, text),
														MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(request->response, "Content-Type", type);
	MHD_add_response_header(request->response, "Cache-Control", "no-store");
	MHD_add_response_header(request->response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(request->response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(request->response, "Retry-After", "1");
	if (request->is_last)
		MHD_add_response_header(request->response, "Connection", "close");
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	dlist_delete(&request->node);
	MHD_resume_connection(request->connection);
	http_daemon_wake(request->http);
}

void
http_release(HttpRequest *request)
{
	request->connection = NULL;
	if (request->is_served)
		return;
	http_parts_free(&request->parts);
	pfree(request->body.data);
	pfree(request);
}

/* An answer that comes too late is for nobody. */
void
http_answer_text(HttpRequest *request, int status, const char *type, const char *text)
{
	request->is_served = false;
	if (request->connection == NULL)
		http_release(request);
	else if (request->response == NULL)
		answer(request, status, type, text);
}

void
http_answer(HttpRequest *request, int status, const char *json)
{
	http_answer_text(request, status, "application/json", json);
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
	return request->connection == NULL ? NULL :
		MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
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

/* Whether the request has a token for its route, or needs none. */
static bool
is_admitted(const HttpRequest *request)
{
	const HttpRoute *route = request->route;
	const char *authorization = http_header(request, "Authorization");

	if (route->admits != NULL)
		return route->admits(request->arg, authorization);
	return route->is_open || request->http->tokens == NULL ||
		http_has_token(authorization, request->http->tokens);
}

static bool
refuse_unauthorized(HttpRequest *request)
{
	Http	   *http = request->http;
	const char *host = http_header(request, "Host");

	if (!http_is_our_origin(http_header(request, "Origin"), host) ||
		(http->tokens == NULL && request->route->admits == NULL && !http_is_our_host(host)))
	{
		http_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
					"Requests of other web pages are not taken.");
		return true;
	}
	if (is_admitted(request))
		return false;
	note_refused(http);
	http_refuse(request, MHD_HTTP_UNAUTHORIZED, "unauthorized",
				"The header Authorization must be \"Bearer\" and a token.");
	return true;
}

static void
refuse_long(HttpRequest *request)
{
	http_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "A request has at most 256 kB.");
}

/* Refuses a body by its headers. */
static bool
refuse_body(HttpRequest *request)
{
	const char *type = http_header(request, "Content-Type");
	const char *len = http_header(request, "Content-Length");

	if (len != NULL && strtoull(len, NULL, 10) > BODY_MAX)
		refuse_long(request);
	else if (request->has_body &&
			 (type == NULL || pg_strncasecmp(type, "application/json", 16) != 0))
		http_refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
					"The body must be application/json.");
	else
		return false;
	return true;
}

/* ---- routes ---- */

/* *is_path: the path exists, but with another method. */
static bool
find_route(HttpRequest *request, const char *method, const char *path)
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
			request->route = route;
			request->arg = table->arg;
			if (strcmp(route->method, wanted) == 0)
				return true;
		}
	}
	if (is_path)
		http_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed",
					"This path is for another method.");
	else
		http_refuse(request, MHD_HTTP_NOT_FOUND, "no_such_path", "There is nothing here.");
	return false;
}

static bool
announces_body(const HttpRequest *request)
{
	const char *len = http_header(request, "Content-Length");

	return http_header(request, "Transfer-Encoding") != NULL ||
		(len != NULL && strspn(len, "0") < strlen(len));
}

void
http_judge(HttpRequest *request, const char *method, const char *path, const char *fault)
{
	request->has_body = announces_body(request);
	request->is_last = fault != NULL || http_header(request, "Transfer-Encoding") != NULL;
	if (fault != NULL)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request", fault);
	else if (!http_path_is_encoded(path))
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
					"The path has a % that encodes no character.");
	else if (find_route(request, method, path) && !refuse_unauthorized(request))
		(void) refuse_body(request);
}

static void
serve(HttpRequest *request)
{
	request->is_served = true;
	request->route->serve(request->arg, request);
	if (request->response != NULL)
		return;
	request->is_suspended = true;
	dlist_push_tail(&request->http->suspended, &request->node);
	MHD_suspend_connection(request->connection);
}

/* A reload may have taken the token away while the body came. */
void
http_serve(HttpRequest *request)
{
	if (request->is_long)
		refuse_long(request);
	else if (!refuse_unauthorized(request))
		serve(request);
}

bool
http_is_late(void *arg)
{
	HttpRequest *request = arg;

	if (!request->is_suspended)
		return false;
	answer(request, MHD_HTTP_SERVICE_UNAVAILABLE, "application/json",
		   "{\"error\":\"unavailable\",\"detail\":\"The request took too long; its outcome is not known.\"}\n");
	return true;
}

/* ---- the whole ---- */

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
	http->connections = connections_new(loop, http_is_late);
	http->counts = http_counts_new();
	http_daemon_start(http);
	return http;
}

void
http_set_tokens(Http *http, char *const *tokens)
{
	http->tokens = tokens;
}

void
http_limit(Http *http, int of_one, char *const *proxies)
{
	connections_limit(http->connections, of_one, proxies);
}

void
http_hurry(Http *http, int64 headers_us, int64 request_us)
{
	connections_hurry(http->connections, headers_us, request_us);
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
	http_daemon_stop_listening(http);
}

int
http_requests(const Http *http)
{
	return http->nrequests;
}

void
http_write_counts(const Http *http, StringInfo out)
{
	http_counts_write(http->counts, out);
}

/* libmicrohttpd must not stop while connections are suspended. */
void
http_close(Http *http)
{
	while (!dlist_is_empty(&http->suspended))
		http_refuse(dlist_head_element(HttpRequest, node, &http->suspended),
					MHD_HTTP_SERVICE_UNAVAILABLE, "stopping", "The server stops.");
	http_daemon_stop(http);
	while (!slist_is_empty(&http->routes))
		pfree(slist_container(Routes, node, slist_pop_head_node(&http->routes)));
	connections_free(http->connections);
	http_counts_free(http->counts);
	pfree(http);
}
