#include "base/port.h"

#include <jansson.h>
#include <microhttpd.h>

#include "common/hashfn.h"
#include "common/version.h"
#include "web/api/api_sql.h"
#include "web/api/openapi.h"
#include "web/api/openapi_params.h"
#include "web/api/problem.h"

struct OpenApi
{
	HttpShared *text;
	char		etag[24];
};

/* A status that routes answer; NULL at the end of the list. */
typedef struct Answer
{
	int			status;
	const char *name;			/* response in components */
	const char *help;
	bool		is_of_reads;
	bool		is_of_changes;
} Answer;

static const Answer answers[] = {
	{400, "BadRequest", "A parameter is missing, unknown or wrong.", true, true},
	{401, "Unauthorized", "Nobody is logged in.", true, true},
	{403, "Forbidden", "The person may not do that.", true, true},
	{404, "NotFound", "There is no such object.", true, true},
	{409, "Conflict", "The object, or others, do not allow that now; nothing has changed.", false, true},
	{413, "TooLarge", "The request has more than 256 kB.", true, true},
	{414, "LongAddress", "The address is too long for the server.", true, true},
	{415, "NoJson", "The body is not application/json.", true, true},
	{421, "Misdirected", "The header Host names another server.", true, true},
	{422, "Unprocessable", "The database cannot work with these values.", true, true},
	{428, "NoVersion", "The change names no version.", false, true},
	{429, "TooMany", "Too many requests had a wrong token.", true, true},
	{431, "LongHeaders", "The headers are too long for the server.", true, true},
	{500, "Failed", "The database refused the request; the log of twtasks-web says why.", true, true},
	{501, "NotInstalled", "The database lacks an extension that the route needs.", true, true},
	{503, "Unavailable", "The database gives no answer now, or not in time.", true, true},
};

static const char *const roles[API_ROLES] = {"open", "any", "viewer", "operator", "payload"};

/* ---- responses ---- */

static bool
is_read(const ApiRoute *route)
{
	return strcmp(route->method, "GET") == 0;
}

static json_t *
reference(const char *kind, const char *name)
{
	json_t	   *target = json_sprintf("#/components/%s/%s", kind, name);

	return json_pack("{s:o}", "$ref", target);
}

static json_t *
content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

static void
set_status(json_t *responses, int status, json_t *response)
{
	char		key[16];

	snprintf(key, sizeof(key), "%d", status);
	(void) json_object_set_new(responses, key, response);
}

static json_t *
success(const ApiRoute *route)
{
	return json_pack("{s:s,s:o}", "description", route->help, "content",
					 route->is_stream ? content("text/event-stream", json_pack("{s:s}", "type", "string")) :
					 content("application/json", reference("schemas", route->schema)));
}

static json_t *
responses_of(const ApiRoute *route)
{
	json_t	   *responses = json_object();

	set_status(responses, route->creates ? MHD_HTTP_CREATED : MHD_HTTP_OK, success(route));
	if (is_read(route) && !route->is_stream)
		set_status(responses, MHD_HTTP_NOT_MODIFIED, reference("responses", "NotModified"));
	for (size_t i = 0; i < lengthof(answers); i++)
		if (is_read(route) ? answers[i].is_of_reads : answers[i].is_of_changes)
			set_status(responses, answers[i].status, reference("responses", answers[i].name));
	return responses;
}

/* The types of problems with that status, which the docs page lists. */
static json_t *
problems_of(int status)
{
	json_t	   *types = json_object();

	for (int i = 0; problem_at(i) != NULL; i++)
		if (problem_at(i)->status == status && json_object_get(types, problem_at(i)->type) == NULL)
			(void) json_object_set_new(types, problem_at(i)->type, json_string(problem_at(i)->title));
	return types;
}

/* libmicrohttpd answers what it cannot read, without a problem. */
static bool
is_unread(int status)
{
	return status == MHD_HTTP_URI_TOO_LONG || status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
}

static json_t *
refusal(const Answer *answer)
{
	json_t	   *response = json_pack("{s:s,s:o}", "description", answer->help,
									 "x-problems", problems_of(answer->status));

	if (!is_unread(answer->status))
		(void) json_object_set_new(response, "content",
								   content(PROBLEM_CONTENT_TYPE, reference("schemas", "Problem")));
	return response;
}

static json_t *
all_responses(void)
{
	json_t	   *all = json_pack("{s:{s:s}}", "NotModified", "description", "The client has this answer.");

	for (size_t i = 0; i < lengthof(answers); i++)
		(void) json_object_set_new(all, answers[i].name, refusal(&answers[i]));
	return all;
}

/* ---- paths ---- */

static json_t *
operation_of(const ApiRoute *route)
{
	json_t	   *operation = json_pack("{s:s,s:s,s:s,s:f,s:o,s:o}", "operationId", route->name, "summary", route->help,
									  "x-role", roles[route->role], "x-seconds", route->cache_us / 1e6, "parameters", openapi_parameters(route),
									  "responses", responses_of(route));
	json_t	   *body = openapi_body(route);

	if (body != NULL)
		(void) json_object_set_new(operation, "requestBody", body);
	return operation;
}

/* The methods of a path have an object together. */
static void
add_route(json_t *paths, const ApiRoute *route)
{
	json_t	   *path = json_object_get(paths, route->path);
	char	   *method = pstrdup(route->method);

	if (path == NULL)
	{
		path = json_object();
		(void) json_object_set_new(paths, route->path, path);
	}
	for (char *c = method; *c != '\0'; c++)
		*c = pg_tolower((unsigned char) *c);
	(void) json_object_set_new(path, method, operation_of(route));
	pfree(method);
}

static json_t *
all_paths(void)
{
	json_t	   *paths = json_object();

	for (int t = 0; api_tables[t] != NULL; t++)
		for (int i = 0; i < api_tables[t]->n; i++)
			add_route(paths, &api_tables[t]->routes[i]);
	return paths;
}

/* ---- the whole ---- */

static json_t *
describe(void)
{
	json_t	   *ways = json_pack("{s:{s:s,s:s}}", "bearer", "type", "http", "scheme", "bearer");
	json_t	   *components = json_pack("{s:o,s:o,s:o}", "schemas", api_schemas(), "responses", all_responses(),
									   "securitySchemes", ways);

	return json_pack("{s:s,s:{s:s,s:s,s:s},s:[{s:s}],s:[{s:[]},{}],s:o,s:o}", "openapi", "3.1.0",
					 "info", "title", "twtasks", "version", TWT_VERSION,
					 "description", "The management API of twtasks-web.",
					 "servers", "url", "../v1", "security", "bearer", "paths", all_paths(), "components", components);
}

char *
openapi_text(void)
{
	json_t	   *description = describe();
	char	   *text = json_dumps(description, JSON_INDENT(1));
	char	   *copy = psprintf("%s\n", text);

	free(text);
	json_decref(description);
	return copy;
}

static void
serve(void *arg, HttpRequest *request)
{
	const OpenApi *openapi = arg;
	HttpAnswer	head = {.status = MHD_HTTP_OK, .etag = openapi->etag, .cache_control = "no-cache"};

	http_answer_shared(request, &head, openapi->text);
}

static void
admit(void *arg, HttpRequest *request)
{
}

static const HttpRoute routes[] = {
	{"GET", API_ROOT "/openapi.json", .is_open = true, .serve = serve, .judge = admit},
};

OpenApi *
openapi_open(Http *http)
{
	OpenApi    *openapi = palloc0(sizeof(OpenApi));
	char	   *text = openapi_text();

	openapi->text = http_share(text, strlen(text));
	snprintf(openapi->etag, sizeof(openapi->etag), "\"%016" INT64_MODIFIER "x\"",
			 hash_bytes_extended((const unsigned char *) text, (int) strlen(text), 0));
	pfree(text);
	http_add_routes(http, routes, lengthof(routes), openapi);
	return openapi;
}

void
openapi_close(OpenApi *openapi)
{
	http_unshare(openapi->text);
	pfree(openapi);
}
