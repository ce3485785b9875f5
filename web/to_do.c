#include "base/port.h"

#include <jansson.h>
#include <microhttpd.h>

#include "base/json_member.h"
#include "base/log.h"
#include "pg/trouble.h"
#include "web/http_access.h"
#include "web/pool.h"
#include "web/to_do.h"

#define NAME_MAX_BYTES 250
#define TELL_AGAIN_US SECONDS_TO_US(60)

/* The sessions of a role, which stay when a reload takes its tokens away. */
typedef struct RolePool
{
	slist_node	node;
	char	   *role;
	Pool	   *pool;
} RolePool;

struct ToDo
{
	Loop	   *loop;
	const WebConfig *config;
	slist_head	pools;
	Trouble		trouble;		/* failures of calls, for the log */
	int64		missing_us;		/* last log line about the extension; 0: none */
};

/* A call that is being sent to the database. */
typedef struct Asking
{
	ToDo	   *to_do;
	HttpRequest *request;
	const PgStatement *statement;
	bool		has_identifier;
} Asking;

/* Parameter: a role. */
static const PgStatement take_role = {"take_role",
"SELECT pg_catalog.set_config('role', $1, true), " POOL_LIMITS};

/*
 * Parameters: the role, and then the name and the identifier, or null for all items.
 * A list has at most 1,000 items, and 1 MB unless the first one is larger.
 */
static const PgStatement read_to_do = {"read_to_do",
	"SELECT l.item FROM (SELECT j.item, pg_catalog.row_number() OVER w AS n,"
	" pg_catalog.sum(pg_catalog.octet_length(j.item)) OVER w AS bytes"
	" FROM (SELECT i.started, i.identifier, pg_catalog.json_build_object('identifier', i.identifier,"
	" 'read_model', i.read_model, 'started', i.started, 'expires', i.expires)::text AS item"
	" FROM twtasks.read_to_do($1::text, $2::text) i) j"
	" WINDOW w AS (ORDER BY j.started, j.identifier ROWS UNBOUNDED PRECEDING)) l"
	" WHERE l.n = 1 OR (l.n <= 1000 AND l.bytes <= 1048576) ORDER BY l.n",
.caller_logs = true, .before = &take_role, .extension = "twtasks_kinds", .answer = "T"};

/* Parameters: the role, and then the name, the identifier or null, and the data. */
static const PgStatement answer_to_do = {"answer_to_do",
	"SELECT a.result, a.outcome::text FROM twtasks.answer_to_do($1::text, $2::text, $3::text::jsonb) a",
.caller_logs = true, .before = &take_role, .extension = "twtasks_kinds", .answer = "1tt"};

enum
{
	ANSWER_RESULT,
	ANSWER_OUTCOME
};

/*
 * The answer to an SQLSTATE, or to a class of them.  A message of the database
 * may quote data of others, so clients never see it.
 */
typedef struct Refusal
{
	const char *state;
	int			status;
	bool		is_expected;	/* is a client's fault, so it is not logged */
	const char *word;
	const char *detail;
} Refusal;

static const Refusal refusals[] = {
	{"42501", MHD_HTTP_FORBIDDEN, .word = "forbidden", .detail = "The role of this token may not do that."},
	{"42704", MHD_HTTP_NOT_FOUND, true, "not_found", "There is no such item."},
	{"22023", MHD_HTTP_UNPROCESSABLE_CONTENT, true, "unprocessable", "The contract of the item, or its decide function, refuses this data."},
	{"22", MHD_HTTP_UNPROCESSABLE_CONTENT, .word = "unprocessable", .detail = "The database cannot work with this data."},
	{"", MHD_HTTP_INTERNAL_SERVER_ERROR, .word = "failed", .detail = "The database refused the request; the log of twtasks-web says why."},
};

/* ---- access ---- */

/* Returns the role to which the token belongs; NULL: none. */
static const char *
role_of(const ToDo *to_do, const char *authorization)
{
	const WebConfig *config = to_do->config;

	for (int i = 0; i < config->nto_do; i++)
		if (http_has_token(authorization, config->to_do[i]->tokens))
			return config->to_do[i]->role;
	return NULL;
}

static bool
admits(void *arg, const char *authorization)
{
	return role_of(arg, authorization) != NULL;
}

/* ---- answers ---- */

/* Returns the items as an array, or the only item; palloc'd. */
static char *
items_as_json(const PGresult *result, bool is_list)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, is_list ? "[" : "");
	for (int i = 0; i < PQntuples(result); i++)
		appendStringInfo(&json, "%s%s", i > 0 ? ",\n" : "", PQgetvalue(result, i, 0));
	appendStringInfoString(&json, is_list ? "]\n" : "\n");
	return json.data;
}

static void
answer_items(const Asking *asking, const PGresult *result)
{
	char	   *json;

	if (asking->has_identifier && PQntuples(result) == 0)
	{
		http_refuse(asking->request, MHD_HTTP_NOT_FOUND, "not_found", "There is no such open item.");
		return;
	}
	json = items_as_json(result, !asking->has_identifier);
	http_answer(asking->request, MHD_HTTP_OK, json);
	pfree(json);
}

/* The result is a word of answer_to_do(), which needs no escapes. */
static void
answer_outcome(const Asking *asking, const PGresult *result)
{
	const char *word = PQgetvalue(result, 0, ANSWER_RESULT);
	bool		is_decided = strcmp(word, "decided") == 0;
	const char *outcome = PQgetisnull(result, 0, ANSWER_OUTCOME) ? "null" :
		PQgetvalue(result, 0, ANSWER_OUTCOME);
	char	   *json = psprintf("{\"%s\":\"%s\",\"outcome\":%s%s}\n", is_decided ? "result" : "error",
								word, outcome, is_decided ? "" :
								",\"detail\":\"The item is no longer open; this answer changed nothing.\"");

	http_answer(asking->request, is_decided ? MHD_HTTP_OK : MHD_HTTP_CONFLICT, json);
	pfree(json);
}

/*
 * An error without a context comes from our own statement, and not from a
 * function that it calls.
 */
static bool
lacks_extension(const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	return (strcmp(state, "42883") == 0 || strcmp(state, "3F000") == 0) &&
		PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL;
}

static void
refuse_without_extension(const Asking *asking)
{
	ToDo	   *to_do = asking->to_do;
	int64		now = loop_now_us(to_do->loop);

	http_refuse(asking->request, MHD_HTTP_NOT_IMPLEMENTED, "not_installed",
				"The database does not have the extension twtasks_kinds.");
	if (to_do->missing_us != 0 && now - to_do->missing_us < TELL_AGAIN_US)
		return;
	log_line(TWT_LOG_ERROR, "to-do", "the database does not have the extension twtasks_kinds");
	to_do->missing_us = now;
}

static void
note_failed(const Asking *asking, const PGresult *result)
{
	ToDo	   *to_do = asking->to_do;

	if (result != NULL)
		trouble_failed(&to_do->trouble, loop_now_us(to_do->loop), asking->statement->name, result);
}

static void
refuse_failed(const Asking *asking, const PGresult *result)
{
	const char *state = pg_sqlstate(result);
	const Refusal *refusal = refusals;

	/* Names a kind that has no items, since readers bring no data. */
	if (asking->statement == &read_to_do && strcmp(state, "22023") == 0)
		state = "42704";
	if (lacks_extension(result))
	{
		refuse_without_extension(asking);
		return;
	}
	while (strncmp(refusal->state, state, strlen(refusal->state)) != 0)
		refusal++;
	if (!refusal->is_expected)
		note_failed(asking, result);
	http_refuse(asking->request, refusal->status, refusal->word, refusal->detail);
}

static void
on_result(void *arg, PoolOutcome outcome, PGresult *result, const char *why)
{
	Asking	   *asking = arg;

	switch (outcome)
	{
		case POOL_DONE:
			if (asking->statement == &read_to_do)
				answer_items(asking, result);
			else
				answer_outcome(asking, result);
			break;
		case POOL_LATER:
			note_failed(asking, result);
			http_refuse(asking->request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", why);
			break;
		case POOL_UNKNOWN:
			http_refuse(asking->request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
						asking->statement == &read_to_do ? "The database gave no answer." :
						"The database gave no answer; whether it stored the answer to the item is not known.");
			break;
		case POOL_FAILED:
			refuse_failed(asking, result);
			break;
	}
	pfree(asking);
}

/* ---- requests ---- */

static bool
is_text(const char *text)
{
	json_t	   *string = json_string(text);
	bool		is_utf8 = string != NULL;

	json_decref(string);
	for (const char *c = text; *c != '\0'; c++)
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			return false;
	return is_utf8 && strlen(text) <= NAME_MAX_BYTES;
}

static bool
is_json(const char *text, size_t len)
{
	json_t	   *data = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY |
								  JSON_DECODE_INT_AS_REAL, NULL);

	json_decref(data);
	return data != NULL;
}

/* Returns the fault of the request; NULL: none. */
static const char *
find_fault(const HttpRequest *request, const PgStatement *statement)
{
	size_t		len;
	const char *body = http_body(request, &len);

	if (!is_text(http_part(request, 0)) || !is_text(http_part(request, 1)))
		return "A name and an identifier have 1 to 250 bytes, and no control characters.";
	if (statement == &answer_to_do && json_flaw(body, len) != NULL)
		return "The body has a character that the database cannot store.";
	if (statement == &answer_to_do && !is_json(body, len))
		return "The body must be JSON, without repeated members.";
	return NULL;
}

static Pool *
pool_of(ToDo *to_do, const char *role)
{
	RolePool   *own;
	slist_iter	iter;

	slist_foreach(iter, &to_do->pools)
	{
		own = slist_container(RolePool, node, iter.cur);
		if (strcmp(own->role, role) == 0)
			return own->pool;
	}
	own = palloc0(sizeof(RolePool));
	own->role = pstrdup(role);
	own->pool = pool_new(to_do->loop, to_do->config->postgres, "to-do", to_do->config->sessions);
	slist_push_head(&to_do->pools, &own->node);
	return own->pool;
}

static void
ask(ToDo *to_do, HttpRequest *request, const PgStatement *statement)
{
	Asking	   *asking = palloc0(sizeof(Asking));
	const char *identifier = http_part(request, 1);
	const char *role = role_of(to_do, http_header(request, "Authorization"));
	WireParams	params;
	size_t		len;

	asking->to_do = to_do;
	asking->request = request;
	asking->statement = statement;
	asking->has_identifier = identifier[0] != '\0';
	wire_init(&params);
	wire_add_text(&params, role);
	wire_add_text(&params, http_part(request, 0));
	wire_add_text(&params, asking->has_identifier ? identifier : NULL);
	if (statement == &answer_to_do)
		wire_add_text(&params, http_body(request, &len));
	pool_send(pool_of(to_do, role), statement, &params, on_result, asking);
}

static void
serve(ToDo *to_do, HttpRequest *request, const PgStatement *statement)
{
	const char *fault = find_fault(request, statement);

	if (fault != NULL)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request", fault);
	else
		ask(to_do, request, statement);
}

static void
serve_read(void *arg, HttpRequest *request)
{
	serve(arg, request, &read_to_do);
}

static void
serve_answer(void *arg, HttpRequest *request)
{
	serve(arg, request, &answer_to_do);
}

static const HttpRoute routes[] = {
	{"GET", "/api/to-do/*", .serve = serve_read, .admits = admits},
	{"GET", "/api/to-do/*/*", .serve = serve_read, .admits = admits},
	{"POST", "/api/to-do/*", .serve = serve_answer, .admits = admits},
	{"POST", "/api/to-do/*/*", .serve = serve_answer, .admits = admits},
};

ToDo *
to_do_open(Loop *loop, const WebConfig *config, Http *http)
{
	ToDo	   *to_do = palloc0(sizeof(ToDo));

	to_do->loop = loop;
	to_do->config = config;
	slist_init(&to_do->pools);
	http_add_routes(http, routes, lengthof(routes), to_do);
	return to_do;
}

void
to_do_set_config(ToDo *to_do, const WebConfig *config)
{
	to_do->config = config;
}

const char *
to_do_trouble(const ToDo *to_do)
{
	slist_iter	iter;

	slist_foreach(iter, unconstify(slist_head *, &to_do->pools))
	{
		const char *trouble = pool_trouble(slist_container(RolePool, node, iter.cur)->pool);

		if (trouble != NULL)
			return trouble;
	}
	return NULL;
}

void
to_do_close(ToDo *to_do)
{
	while (!slist_is_empty(&to_do->pools))
	{
		RolePool   *own = slist_container(RolePool, node, slist_pop_head_node(&to_do->pools));

		pool_close(own->pool);
		pfree(own->role);
		pfree(own);
	}
	pfree(to_do);
}
