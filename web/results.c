/*-------------------------------------------------------------------------
 *
 * api.c
 *		What the sidecar's HTTP server serves: results, and how it is.
 *
 *		from: http.c			to: sql/run/finish_task.sql
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>
#include <microhttpd.h>

#include "web/results.h"
#include "base/log.h"
#include "base/text.h"
#include "common/trigger.h"
#include "common/version.h"
#include "execute/worker/worker_protocol.h"
#include "node/task_clock.h"
#include "pg/calls.h"

/* More than this at once are told to come again. */
#define CALLS_MAX 200

struct Api
{
	const Config *config;
	Pg		   *pg;
	ApiAsk		ask;
	void	   *arg;
};

/* A result on its way to the database. */
typedef struct Finishing
{
	HttpRequest *request;
	char		id[TASK_ID_TEXT + 1];
	int64		version;
} Finishing;

/* ---- health ---- */

static void
serve_health(void *arg, HttpRequest *request)
{
	Api		   *api = arg;
	ApiHealth	health = {0};
	const char *status;
	StringInfoData json;

	api->ask(api->arg, &health);
	status = health.trouble ? health.trouble : "ok";
	initStringInfo(&json);
	appendStringInfoString(&json, "{\"status\":\"");
	text_escape_json(&json, status, strlen(status), SIZE_MAX);
	appendStringInfoString(&json, "\",\"node\":\"");
	text_escape_json(&json, api->config->node, strlen(api->config->node), SIZE_MAX);
	appendStringInfo(&json, "\",\"version\":\"%s\",\"incarnation\":" INT64_FORMAT
					 ",\"leader\":%s,\"running\":%d}\n", TWT_VERSION, health.incarnation,
					 health.is_leader ? "true" : "false", health.running);
	http_answer(request, health.trouble ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, json.data);
	pfree(json.data);
}

/* ---- finish ---- */

static void
refuse_busy(HttpRequest *request, const char *detail)
{
	http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", detail);
}

/* What became of it, and of the task: one of the words of finish_task(). */
static void
answer_result(const Finishing *finishing, const PGresult *result)
{
	const char *word = PQgetvalue(result, 0, FINISHED_RESULT);
	bool		is_changed = strcmp(word, "changed") == 0;
	StringInfoData json;

	if (strcmp(word, "not_found") == 0)
	{
		http_refuse(finishing->request, MHD_HTTP_NOT_FOUND, "not_found", "There is no such task.");
		return;
	}
	initStringInfo(&json);
	appendStringInfo(&json, "{\"%s\":\"%s\",\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"status\":\"%s\"",
					 is_changed ? "result" : "error", word, finishing->id,
					 wire_get_int8(result, 0, FINISHED_VERSION),
					 PQgetvalue(result, 0, FINISHED_STATUS));
	if (!is_changed)
		appendStringInfo(&json, ",\"detail\":\"The task is %s in version " INT64_FORMAT
						 ", the request named version " INT64_FORMAT ".\"",
						 PQgetvalue(result, 0, FINISHED_STATUS),
						 wire_get_int8(result, 0, FINISHED_VERSION), finishing->version);
	appendStringInfoString(&json, "}\n");
	http_answer(finishing->request, is_changed ? MHD_HTTP_OK : MHD_HTTP_CONFLICT, json.data);
	pfree(json.data);
}

static void
on_finished(void *arg, PgOutcome outcome, PGresult *result)
{
	Finishing  *finishing = arg;

	switch (outcome)
	{
		case PG_DONE:
			answer_result(finishing, result);
			break;
		case PG_LOST:
			refuse_busy(finishing->request,
						"The database went away; whether the result was stored is not known.");
			break;
		case PG_FAILED:
			http_refuse(finishing->request, MHD_HTTP_INTERNAL_SERVER_ERROR, "failed",
						"The database refused the result; the sidecar's log says why.");
			break;
	}
	pfree(finishing);
}

/* What is wrong with the request (palloc'd); NULL: nothing. */
static char *
read_result(const json_t *object, int64 *version, WorkerReply *reply)
{
	const json_t *number = json_object_get(object, "version");
	char	   *error;

	reply->message = NULL;
	if (!json_is_object(object))
		return pstrdup("the body is no JSON object");
	if (!json_is_integer(number))
		return pstrdup("member \"version\" is missing or no integer");
	*version = json_integer_value(number);
	error = worker_protocol_decode_outcome(object, reply);
	if (error == NULL &&
		(reply->result == TASK_ACCEPTED || reply->result == TASK_CANCELLED))
		error = psprintf("result \"%s\" does not finish a task", task_result_name(reply->result));
	return error;
}

static int64
delay_of(const WorkerReply *reply)
{
	if (reply->at_us == WORKER_NO_TIME)
		return Max(reply->delay_us, 0);
	return Max(reply->at_us - task_clock_us(), 0);
}

static void
send_result(Api *api, Finishing *finishing, const WorkerReply *reply)
{
	WireParams	params;

	wire_init(&params);
	wire_add_text(&params, finishing->id);
	wire_add_int8(&params, finishing->version);
	wire_add_text(&params, task_result_name(reply->result));
	wire_add_text(&params, reply->message);
	wire_add_int8(&params, delay_of(reply));
	pg_send(api->pg, &call_finish_task, &params, on_finished, finishing);
}

static void
serve_finish(void *arg, HttpRequest *request)
{
	Api		   *api = arg;
	uint8		id[TASK_ID_BYTES];
	WorkerReply reply;
	int64		version = 0;
	size_t		len;
	const char *body = http_body(request, &len);
	const char *part = http_part(request, 0);
	json_t	   *object = json_loadb(body, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	char	   *error = read_result(object, &version, &reply);

	json_decref(object);
	if (error == NULL &&
		(strlen(part) != TASK_ID_TEXT || !trigger_id_parse(part, id)))
		error = pstrdup("the path names no task id");
	if (error != NULL)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request", error);
	else if (!pg_is_up(api->pg))
		refuse_busy(request, "The database is away.");
	else if (pg_in_flight(api->pg) >= CALLS_MAX)
		refuse_busy(request, "Too many results are on their way.");
	else
	{
		Finishing  *finishing = palloc0(sizeof(Finishing));

		finishing->request = request;
		finishing->version = version;
		strlcpy(finishing->id, part, sizeof(finishing->id));
		send_result(api, finishing, &reply);
	}
	pfree(error);
	pfree(reply.message);
}

static const HttpRoute routes[] = {
	{"GET", "/health", .is_open = true, .serve = serve_health},
	{"POST", "/api/tasks/*/finish", .serve = serve_finish},
};

Api *
api_open(Loop *loop, const Config *config, Http *http, ApiAsk ask, void *arg)
{
	Api		   *api = palloc0(sizeof(Api));

	api->config = config;
	api->ask = ask;
	api->arg = arg;
	api->pg = pg_new(loop, config->postgres, "api", NULL, NULL);
	pg_start(api->pg);
	http_add_routes(http, routes, lengthof(routes), api);
	return api;
}

void
api_close(Api *api)
{
	pg_close(api->pg);
	pfree(api);
}
