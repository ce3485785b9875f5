/*-------------------------------------------------------------------------
 *
 * worker_protocol.c
 *		The lines that a worker process writes.
 *
 * Nearly all replies have a short form, which worker_usual.c reads, not jansson.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <math.h>

#include "base/iso8601.h"
#include "base/json_member.h"
#include "base/output.h"
#include "base/text.h"
#include "base/units.h"
#include "protocol/worker_protocol.h"
#include "protocol/worker_usual.h"

/* Seconds that fit in int64 microseconds, with room for a sum. */
#define SECONDS_MAX 4e12

/* The most bytes of a message that are stored with its task. */
#define MESSAGE_MAX (64 * 1024)

/* The same, where each task of a batch has a copy: the database keeps no more. */
#define SHARED_MESSAGE_MAX (8 * 1024)

/* The most bytes quoted from an unknown result, and from a reply with a fault. */
#define QUOTE_MAX 64
#define LINE_QUOTE_MAX 200

#define BAD_REPLY "reply is not as it should be: "

/* The members of a reply.  The first ones name its tasks and are not part of an outcome. */
#define NAMING_MEMBERS 4
static const char *const members[] = {
	"id", "version", "ids", "versions",
	"result", "retry_in", "retry_at", "message", "outcome", "add", NULL
};

/* No details, and an error until a result is read. */
static void
clear_outcome(WorkerReply *reply)
{
	reply->result = TASK_ERROR;
	reply->delay_us = TASK_DELAY_BY_POLICY;
	reply->at_us = WORKER_NO_TIME;
	reply->message = reply->outcome = reply->add = NULL;
}

static void
clear(WorkerReply *reply)
{
	reply->word = WORKER_RESULT;
	reply->one.id[0] = '\0';
	reply->one.version = 0;
	reply->many = NULL;
	reply->nmany = 0;
	clear_outcome(reply);
}

static bool
read_id(const json_t *id, WorkerTask *task)
{
	return json_string_length(id) <= TASK_ID_TEXT &&
		strlcpy(task->id, json_string_value(id), sizeof(task->id)) == json_string_length(id);
}

static char *
decode_id(const json_t *object, WorkerTask *task)
{
	const json_t *id = json_object_get(object, "id");
	const json_t *version = json_object_get(object, "version");

	if (!json_is_string(id))
		return pstrdup("member \"id\" is missing or no string");
	if (!read_id(id, task))
		return pstrdup("member \"id\" is no task id");
	if (!json_is_integer(version))
		return pstrdup("member \"version\" is missing or no integer");
	task->version = json_integer_value(version);
	return NULL;
}

/* A list with a flaw names no task: we do not know which of them are meant. */
static char *
decode_ids(const json_t *ids, const json_t *versions, WorkerReply *reply)
{
	size_t		count = json_array_size(ids);

	if (!json_is_array(ids) || !json_is_array(versions) || json_array_size(versions) != count)
		return pstrdup("members \"ids\" and \"versions\" are no arrays of the same length");
	reply->many = palloc0((count + 1) * sizeof(WorkerTask));
	for (size_t i = 0; i < count; i++)
	{
		const json_t *id = json_array_get(ids, i);
		const json_t *version = json_array_get(versions, i);

		if (!json_is_string(id) || !read_id(id, &reply->many[i]))
			return psprintf("element %zu of \"ids\" is no task id", i + 1);
		if (!json_is_integer(version))
			return psprintf("element %zu of \"versions\" is no integer", i + 1);
		reply->many[i].version = json_integer_value(version);
	}
	reply->nmany = (int) count;
	return NULL;
}

static char *
decode_tasks(const json_t *object, WorkerReply *reply)
{
	const json_t *ids = json_object_get(object, "ids");

	if (ids == NULL)
		return decode_id(object, &reply->one);
	if (json_object_get(object, "id") != NULL)
		return pstrdup("members \"id\" and \"ids\" exclude each other");
	return decode_ids(ids, json_object_get(object, "versions"), reply);
}

static char *
decode_result(const json_t *object, WorkerReply *reply)
{
	const json_t *result = json_object_get(object, "result");
	StringInfoData error;

	if (!json_is_string(result))
		return pstrdup("member \"result\" is missing or no string");
	if (strlen(json_string_value(result)) == json_string_length(result) &&
		task_result_parse_worker(json_string_value(result), &reply->result))
		return NULL;
	initStringInfo(&error);
	appendStringInfoString(&error, "unrecognized result \"");
	text_escape_line(&error, json_string_value(result),
					 json_string_length(result), QUOTE_MAX);
	appendStringInfoChar(&error, '"');
	return error.data;
}

static char *
decode_retry_in(const json_t *retry_in, WorkerReply *reply)
{
	int64		delay_us;

	if (json_is_number(retry_in))
	{
		double		seconds = json_number_value(retry_in);

		if (seconds >= 0 && seconds <= SECONDS_MAX)
		{
			reply->delay_us = (int64) rint(seconds * 1e6);
			return NULL;
		}
	}
	else if (json_is_string(retry_in) &&
			 units_parse_duration(json_string_value(retry_in), &delay_us))
	{
		reply->delay_us = delay_us;
		return NULL;
	}
	return pstrdup("member \"retry_in\" is neither seconds nor a duration");
}

static char *
decode_retry_at(const json_t *retry_at, WorkerReply *reply)
{
	if (json_is_string(retry_at) &&
		iso8601_parse(json_string_value(retry_at), &reply->at_us))
		return NULL;
	return pstrdup("member \"retry_at\" is no ISO 8601 time with a time zone");
}

/* A member with the value null counts as missing. */
static const json_t *
get_optional(const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);

	return json_is_null(member) ? NULL : member;
}

static char *
decode_time(const json_t *object, WorkerReply *reply)
{
	const json_t *retry_in = get_optional(object, "retry_in");
	const json_t *retry_at = get_optional(object, "retry_at");

	if (retry_in && retry_at)
		return pstrdup("members \"retry_in\" and \"retry_at\" exclude each other");
	if (retry_in)
		return decode_retry_in(retry_in, reply);
	return retry_at ? decode_retry_at(retry_at, reply) : NULL;
}

static char *
escape_text(const json_t *string, size_t most)
{
	StringInfoData text;

	initStringInfo(&text);
	output_escape(&text, json_string_value(string),
				  json_string_length(string), most);
	return text.data;
}

static char *
decode_message(const json_t *object, WorkerReply *reply)
{
	const json_t *message = get_optional(object, "message");

	if (message == NULL)
		return NULL;
	if (!json_is_string(message))
		return pstrdup("member \"message\" is no string");
	reply->message = escape_text(message, reply->many != NULL ? SHARED_MESSAGE_MAX : MESSAGE_MAX);
	return NULL;
}

/* Keeps the text itself, since its numbers would not survive reading. */
static char *
keep_json(const char *json, const char *name, const char *kind, size_t most, char **kept)
{
	size_t		len = 0;
	const char *text = json_member(json, name, &len);
	const char *flaw;

	if (text == NULL)
		return psprintf("member \"%s\" is no %s", name, kind);
	if (len > most)
		return psprintf("member \"%s\" has more than %zu bytes", name, most);
	flaw = json_flaw(text, len);
	if (flaw != NULL)
		return psprintf("member \"%s\" has %s", name, flaw);
	*kept = pnstrdup(text, len);
	return NULL;
}

static char *
decode_own(const json_t *object, const char *json, WorkerReply *reply)
{
	const json_t *outcome = get_optional(object, "outcome");

	if (outcome == NULL)
		return NULL;
	if (!json_is_object(outcome))
		return pstrdup("member \"outcome\" is no object");
	return keep_json(json, "outcome", "object", WORKER_OUTCOME_MAX, &reply->outcome);
}

/* The database reads the tasks. */
static char *
decode_add(const json_t *object, const char *json, TaskResult said, WorkerReply *reply)
{
	const json_t *add = get_optional(object, "add");

	if (add == NULL)
		return NULL;
	if (!json_is_array(add))
		return pstrdup("member \"add\" is no array");
	if (said != TASK_DONE && said != TASK_DELETE)
		return pstrdup("member \"add\" goes with the results done and delete only");
	return keep_json(json, "add", "array", SIZE_MAX, &reply->add);
}

json_t *
worker_protocol_load_outcome(const char *json, size_t len, ForeignJsonFault *fault)
{
	return foreign_json_load(json, len, members + NAMING_MEMBERS, fault);
}

bool
worker_protocol_has_result(const json_t *object)
{
	const char *result = json_string_value(json_object_get(object, "result"));
	TaskResult	parsed;

	return result != NULL && task_result_parse(result, &parsed);
}

char *
worker_protocol_decode_outcome(const json_t *object, const char *json, WorkerReply *reply)
{
	TaskResult	said;
	char	   *error;

	clear_outcome(reply);
	error = decode_result(object, reply);
	said = reply->result;
	reply->result = TASK_ERROR;
	if (error != NULL)
		return error;
	if ((error = decode_own(object, json, reply)) != NULL ||
		(error = decode_add(object, json, said, reply)) != NULL)
	{
		pfree(reply->outcome);
		reply->outcome = NULL;
		return error;
	}
	reply->result = said;
	if ((error = decode_time(object, reply)) == NULL)
		error = decode_message(object, reply);
	return error;
}

/* A line without a task answers the hello. */
static bool
decode_answer(const json_t *object, WorkerReply *reply)
{
	const json_t *refusal = json_object_get(object, "error");

	if (json_object_get(object, "id") != NULL || json_object_get(object, "ids") != NULL)
		return false;
	if (json_is_string(refusal))
	{
		reply->word = WORKER_REFUSED;
		reply->message = escape_text(refusal, MESSAGE_MAX);
		return true;
	}
	reply->word = WORKER_READY;
	return json_object_get(object, "ready") != NULL;
}

static char *
decode_progress(const json_t *object, WorkerReply *reply)
{
	const json_t *progress = json_object_get(object, "progress");
	double		percent = json_number_value(progress);

	if (!json_is_number(progress) || !(percent >= 0 && percent <= 100))
		return pstrdup("member \"progress\" is no number from 0 to 100");
	reply->word = WORKER_PROGRESS;
	reply->percent = (int) percent;
	return decode_message(object, reply);
}

static void
set_strange(WorkerReply *reply, char *why)
{
	reply->word = WORKER_STRANGE;
	reply->message = why;
}

/* Tells the task what is wrong with its reply, in place of the message. */
static void
set_faulty(WorkerReply *reply, const char *line, char *fault)
{
	char	   *quote = text_quote_line(line, strlen(line), LINE_QUOTE_MAX);

	pfree(reply->message);
	reply->message = psprintf(BAD_REPLY "%s: \"%s\"", fault, quote);
	pfree(quote);
	pfree(fault);
}

/* Nobody knows whether the tasks to add are meant once, or for each task of a batch. */
static char *
decode_whole(const json_t *object, const char *line, const char *repeated, WorkerReply *reply)
{
	if (repeated != NULL)
		return psprintf(FOREIGN_JSON_REPEATED, repeated);
	if (reply->many != NULL && get_optional(object, "add") != NULL)
		return pstrdup("member \"add\" goes with one \"id\" only");
	return worker_protocol_decode_outcome(object, line, reply);
}

static void
decode_object(const json_t *object, const char *line, const char *repeated, WorkerReply *reply)
{
	char	   *error;

	if (!json_is_object(object))
		set_strange(reply, pstrdup("it is not an object"));
	else if (decode_answer(object, reply))
		return;
	else if ((error = decode_tasks(object, reply)) != NULL)
		set_strange(reply, error);
	else if (get_optional(object, "result") != NULL)
	{
		if ((error = decode_whole(object, line, repeated, reply)) != NULL)
			set_faulty(reply, line, error);
	}
	else if (json_is_true(json_object_get(object, "started")))
		reply->word = WORKER_STARTED;
	else if (get_optional(object, "progress") == NULL)
		set_strange(reply, pstrdup("member \"result\" is missing"));
	else if ((error = decode_progress(object, reply)) != NULL)
		set_strange(reply, error);
}

void
worker_protocol_clear(WorkerReply *reply)
{
	pfree(reply->message);
	pfree(reply->outcome);
	pfree(reply->add);
	pfree(reply->many);
}

/* An error of the task that the head of a reply names. */
static bool
fail_by_head(const char *head, const char *fault, WorkerReply *reply)
{
	json_t	   *object = json_object();
	char	   *error;

	for (int i = 0; i < NAMING_MEMBERS; i++)
	{
		size_t		len = 0;
		const char *text = json_member(head, members[i], &len);

		json_object_set_new(object, members[i], json_loadb(text ? text : "", len, JSON_DECODE_ANY, NULL));
	}
	error = decode_tasks(object, reply);
	json_decref(object);
	if (error != NULL)
		pfree(error);
	else
		set_faulty(reply, head, pstrdup(fault));
	return reply->message != NULL;
}

bool
worker_protocol_decode_long(const char *head, WorkerReply *reply)
{
	clear(reply);
	return fail_by_head(head, "it is longer than 1 MB", reply);
}

char *
worker_protocol_decode(const char *line, size_t len, WorkerReply *reply)
{
	json_t	   *object;
	ForeignJsonFault fault;
	const char *nul = memchr(line, '\0', len);

	clear(reply);
	if (nul != NULL)
		return psprintf("reply is not JSON: byte %d is a NUL", (int) (nul - line) + 1);
	if (worker_usual_decode(line, len, reply))
		return NULL;
	clear(reply);
	object = foreign_json_load(line, len, members, &fault);
	if (object != NULL)
		decode_object(object, line, fault.repeated, reply);
	else if (!fault.is_deep)
		return psprintf("reply is not JSON: syntax error at byte %d", fault.byte);
	else if (!fail_by_head(line, "it nests too deep", reply))
		set_strange(reply, pstrdup("it nests too deep"));
	json_decref(object);
	return NULL;
}
