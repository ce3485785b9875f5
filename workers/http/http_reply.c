#include "base/port.h"

#include <curl/curl.h>

#include "workers/http/http_reply.h"
#include "base/json_member.h"
#include "options/statuses.h"
#include "protocol/worker_protocol.h"

#define WAIT_MIN_US SECONDS_TO_US(1)
#define WAIT_MAX_US SECONDS_TO_US(86400)

#define BAD_ANSWER "answer is not as it should be: "

static const int retried[] = {408, 409, 425, 429, 503};
static const int given_up[] = {400, 405, 410, 411, 413, 414, 415, 422, 431, 501};

static bool
is_one_of(int status, const int *statuses, int n)
{
	for (int i = 0; i < n; i++)
		if (statuses[i] == status)
			return true;
	return false;
}

static TaskResult
judge_status(int status, char *const *statuses)
{
	TaskResult	result;

	if (statuses_find(statuses, status, &result))
		return result;
	if (status >= 200 && status < 300)
		return TASK_DONE;
	if (is_one_of(status, retried, lengthof(retried)))
		return TASK_RETRY;
	if (is_one_of(status, given_up, lengthof(given_up)))
		return TASK_ERROR;
	return TASK_FAILURE;
}

bool
http_retry_after(const char *text, int64 now_us, int64 *delay_us)
{
	size_t		digits;
	int64		wait_us;

	text += strspn(text, " \t");
	digits = strspn(text, "0123456789");
	if (digits > 0 && text[digits + strspn(text + digits, " \t")] == '\0')
		wait_us = digits > 9 ? WAIT_MAX_US : SECONDS_TO_US(strtol(text, NULL, 10));
	else
	{
		time_t		when = digits > 0 ? -1 : curl_getdate(text, NULL);

		if (when == (time_t) -1)
			return false;
		wait_us = when > now_us / 1000000 + 86400 ? WAIT_MAX_US :
			SECONDS_TO_US(when) - now_us;
	}
	*delay_us = Min(Max(wait_us, WAIT_MIN_US), WAIT_MAX_US);
	return true;
}

bool
http_is_json(const char *content_type)
{
	size_t		len;

	if (content_type == NULL)
		return false;
	len = strcspn(content_type, "; \t");
	return (len == 16 && pg_strncasecmp(content_type, "application/json", len) == 0) ||
		(len > 17 && pg_strncasecmp(content_type, "application/", 12) == 0 &&
		 pg_strncasecmp(content_type + len - 5, "+json", 5) == 0);
}

/* An unreadable answer is neither a success nor permission to try again. */
static void
refuse(Verdict *verdict, char *what)
{
	verdict->result = TASK_ERROR;
	verdict->message = psprintf(BAD_ANSWER "%s", what);
	pfree(what);
}

static bool
is_object_text(const char *text)
{
	text = foreign_json_start(text);
	return text[strspn(text, " \t\r\n")] == '{';
}

/* Nobody knows which of several values the receiver meant. */
static void
drop_data(const json_t *object, WorkerReply *said)
{
	if (json_object_get(object, "outcome") != NULL || json_object_get(object, "add") != NULL)
		said->result = TASK_ERROR;
	pfree(said->outcome);
	pfree(said->add);
	said->outcome = said->add = NULL;
}

/*
 * A fault in the details must not make a task run again.  But a task is not done
 * without its outcome, or the tasks that were to follow it.
 */
static void
read_outcome(const HttpReply *reply, const json_t *object, const char *repeated, Verdict *verdict)
{
	WorkerReply said = {0};
	char	   *error = worker_protocol_decode_outcome(object, foreign_json_start(reply->json), &said);

	if (repeated != NULL)
		drop_data(object, &said);
	if (error == NULL && repeated != NULL)
		error = psprintf(FOREIGN_JSON_REPEATED, repeated);
	if (said.add != NULL && strlen(said.add) > HTTP_ADD_MAX)
	{
		drop_data(object, &said);
		pfree(error);
		error = psprintf("member \"add\" has more than %d kB", HTTP_ADD_MAX / 1024);
	}
	verdict->result = said.result;
	verdict->delay_us = said.delay_us;
	if (said.at_us != WORKER_NO_TIME)
		verdict->delay_us = Max(said.at_us - reply->now_us, 0);
	verdict->message = said.message;
	verdict->outcome = said.outcome;
	verdict->add = said.add;
	if (error == NULL)
		return;
	pfree(said.message);
	verdict->message = psprintf(BAD_ANSWER "%s", error);
	pfree(error);
}

/* Whether the value of a member "result" is a word of the worker protocol. */
static bool
is_word(const char *value, size_t len)
{
	char		word[16];
	TaskResult	result;

	if (*value != '"' || len < 2 || len - 2 >= sizeof(word))
		return false;
	strlcpy(word, value + 1, len - 1);
	return task_result_parse(word, &result);
}

/*
 * A result, or tasks to add, may stand in the end that is not read.  An object
 * with a result of its own, or anything but an object, is the receiver's business.
 */
static bool
judge_cut_json(const char *json, Verdict *verdict)
{
	size_t		len;
	const char *result = json_member(foreign_json_start(json), "result", &len);

	if (!is_object_text(json) ||
		(result != NULL && result[len] != '\0' && !is_word(result, len)))
		return false;
	refuse(verdict, psprintf("its JSON has more than %d MB", HTTP_ANSWER_MAX / 1024 / 1024));
	return true;
}

/*
 * Accepts the words of the worker protocol in the body.  Any other "result" is
 * the receiver's own business, and the status decides.
 */
static bool
judge_json(const HttpReply *reply, Verdict *verdict)
{
	ForeignJsonFault fault;
	json_t	   *object;
	bool		is_judged = true;

	if (reply->json == NULL)
		return false;
	if (reply->coding != NULL)
	{
		refuse(verdict, psprintf("its JSON is encoded as %s, which was not asked for", reply->coding));
		return true;
	}
	if (reply->is_cut)
		return judge_cut_json(reply->json, verdict);
	object = worker_protocol_load_outcome(reply->json, reply->json_len, &fault);
	if (object == NULL && is_object_text(reply->json))
		refuse(verdict, psprintf("syntax error in its JSON at byte %d", fault.byte));
	else if (fault.repeated != NULL && strcmp(fault.repeated, "result") == 0)
		refuse(verdict, psprintf(FOREIGN_JSON_REPEATED, "result"));
	else if (worker_protocol_has_result(object))
		read_outcome(reply, object, fault.repeated, verdict);
	else
		is_judged = false;
	json_decref(object);
	return is_judged;
}

static char *
describe(const HttpReply *reply)
{
	return psprintf("server answered %d%s%s", reply->status,
					reply->body[0] != '\0' ? ": " : "", reply->body);
}

void
http_reply_judge(const HttpReply *reply, char *const *statuses,
				 Verdict *verdict)
{
	*verdict = (Verdict)
	{
		.result = judge_status(reply->status, statuses), .delay_us = TASK_DELAY_BY_POLICY
	};
	if (reply->status < 200 || reply->status >= 300 ||
		!judge_json(reply, verdict))
	{
		if (verdict->result != TASK_DONE && verdict->result != TASK_DELETE)
			verdict->message = describe(reply);
	}
	if (verdict->delay_us == TASK_DELAY_BY_POLICY && reply->retry_after != NULL &&
		(verdict->result == TASK_RETRY || verdict->result == TASK_REPEAT ||
		 verdict->result == TASK_FAILURE) &&
		http_retry_after(reply->retry_after, reply->now_us, &verdict->delay_us) &&
		verdict->result == TASK_FAILURE)
		verdict->result = TASK_RETRY;
}
