/*-------------------------------------------------------------------------
 *
 * http.c
 *		A small HTTP server on our loop.
 *
 *		from: web_config.h (listen)			to: results.c (routes)
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "web/http_private.h"

typedef struct HeaderCount
{
	const char *name;
	int			n;
} HeaderCount;

/* ---- requests ---- */

void
http_release(HttpRequest *request)
{
	request->connection = NULL;
	memset(&request->peer, 0, sizeof(request->peer));
	if (request->is_served)
		return;
	http_parts_free(&request->parts);
	http_query_free(&request->query);
	pfree(request->allowed.data);
	pfree(request->body.data);
	pfree(request);
}

const char *
http_method(const HttpRequest *request)
{
	return request->method;
}

const char *
http_part(const HttpRequest *request, int n)
{
	return n < request->parts.n ? request->parts.parts[n] : "";
}

const char *
http_query(const HttpRequest *request, const char *name)
{
	return http_query_find(&request->query, name);
}

bool
http_each_query(const HttpRequest *request,
				bool (*fn) (void *arg, const char *name, const char *value), void *arg)
{
	for (int i = 0; i < request->query.n; i++)
		if (!fn(arg, request->query.pairs[i].name, request->query.pairs[i].value))
			return false;
	return true;
}

const HttpPeer *
http_peer(const HttpRequest *request)
{
	return &request->peer;
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

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	HeaderCount *count = arg;

	count->n += pg_strcasecmp(name, count->name) == 0;
	return MHD_YES;
}

int
http_header_count(const HttpRequest *request, const char *name)
{
	HeaderCount count = {.name = name};

	if (request->connection != NULL)
		MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &count);
	return count.n;
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
	http->tokens = tokens;
	slist_init(&http->routes);
	slist_init(&http->refusals);
	dlist_init(&http->suspended);
	dlist_init(&http->answers);
	slist_init(&http->listeners);
	http->counts = http_counts_new();
	http_streams_init(http);
	http_listener_new(http, &address, NULL);
	return http;
}

void
http_listen_unix(Http *http, const char *path)
{
	http_listener_new(http, NULL, path);
}

void
http_set_tokens(Http *http, char *const *tokens)
{
	http->tokens = tokens;
}

void
http_set_tls(Http *http, HttpTls *tls)
{
	if (tls == NULL)
		return;
	http_tls_free(http->tls);
	http->tls = http_tls_share(tls);
}

void
http_set_hosts(Http *http, bool are_checked, char *const *hosts)
{
	http->checks_hosts = are_checked;
	http->hosts = hosts;
}

void
http_limit(Http *http, int of_one, char *const *proxies)
{
	slist_iter	iter;

	slist_foreach(iter, &http->listeners)
		connections_limit(slist_container(HttpListener, node, iter.cur)->connections, of_one, proxies);
}

void
http_hurry(Http *http, int64 headers_us, int64 request_us)
{
	slist_iter	iter;

	slist_foreach(iter, &http->listeners)
		connections_hurry(slist_container(HttpListener, node, iter.cur)->connections, headers_us, request_us);
}

void
http_add_routes(Http *http, const HttpRoute *routes, int nroutes, void *arg)
{
	HttpRoutes *table = palloc(sizeof(HttpRoutes));

	table->routes = routes;
	table->n = nroutes;
	table->arg = arg;
	slist_push_head(&http->routes, &table->node);
}

void
http_set_refusal(Http *http, const char *prefix, HttpRefusal refusal)
{
	HttpRefusals *added = palloc(sizeof(HttpRefusals));

	added->prefix = prefix;
	added->refusal = refusal;
	slist_push_head(&http->refusals, &added->node);
}

void
http_stop_listening(Http *http)
{
	slist_iter	iter;

	http->is_stopping = true;
	http_end_streams(http);
	slist_foreach(iter, &http->listeners)
		http_listener_stop_listening(slist_container(HttpListener, node, iter.cur));
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
	http_end_streams(http);
	while (!slist_is_empty(&http->listeners))
		http_listener_free(slist_container(HttpListener, node, slist_pop_head_node(&http->listeners)));
	while (!slist_is_empty(&http->routes))
		pfree(slist_container(HttpRoutes, node, slist_pop_head_node(&http->routes)));
	while (!slist_is_empty(&http->refusals))
		pfree(slist_container(HttpRefusals, node, slist_pop_head_node(&http->refusals)));
	loop_timer_free(http->streams_idle);
	http_tls_free(http->tls);
	http_counts_free(http->counts);
	pfree(http);
}
