/*-------------------------------------------------------------------------
 *
 * fuzz_api.c
 *		Parameters of the management API, of each route, and paths and hosts of twtasks-web.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "input.h"
#include "web/api/api_params.h"
#include "web/http_access.h"
#include "web/http_path.h"
#include "web/peer.h"

/* In place of the server's request: all its parts are texts of the input. */
struct HttpRequest
{
	char	   *part;
	HttpQuery	query;
	char	   *if_match;
	char	   *body;
	size_t		len;
};

const char *
http_part(const HttpRequest *request, int n)
{
	return n == 0 ? request->part : "";
}

bool
http_each_query(const HttpRequest *request, bool (*fn) (void *arg, const char *name, const char *value), void *arg)
{
	for (int i = 0; i < request->query.n; i++)
		if (!fn(arg, request->query.pairs[i].name, request->query.pairs[i].value))
			return false;
	return true;
}

const char *
http_header(const HttpRequest *request, const char *name)
{
	return request->if_match;
}

const char *
http_body(const HttpRequest *request, size_t *len)
{
	*len = request->len;
	return request->body;
}

/* ---- parameters ---- */

static const ApiRoute *
route_at(int n)
{
	for (int t = 0; api_tables[t] != NULL; n -= api_tables[t++]->n)
		if (n < api_tables[t]->n)
			return &api_tables[t]->routes[n];
	return NULL;
}

static int
count_routes(void)
{
	int			n = 0;

	while (route_at(n) != NULL)
		n++;
	return n;
}

/* The database gets text that it takes, and JSON where it wants JSON. */
static void
check_value(const ApiParam *param, const char *value)
{
	if (value == NULL || param->from == API_SELF)
		return;
	must(text_is_utf8(value, strlen(value)), "a parameter is UTF-8", value);
	if (param->type == API_JSON || param->type == API_NUMBER)
		must(is_json(value), "a parameter is JSON", value);
	if (param->type == API_UUID)
		must(strlen(value) == 36, "a UUID has its usual form", value);
	if (param->type == API_WORDS || param->type == API_UUIDS)
		must(value[0] == '{' && value[strlen(value) - 1] == '}', "a list is an array", value);
}

static void
read_params(const ApiRoute *route, const HttpRequest *request)
{
	ApiValues	values;
	char	   *detail;
	const Problem *problem = api_params_read(route, request, &values, &detail);

	must(problem != NULL || detail == NULL, "parameters without a problem have no detail", detail);
	for (int i = 0; problem == NULL && i < values.n; i++)
		check_value(&route->params[i], values.values[i]);
	if (problem != NULL)
		pfree(problem_text(problem, detail, NULL));
	pfree(detail);
	api_values_clear(&values);
}

/* ---- paths, hosts and peers ---- */

static void
read_path(const char *path)
{
	static const char *const patterns[] = {"/api/v1/tasks/*", "/api/v1/tasks/*/why", "/*/*", "/*", "/", "*"};
	HttpParts	parts = {.n = 0};

	if (!http_path_is_encoded(path))
		return;
	for (int i = 0; i < (int) lengthof(patterns); i++)
		if (http_path_match(patterns[i], path, &parts))
			for (int n = 0; n < parts.n; n++)
				must(strlen(parts.parts[n]) <= strlen(path), "a part is not longer than its path", path);
	http_parts_free(&parts);
}

static void
read_host(const char *host, const char *origin)
{
	char	   *own = psprintf("https://%s", host);

	must(http_is_our_origin(own, host), "a page of a host is its own", host);
	(void) http_is_our_origin(origin, host);

	/*
	 * A browser takes a name whose last part is a number for an address, or
	 * for nothing.
	 */
	must(!http_is_our_host(host) || host[0] == '[' || pg_strncasecmp(host, "localhost", 9) == 0 || strspn(host, "0123456789.") >= strcspn(host, ":"), "our host is an address or localhost", host);
	pfree(own);
}

static void
read_peer(const char *text)
{
	PeerNetwork network;

	if (peer_parse(text, &network) == NULL)
		must(network.bits >= 0 && network.bits <= 128 && peer_is_in(&network.address, &network), "a network has its own address", text);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	const ApiRoute *route = route_at(input_choice(&input, count_routes()));
	HttpRequest request = {0};
	char	   *name;
	char	   *value;

	request.part = input_text(&input);
	name = input_text(&input);
	value = input_text(&input);
	http_query_add(&request.query, name, value);
	request.if_match = input_text(&input);
	request.body = input_bytes(&input, &request.len);
	read_params(route, &request);
	read_path(request.part);
	read_host(name, value);
	read_peer(value);
	http_query_free(&request.query);
	pfree(request.part);
	pfree(name);
	pfree(value);
	pfree(request.if_match);
	pfree(request.body);
	return 0;
}
