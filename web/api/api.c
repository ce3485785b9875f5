/*-------------------------------------------------------------------------
 *
 * api.c
 *		The management API: requests on their way to the database and back.
 *
 *	 a request is	by
 *	 judged			the person, and the role that the route wants
 *	 read			its parameters: api_params.h
 *	 answered		an answer in memory: api_cache.h; or
 *	 asking			its statement, perhaps with another one before it
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <microhttpd.h>

#include "base/prometheus.h"
#include "base/text.h"
#include "pg/trouble.h"
#include "web/api/api.h"
#include "web/api/api_cache.h"
#include "web/api/api_params.h"
#include "web/api/api_self.h"
#include "web/api/api_sql.h"
#include "web/api/api_stream.h"
#include "web/api/openapi.h"
#include "web/pool.h"

/* A route that serves. */
typedef struct Served
{
	Api		   *api;
	const ApiRoute *route;
	HttpRoute	http;
	PgStatement first;			/* no SQL: there is none */
	PgStatement statement;
	PgStatement alone;			/* no SQL: the same */
} Served;

struct Api
{
	Loop	   *loop;
	const ManageConfig *config;
	const Persons *persons;
	Pool	   *reads;
	Pool	   *writes;
	ApiCache   *cache;
	ApiStreams *streams;
	struct Served *watching;	/* its statement is a look for all streams */
	Trouble		trouble;		/* failures of calls, for the log */
	Served	   *served;
	int			nserved;
	OpenApi    *openapi;
};

/* A request that is being sent to the database. */
typedef struct Asking
{
	Served	   *served;
	HttpRequest *request;		/* NULL: the answer is for the entry, or for
								 * all streams */
	ApiEntry   *entry;
	char	   *role;			/* role of the database */
	char	   *setting;		/* the parameter of set_up */
	ApiValues	values;
} Asking;

/*
 * Parameter: an object with the role, the person, the time limit, and whether the
 * transaction is read only.  The role comes first, so it must allow all others.
 */
static const PgStatement set_up = {"set_up",
	"SELECT pg_catalog.set_config('role', s.role, true), " POOL_LIMITS ","
	" pg_catalog.set_config('statement_timeout', s.timeout, true),"
	" pg_catalog.set_config('twtasks.on_behalf_of', s.person, true),"
	" pg_catalog.set_config('TimeZone', 'UTC', true),"
	" pg_catalog.set_config('DateStyle', 'ISO, YMD', true),"
	" pg_catalog.set_config('IntervalStyle', 'postgres', true),"
	" pg_catalog.set_config('transaction_read_only', s.read_only, true)"
	" FROM pg_catalog.json_to_record($1::pg_catalog.json) s(role pg_catalog.text, person pg_catalog.text,"
" timeout pg_catalog.text, read_only pg_catalog.text)", .takes_text = true};

/* Returns the role of the database; NULL: the person may not ask. */
static const char *
role_of(const Person *person, const ApiRoute *route)
{
	const char *role = person->role[route->role];

	for (int i = 0; route->role == API_ANY && role == NULL && i < API_ROLES; i++)
		role = person->role[i];
	return role;
}

static bool
is_read(const ApiRoute *route)
{
	return strcmp(route->method, "GET") == 0;
}

static Pool *
pool_of(const Served *served)
{
	return is_read(served->route) ? served->api->reads : served->api->writes;
}

/* ---- answers ---- */

static void
free_asking(Asking *asking)
{
	api_values_clear(&asking->values);
	pfree(asking->role);
	pfree(asking->setting);
	pfree(asking);
}

/*
 * size: see api_cache_settle().  A person who asked for a change must find it in the
 * next answer, also where it is not known whether it was made.
 */
static void
end_asking(Asking *asking, ApiAnswer *answer, int64 size)
{
	if (!is_read(asking->served->route))
		api_cache_forget(asking->served->api->cache, NULL);
	if (asking->entry != NULL)
		api_cache_settle(asking->entry, answer, size);
	else
	{
		if (asking->request != NULL)
			api_answer_send(answer, asking->request);
		else
			api_streams_fail(asking->served->api->streams, answer);
		api_answer_free(answer);
	}
	free_asking(asking);
}

static void
end_with_problem(Asking *asking, const Problem *problem, const char *detail)
{
	end_asking(asking, api_answer_problem(problem, detail, NULL), -1);
}

/* A statement that was cancelled for its time fails "later" as well. */
static void
end_failed(Asking *asking, const PGresult *result, const char *why)
{
	const Served *served = asking->served;
	const Problem *problem = problem_of_result(result, is_read(served->route));
	bool		is_passing = why != NULL && problem == problem_of("failed");

	if (is_passing)
		problem = problem_of("unavailable");
	if (result == NULL)
		persons_lack_role(served->api->persons, asking->role, pool_login(pool_of(served)));
	if (result != NULL && (problem->is_logged || is_passing))
		trouble_failed(&served->api->trouble, loop_now_us(served->api->loop),
					   served->route->name, result);
	end_with_problem(asking, problem, is_passing ? why : NULL);
}

static void
end_unknown(Asking *asking)
{
	end_with_problem(asking, problem_of("unavailable"), is_read(asking->served->route) ? NULL :
					 "The database gave no answer; whether it made the change is not known.");
}

/* Returns false after it has ended the asking, unless there is a result. */
static bool
has_result(Asking *asking, PoolOutcome outcome, const PGresult *result, const char *why)
{
	if (outcome == POOL_DONE)
		return true;
	if (outcome == POOL_UNKNOWN)
		end_unknown(asking);
	else if (outcome == POOL_LATER && result == NULL)
		end_with_problem(asking, problem_of("unavailable"), why);
	else
		end_failed(asking, result, why);
	return false;
}

static void
on_result(void *arg, PoolOutcome outcome, PGresult *result, const char *why)
{
	Asking	   *asking = arg;
	ApiAnswer  *answer;

	if (!has_result(asking, outcome, result, why))
		return;
	if (asking->served->route->is_stream)
	{
		api_streams_take(asking->served->api->streams, result);
		free_asking(asking);
		return;
	}
	answer = api_answer_of_result(asking->served->route, result);
	end_asking(asking, answer, answer->type == NULL ? PQgetlength(result, 0, PQfnumber(result, "body")) : -1);
}

/* ---- calls ---- */

/* more: one more parameter; NULL: none. */
static void
send_call(Asking *asking, const PgStatement *statement, const char *more, PoolResultFn fn)
{
	WireParams	params;

	wire_init(&params);
	wire_add_text(&params, asking->setting);
	for (int i = 0; i < asking->values.n; i++)
		wire_add_text(&params, asking->values.values[i]);
	if (more != NULL)
		wire_add_text(&params, more);
	pool_send(pool_of(asking->served), statement, &params, fn, asking);
}

static void
on_first(void *arg, PoolOutcome outcome, PGresult *result, const char *why)
{
	Asking	   *asking = arg;

	if (!has_result(asking, outcome, result, why))
		return;
	if (PQntuples(result) == 0)
		end_with_problem(asking, problem_of("not_found"), NULL);
	else
		send_call(asking, &asking->served->statement, PQgetvalue(result, 0, 0), on_result);
}

static char *
make_setting(const Served *served, const Person *person)
{
	StringInfoData out;
	bool		reads = is_read(served->route);
	const char *role = role_of(person, served->route);

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"role\":\"");
	text_escape_json(&out, role, strlen(role), SIZE_MAX);
	appendStringInfo(&out, "\",\"timeout\":\"%s\",\"read_only\":\"%s\",\"person\":\"",
					 reads ? "2s" : "10s", reads ? "on" : "off");
	text_escape_json(&out, person->name, strlen(person->name), SIZE_MAX);
	appendStringInfoString(&out, "\"}");
	return out.data;
}

static void
ask(Served *served, HttpRequest *request, ApiEntry *entry, const Person *person, ApiValues *values)
{
	Asking	   *asking = palloc0(sizeof(Asking));

	asking->served = served;
	asking->request = request;
	asking->entry = entry;
	asking->role = pstrdup(role_of(person, served->route));
	asking->setting = make_setting(served, person);
	asking->values = *values;
	values->n = 0;
	if (served->alone.sql != NULL && person->role[API_VIEWER] == NULL)
		send_call(asking, &served->alone, NULL, on_result);
	else if (served->first.sql != NULL)
		send_call(asking, &served->first, NULL, on_first);
	else
		send_call(asking, &served->statement, NULL, on_result);
}

/* ---- requests ---- */

/* A key of the answer, palloc'd: equal keys have equal answers. */
static char *
make_key(const Served *served, const char *role, const ApiValues *values)
{
	StringInfoData key;

	initStringInfo(&key);
	appendStringInfo(&key, "%s %s", served->route->name, role);
	for (int i = 0; i < values->n; i++)
		if (values->values[i] == NULL)
			appendStringInfoString(&key, " -");
		else
			appendStringInfo(&key, " %zu:%s", strlen(values->values[i]), values->values[i]);
	return key.data;
}

static void
answer_from_memory(Served *served, HttpRequest *request, const Person *person, ApiValues *values)
{
	char	   *key = make_key(served, role_of(person, served->route), values);
	ApiEntry   *entry = api_cache_ask(served->api->cache, key, served->route, request);

	if (entry != NULL)
		ask(served, NULL, entry, person, values);
	pfree(key);
}

/* A client that has changed something by SQL can ask for an answer of after that. */
static bool
may_have_from_memory(const Served *served, const HttpRequest *request)
{
	const char *control = http_header(request, "Cache-Control");

	return served->route->cache_us > 0 && (control == NULL || strstr(control, "no-cache") == NULL);
}

/* See ApiStreamLook.  The server itself asks, as a viewer. */
static void
look(void *arg, const char *ids, const char *ended)
{
	Api		   *api = arg;
	char	   *roles[] = {"viewer", NULL};
	Person		person = {.name = "twtasks-web"};
	ApiValues	values = {.n = 2, .values = {pstrdup(ids), pstrdup(ended)}};

	person_add_roles(&person, roles);
	ask(api->watching, NULL, NULL, &person, &values);
}

/* Returns NULL after an answer, if the person is not known or may not ask. */
static const Person *
judge_person(const Served *served, HttpRequest *request)
{
	const PersonRefusal *refusal;
	const Person *person = persons_judge(served->api->persons, request, &refusal);

	if (person == NULL)
		api_refuse(request, refusal->status, refusal->word, refusal->detail);
	else if (role_of(person, served->route) == NULL)
		api_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden", NULL);
	else
		return person;
	return NULL;
}

static void
judge(void *arg, HttpRequest *request)
{
	(void) judge_person(arg, request);
}

static void
serve(void *arg, HttpRequest *request)
{
	Served	   *served = arg;
	const Person *person = judge_person(served, request);
	ApiValues	values;
	char	   *detail;
	const Problem *problem;

	if (person == NULL)
		return;
	problem = api_params_read(served->route, request, &values, &detail);
	if (problem != NULL)
	{
		api_refuse(request, problem->status, problem->word, detail);
		pfree(detail);
	}
	else
	{
		api_self_fill(served->route, served->api->config, person, &values);
		if (served->route->is_stream)
			api_streams_open(served->api->streams, request, person->name, values.values[0]);
		else if (may_have_from_memory(served, request))
			answer_from_memory(served, request, person, &values);
		else
			ask(served, request, NULL, person, &values);
	}
	api_values_clear(&values);
}

/* ---- the whole ---- */

static PgStatement
make_statement(const char *name)
{
	return (PgStatement)
	{
		.name = name, .sql = name == NULL ? NULL : api_sql(name), .caller_logs = true, .takes_text = true, .before = &set_up
	};
}

/* See send_call(). */
StaticAssertDecl(API_PARAMS_MAX + 2 <= WIRE_MAX_PARAMS, "a call has the setting and one value more");

static void
add_route(Api *api, Served *served, const ApiRoute *route, Http *http)
{
	Assert(route->nparams <= API_PARAMS_MAX);
	served->api = api;
	served->route = route;
	served->first = make_statement(route->first);
	served->statement = make_statement(route->name);
	served->alone = make_statement(route->alone);
	served->statement.extension = route->extension;
	if (route->is_stream)
	{
		api->watching = served;
		served->statement.answer = API_STREAM_ANSWER;
	}
	served->http = (HttpRoute)
	{
		.method = route->method, .path = api_route_pattern(route), .serve = serve, .judge = judge
	};
	http_add_routes(http, &served->http, 1, served);
}

static void
add_routes(Api *api, Http *http)
{
	int			n = 0;

	for (int t = 0; api_tables[t] != NULL; t++)
		api->nserved += api_tables[t]->n;
	api->served = palloc0(api->nserved * sizeof(Served));
	for (int t = 0; api_tables[t] != NULL; t++)
		for (int i = 0; i < api_tables[t]->n; i++)
			add_route(api, &api->served[n++], &api_tables[t]->routes[i], http);
}

/* People who look must learn that the database is away, and not see what was before. */
static void
on_loss(void *arg)
{
	Api		   *api = arg;

	api_cache_forget(api->cache, NULL);
}

Api *
api_open(Loop *loop, const char *postgres, const ManageConfig *config, const Persons *persons, Http *http)
{
	Api		   *api = palloc0(sizeof(Api));
	const char *reads = config->read_postgres != NULL ? config->read_postgres : postgres;

	api->loop = loop;
	api->config = config;
	api->persons = persons;
	api->reads = pool_new(loop, reads, "read", config->sessions);
	api->writes = pool_new(loop, postgres, "change", config->sessions);
	api->cache = api_cache_new(loop);
	pool_on_loss(api->reads, on_loss, api);
	api->streams = api_streams_new(loop, api->cache, look, api);
	http_set_refusal(http, API_ROOT, api_refuse);
	add_routes(api, http);
	api->openapi = openapi_open(http);
	return api;
}

void
api_set_config(Api *api, const ManageConfig *config)
{
	api->config = config;
}

static void
write_count(StringInfo out, const char *name, const char *help, int64 value)
{
	prometheus_begin(out, name, strstr(name, "total") != NULL ? "counter" : "gauge", help);
	prometheus_sample(out, name, NULL, value);
}

void
api_write_counts(const Api *api, StringInfo out)
{
	ApiCacheCounts counts = api_cache_counts(api->cache);

	write_count(out, "web_memory_hits_total", "Requests answered from memory.", counts.hits);
	write_count(out, "web_memory_joined_total", "Requests that waited for an answer which another one had asked for.", counts.joined);
	write_count(out, "web_memory_computed_total", "Answers that the database computed for memory.", counts.computed);
	write_count(out, "web_memory_answers", "Answers in memory.", counts.entries);
	write_count(out, "web_memory_bytes", "Bytes of the answers in memory.", counts.bytes);
	write_count(out, "web_streams", "Clients that are told of changes, by GET /api/v1/stream.", api_streams_count(api->streams));
}

void
api_stop(Api *api)
{
	ApiAnswer  *problem = api_answer_problem(problem_of("unavailable"), "The server stops.", NULL);

	pool_close(api->reads);
	pool_close(api->writes);
	api_streams_fail(api->streams, problem);
	api_answer_free(problem);
	api_cache_free(api->cache);
}

void
api_close(Api *api)
{
	openapi_close(api->openapi);
	api_streams_free(api->streams);
	for (int i = 0; i < api->nserved; i++)
		pfree(unconstify(char *, api->served[i].http.path));
	pfree(api->served);
	pfree(api);
}
