#include "base/port.h"

#include <jansson.h>
#include <microhttpd.h>

#include "common/trigger.h"
#include "protocol/worker_protocol.h"
#include "pg/lacking.h"
#include "pg/misfit.h"
#include "web/pool.h"
#include "web/results.h"

struct Results
{
	Pool	   *pool;
};

/* A result that is being sent to the database. */
typedef struct Finishing
{
	Results    *results;
	HttpRequest *request;
	WorkerReply reply;
	int			nreplaced;		/* calls of lacking_replace() */
	char		id[TASK_ID_TEXT + 1];
	int64		version;
} Finishing;

/* Parameter: any text.  finish_task() calls functions of users. */
static const PgStatement limits = {"limits", "SELECT $1::pg_catalog.text, " POOL_LIMITS};

/*
 * Parameters: one for the limits, and then id, version, result, message, delay
 * and time, in microseconds.  The database's clock turns the time into a delay.
 */
static const PgStatement finish_task = {"finish_task",
	"SELECT f.result, f.version, f.status::text FROM twtasks.finish_task("
	"$1::text::uuid, $2::int8, $3::text, $4::text, GREATEST($5::int8 * interval '1 microsecond', "
	"timestamptz 'epoch' + $6::int8 * interval '1 microsecond' - twtasks.clock()), "
"$7::text::jsonb, $8::text::jsonb) f", .before = &limits, .answer = "1tit"};

enum
{
	FINISHED_RESULT,
	FINISHED_VERSION,
	FINISHED_STATUS
};

const char *
results_trouble(const Results *results)
{
	return pool_is_up(results->pool) ? pool_trouble(results->pool) : "no database";
}

/* ---- finish ---- */

static void
refuse_busy(HttpRequest *request, const char *detail)
{
	http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", detail);
}

/* Answers with the result of finish_task() and the status of the task. */
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
					 wire_get_int(result, 0, FINISHED_VERSION),
					 PQgetvalue(result, 0, FINISHED_STATUS));
	if (!is_changed)
		appendStringInfo(&json, ",\"detail\":\"The task is %s in version " INT64_FORMAT
						 ", the request named version " INT64_FORMAT ".\"",
						 PQgetvalue(result, 0, FINISHED_STATUS),
						 wire_get_int(result, 0, FINISHED_VERSION), finishing->version);
	appendStringInfoString(&json, "}\n");
	http_answer(finishing->request, is_changed ? MHD_HTTP_OK : MHD_HTTP_CONFLICT, json.data);
	pfree(json.data);
}

/*
 * A message of the database may quote data of others, so clients never see it.
 * The log has it.
 */
static void
refuse_failed(HttpRequest *request, const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	if (strncmp(state, "22", 2) == 0)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
					"The database cannot store this result, or add its tasks; the log of twtasks-web says why.");
	else if (misfit_is_denied(result))
		refuse_busy(request, "The role of twtasks-web may not finish tasks; the log of twtasks-web says what helps.");
	else if (strcmp(state, "42501") == 0)
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request",
					"The role of twtasks-web may not add these tasks; the log of twtasks-web says why.");
	else if (misfit_is(result))
		refuse_busy(request, "The extension does not fit this program; the log of twtasks-web says why.");
	else
		http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "failed",
					"The database refused the result; the log of twtasks-web says why.");
}

static void send_result(Finishing *finishing);

static void
on_finished(void *arg, PoolOutcome outcome, PGresult *result, const char *why)
{
	Finishing  *finishing = arg;

	if (outcome == POOL_FAILED &&
		lacking_replace(finishing->reply.message, result, &finishing->nreplaced))
	{
		send_result(finishing);
		return;
	}
	switch (outcome)
	{
		case POOL_DONE:
			answer_result(finishing, result);
			break;
		case POOL_LATER:
			refuse_busy(finishing->request, why);
			break;
		case POOL_UNKNOWN:
			refuse_busy(finishing->request,
						"The database gave no answer; whether the result was stored is not known.");
			break;
		case POOL_FAILED:
			refuse_failed(finishing->request, result);
			break;
	}
	worker_protocol_clear(&finishing->reply);
	pfree(finishing);
}

/*
 * Reads the object of a request.  Returns its fault, palloc'd; NULL: none.  The
 * client hears of what cannot be stored, and can report another result.
 */
static char *
read_object(const json_t *object, const char *json, int64 *version, WorkerReply *reply)
{
	const json_t *number = json_object_get(object, "version");
	char	   *error;

	if (!json_is_object(object))
		return pstrdup("the body is no JSON object");
	if (!json_is_integer(number))
		return pstrdup("member \"version\" is missing or no integer");
	*version = json_integer_value(number);
	error = worker_protocol_decode_outcome(object, json, reply);
	if (error == NULL &&
		(reply->result == TASK_ACCEPTED || reply->result == TASK_CANCELLED))
		error = psprintf("result \"%s\" does not finish a task", task_result_name(reply->result));
	return error;
}

/* The members of a report, each of which may be there once. */
static const char *const members[] = {
	"version", "result", "message", "retry_in", "retry_at", "outcome", "add", NULL
};

static char *
read_result(const char *body, size_t len, int64 *version, WorkerReply *reply)
{
	ForeignJsonFault fault;
	json_t	   *object = foreign_json_load(body, len, members, &fault);
	char	   *error;

	error = fault.repeated != NULL ? psprintf(FOREIGN_JSON_REPEATED, fault.repeated) :
		read_object(object, foreign_json_start(body), version, reply);
	json_decref(object);
	return error;
}

static void
send_result(Finishing *finishing)
{
	const WorkerReply *reply = &finishing->reply;
	bool		has_time = reply->at_us != WORKER_NO_TIME;
	WireParams	params;

	wire_init(&params);
	wire_add_text(&params, "");
	wire_add_text(&params, finishing->id);
	wire_add_int8(&params, finishing->version);
	wire_add_text(&params, task_result_name(reply->result));
	wire_add_text(&params, reply->message);
	wire_add_int8(&params, has_time ? 0 : Max(reply->delay_us, 0));
	wire_add_int8(&params, has_time ? Max(reply->at_us, 0) : 0);
	wire_add_text(&params, reply->outcome);
	wire_add_text(&params, reply->add);
	pool_send(finishing->results->pool, &finish_task, &params, on_finished, finishing);
}

static void
serve_finish(void *arg, HttpRequest *request)
{
	Results    *results = arg;
	uint8		id[TASK_ID_BYTES];
	WorkerReply reply = {0};
	int64		version = 0;
	size_t		len;
	const char *body = http_body(request, &len);
	const char *part = http_part(request, 0);
	char	   *error = read_result(body, len, &version, &reply);

	if (error == NULL &&
		!trigger_id_read(part, strlen(part), id))
		error = pstrdup("the path names no task id");
	if (error != NULL)
	{
		http_refuse(request, MHD_HTTP_BAD_REQUEST, "bad_request", error);
		worker_protocol_clear(&reply);
	}
	else
	{
		Finishing  *finishing = palloc0(sizeof(Finishing));

		finishing->results = results;
		finishing->request = request;
		finishing->reply = reply;
		finishing->version = version;
		trigger_id_text(id, finishing->id);
		send_result(finishing);
	}
	pfree(error);
}

static const HttpRoute routes[] = {
	{"POST", "/api/tasks/*/finish", .serve = serve_finish},
};

Results *
results_open(Loop *loop, const WebConfig *config, Http *http)
{
	Results    *results = palloc0(sizeof(Results));

	results->pool = pool_new(loop, config->postgres, "results", config->sessions);
	pool_keep_one(results->pool);
	http_add_routes(http, routes, lengthof(routes), results);
	return results;
}

void
results_close(Results *results)
{
	pool_close(results->pool);
	pfree(results);
}
