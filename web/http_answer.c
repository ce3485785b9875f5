/*-------------------------------------------------------------------------
 *
 * http_answer.c
 *		Answers: their headers, their bodies, and the form of refusals.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "web/http_private.h"

struct HttpShared
{
	int			refs;			/* its owner, and answers under way */
	bool		is_static;
	const char *bytes;
	size_t		len;
};

/* ---- bodies ---- */

static HttpShared *
new_shared(const char *bytes, size_t len, bool is_static)
{
	HttpShared *body = palloc(sizeof(HttpShared));

	body->refs = 1;
	body->is_static = is_static;
	body->bytes = bytes;
	body->len = len;
	return body;
}

HttpShared *
http_share(const char *bytes, size_t len)
{
	char	   *copy = palloc(len + 1);

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return new_shared(copy, len, false);
}

HttpShared *
http_share_static(const char *bytes, size_t len)
{
	return new_shared(bytes, len, true);
}

void
http_unshare(HttpShared *body)
{
	if (body == NULL || --body->refs > 0)
		return;
	if (!body->is_static)
		pfree(unconstify(char *, body->bytes));
	pfree(body);
}

static void
on_sent(void *body)
{
	http_unshare(body);
}

/* ---- headers ---- */

/* Unless the answer has a header of that name. */
static void
add_default(struct MHD_Response *response, const char *name, const char *value)
{
	if (MHD_get_response_header(response, name) == NULL)
		MHD_add_response_header(response, name, value);
}

static void
add_headers(HttpRequest *request, const HttpAnswer *answer)
{
	struct MHD_Response *response = request->response;

	for (int i = 0; answer->headers != NULL && answer->headers[i] != NULL; i += 2)
		MHD_add_response_header(response, answer->headers[i], answer->headers[i + 1]);
	MHD_add_response_header(response, "Cache-Control",
							answer->cache_control != NULL ? answer->cache_control : "no-store");
	if (answer->etag != NULL)
		MHD_add_response_header(response, "ETag", answer->etag);
	if (answer->location != NULL)
		MHD_add_response_header(response, "Location", answer->location);
	add_default(response, "X-Content-Type-Options", "nosniff");
	if (request->status == MHD_HTTP_UNAUTHORIZED)
		add_default(response, "WWW-Authenticate", "Bearer");
	if (request->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		add_default(response, "Retry-After", "1");
	if (request->status == MHD_HTTP_METHOD_NOT_ALLOWED && request->allowed.len > 0)
		add_default(response, "Allow", request->allowed.data);
	if (request->is_last)
		MHD_add_response_header(response, "Connection", "close");
}

/* ---- versions ---- */

static const char *
skip_weak(const char *etag)
{
	return strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
}

/* The length of the quoted text with which list begins, or 0. */
static size_t
quoted_len(const char *list)
{
	size_t		len;

	if (list[0] != '"')
		return 0;
	len = 1 + strcspn(list + 1, "\"");
	return list[len] == '"' ? len + 1 : 0;
}

/* Whether the list of If-None-Match (NULL: none) is "*" or has the etag. */
static bool
has_etag(const char *list, const char *etag)
{
	if (list == NULL)
		return false;
	if (strcmp(list, "*") == 0)
		return true;
	etag = skip_weak(etag);
	while (*(list += strspn(list, ", \t")) != '\0')
	{
		size_t		len;

		list = skip_weak(list);
		len = quoted_len(list);
		if (len == 0)
			return false;
		if (len == strlen(etag) && strncmp(list, etag, len) == 0)
			return true;
		list += len;
	}
	return false;
}


/* Whether the client has this very answer. */
static bool
is_of_client(const HttpRequest *request, const HttpAnswer *answer)
{
	return answer->etag != NULL && answer->status == MHD_HTTP_OK &&
		(strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0) &&
		has_etag(http_header(request, "If-None-Match"), answer->etag);
}

/* ---- the number of requests, and the bytes of answers ---- */

/* Requests of other routes hold no place of the ones with a judge. */
void
http_set_served(HttpRequest *request, bool is_served)
{
	if (request->route != NULL && request->route->judge != NULL)
		request->http->nserved += is_served - request->is_served;
	request->is_served = is_served;
}

void
http_answer_done(HttpRequest *request)
{
	if (request->answer_len == 0)
		return;
	request->http->answer_bytes -= request->answer_len;
	request->answer_len = 0;
	dlist_delete(&request->answer_node);
}

/* Clients that read slowly must not fill the memory: the oldest ones lose. */
static void
take_room(HttpRequest *request, size_t len)
{
	Http	   *http = request->http;

	len = Min(len, ANSWER_COUNTS_MAX);
	while (http->answer_bytes + len > ANSWERS_MAX && !dlist_is_empty(&http->answers))
	{
		HttpRequest *oldest = dlist_head_element(HttpRequest, answer_node, &http->answers);

		log_line(TWT_LOG_WARN, "http", "ended a connection that did not read its answer, since others need the memory");
		connection_end(oldest->held);
		http_answer_done(oldest);
	}
	request->answer_len = len;
	http->answer_bytes += len;
	dlist_push_tail(&http->answers, &request->answer_node);
}

/* ---- answers ---- */

void
http_put(HttpRequest *request, const HttpAnswer *answer, struct MHD_Response *response)
{
	bool		is_known = is_of_client(request, answer);

	if (response == NULL)
		program_out_of_memory("http");
	request->status = is_known ? MHD_HTTP_NOT_MODIFIED : answer->status;
	request->response = response;
	if (!is_known && answer->status != MHD_HTTP_NO_CONTENT)
		MHD_add_response_header(response, "Content-Type",
								answer->type != NULL ? answer->type : "application/json");
	add_headers(request, answer);
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	dlist_delete(&request->node);
	MHD_resume_connection(request->connection);
	http_listener_wake(request->listener);
}

/* Whether no other answer has the bytes. */
static bool
has_own_bytes(const HttpShared *body)
{
	return !body->is_static && body->refs == 1 && body->len > 0;
}

static void
put_shared(HttpRequest *request, const HttpAnswer *answer, HttpShared *body)
{
	if (has_own_bytes(body))
		take_room(request, body->len);
	body->refs++;
	http_put(request, answer,
			 MHD_create_response_from_buffer_with_free_callback_cls(body->len, unconstify(char *, body->bytes),
																	on_sent, body));
}

/* An answer that comes too late is for nobody. */
void
http_answer_shared(HttpRequest *request, const HttpAnswer *answer, HttpShared *body)
{
	http_set_served(request, false);
	if (request->connection == NULL)
		http_release(request);
	else if (request->response == NULL)
		put_shared(request, answer, body);
}

void
http_answer_with(HttpRequest *request, const HttpAnswer *answer, const char *body, size_t len)
{
	bool		is_wanted = request->connection != NULL && request->response == NULL;
	HttpShared *copy;

	if (is_wanted && len > ANSWERS_MAX)
	{
		http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "too_large", "The answer has more than 64 MB.");
		return;
	}
	copy = http_share(body, len);
	http_answer_shared(request, answer, copy);
	http_unshare(copy);
}

void
http_answer_text(HttpRequest *request, int status, const char *type, const char *text)
{
	HttpAnswer	answer = {.status = status, .type = type};

	http_answer_with(request, &answer, text, strlen(text));
}

void
http_answer(HttpRequest *request, int status, const char *json)
{
	http_answer_text(request, status, NULL, json);
}

/* ---- refusals ---- */

static void
refuse_plainly(HttpRequest *request, int status, const char *word, const char *detail)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"error\":\"%s\",\"detail\":\"", word);
	text_escape_json(&json, detail, strlen(detail), SIZE_MAX);
	appendStringInfoString(&json, "\"}\n");
	http_answer(request, status, json.data);
	pfree(json.data);
}

void
http_refuse(HttpRequest *request, int status, const char *word, const char *detail)
{
	if (request->refusal != NULL)
		request->refusal(request, status, word, detail);
	else
		refuse_plainly(request, status, word, detail);
}
