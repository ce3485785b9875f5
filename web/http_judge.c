/*-------------------------------------------------------------------------
 *
 * http_judge.c
 *		One request, from its headers to its route.
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
#include "web/http_access.h"
#include "web/http_private.h"

#define TELL_AGAIN_US SECONDS_TO_US(60)

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

/* A web page can make its own host name resolve to this machine. */
static bool
refuse_host(HttpRequest *request)
{
	const Http *http = request->http;
	const char *host = http_header(request, "Host");

	if (!http->checks_hosts || http_is_our_host(host) || http_is_listed_host(host, http->hosts))
		return false;
	http_refuse(request, MHD_HTTP_MISDIRECTED_REQUEST, "misdirected",
				"The host of the request is not in the list \"hosts\" of the configuration.");
	return true;
}

/*
 * Whether the route serves this machine without a token.  An open route may have
 * any of our names, which refuse_host() has looked at.
 */
static bool
needs_our_host(const HttpRequest *request)
{
	const HttpRoute *route = request->route;
	const Http *http = request->http;

	return http->tokens == NULL && route->admits == NULL && !(route->is_open && http->checks_hosts);
}

/* A route that judges for itself knows better whose pages may use it. */
static bool
is_of_foreign_page(const HttpRequest *request)
{
	const char *host = http_header(request, "Host");

	if (request->route->judge != NULL)
		return false;
	return !http_is_our_origin(http_header(request, "Origin"), host) ||
		(needs_our_host(request) && !http_is_our_host(host));
}

/* One more would only wait, and hold memory. */
static bool
refuse_crowd(HttpRequest *request)
{
	if (request->http->nserved < SERVED_MAX)
		return false;
	http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "too_much", "Too many requests are under way.");
	return true;
}

/* True: the request has its answer. */
static bool
refuse_unauthorized(HttpRequest *request)
{
	Http	   *http = request->http;

	if (is_of_foreign_page(request))
	{
		http_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
					"Requests of other web pages are not taken.");
		return true;
	}
	if (request->route->judge != NULL)
	{
		if (refuse_crowd(request))
			return true;
		request->route->judge(request->arg, request);
		return request->response != NULL;
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

static const char *
known_method(const char *method)
{
	static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};

	for (int i = 0; i < (int) lengthof(known); i++)
		if (strcmp(method, known[i]) == 0)
			return known[i];
	return "";
}

/* The methods of a path, for the header Allow. */
static void
allow(HttpRequest *request, const char *method)
{
	if (request->allowed.data == NULL)
		initStringInfo(&request->allowed);
	appendStringInfo(&request->allowed, "%s%s%s", request->allowed.len > 0 ? ", " : "", method,
					 strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

static bool
find_route(HttpRequest *request, const char *path)
{
	const char *wanted = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
	slist_iter	iter;

	slist_foreach(iter, &request->http->routes)
	{
		HttpRoutes *table = slist_container(HttpRoutes, node, iter.cur);

		for (int i = 0; i < table->n; i++)
		{
			const HttpRoute *route = &table->routes[i];

			if (!http_path_match(route->path, path, &request->parts))
				continue;
			allow(request, route->method);
			request->route = route;
			request->arg = table->arg;
			if (strcmp(route->method, wanted) == 0)
				return true;
		}
	}
	if (request->allowed.len > 0)
		http_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed",
					"This path is for another method.");
	else
		http_refuse(request, MHD_HTTP_NOT_FOUND, "no_such_path", "There is nothing here.");
	return false;
}

/* The first one that was set for the beginning of the path. */
static HttpRefusal
find_refusal(Http *http, const char *path)
{
	slist_iter	iter;

	slist_foreach(iter, &http->refusals)
	{
		const HttpRefusals *refusal = slist_container(HttpRefusals, node, iter.cur);

		if (strncmp(path, refusal->prefix, strlen(refusal->prefix)) == 0)
			return refusal->refusal;
	}
	return NULL;
}

static bool
announces_body(const HttpRequest *request)
{
	const char *len = http_header(request, "Content-Length");

	return http_header(request, "Transfer-Encoding") != NULL ||
		(len != NULL && strspn(len, "0") < strlen(len));
}

/* Other routes look at no query. */
static bool
refuse_badly_asked(HttpRequest *request)
{
	if (!request->query.is_bad || request->route->judge == NULL)
		return false;
	http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
				"The query has a % that encodes no character.");
	return true;
}

void
http_judge(HttpRequest *request, const char *method, const char *path, const char *fault)
{
	request->method = known_method(method);
	request->refusal = find_refusal(request->http, path);
	request->has_body = announces_body(request);
	request->is_last = fault != NULL || http_header(request, "Transfer-Encoding") != NULL;
	if (fault != NULL)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request", fault);
	else if (!http_path_is_encoded(path))
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
					"The path has a % that encodes no character.");
	else if (!refuse_host(request) && find_route(request, path) && !refuse_badly_asked(request) && !refuse_unauthorized(request))
		(void) refuse_body(request);
}

static void
serve(HttpRequest *request)
{
	http_set_served(request, true);
	request->route->serve(request->arg, request);
	if (request->response != NULL)
		return;
	request->is_suspended = true;
	dlist_push_tail(&request->http->suspended, &request->node);
	MHD_suspend_connection(request->connection);
}

/* A reload may have taken the host or the token away while the body came. */
void
http_serve(HttpRequest *request)
{
	if (request->is_long)
		refuse_long(request);
	else if (!refuse_host(request) && !refuse_unauthorized(request))
		serve(request);
}

/* The route keeps the request, and answers it in vain. */
bool
http_is_late(void *arg)
{
	HttpRequest *request = arg;

	if (!request->is_suspended)
		return false;
	http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
				"The request took too long; its outcome is not known.");
	http_set_served(request, true);
	return true;
}
