/*-------------------------------------------------------------------------
 *
 * notify_send.c
 *		Requests with a message: sent and answered.
 *
 * The headers of a signature are as standardwebhooks.com has them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/text.h"
#include "workers/curl/http_client.h"
#include "workers/notify/notify_send.h"

#define TIMEOUT_MS 10000L
#define CONNECT_TIMEOUT_MS 5000L

/* Bytes of an answer in its text, and that are read. */
#define TEXT_MAX 500
#define READ_MAX (64 * 1024)

#define KEPT 10

struct NotifySender
{
	HttpClient *client;
	NotifyDone	done;
};

typedef struct Request
{
	NotifySender *sender;
	void	   *arg;
	struct curl_slist *headers;
	StringInfoData answer;
	size_t		received;
	char		error[CURL_ERROR_SIZE];
} Request;

static size_t
on_body(char *bytes, size_t size, size_t n, void *arg)
{
	Request    *request = arg;

	n *= size;
	request->received += n;
	if (request->answer.len < NOTIFY_BODY_MAX)
		appendBinaryStringInfo(&request->answer, bytes, (int) Min(n, (size_t) (NOTIFY_BODY_MAX - request->answer.len)));
	return request->received > READ_MAX ? 0 : n;
}

static void
free_request(Request *request)
{
	curl_slist_free_all(request->headers);
	pfree(request->answer.data);
	pfree(request);
}

bool
notify_was_sent(const NotifyAnswer *answer)
{
	return answer->status >= 200 && answer->status < 300;
}

static void
on_done(void *arg, CURL * easy, CURLcode code)
{
	Request    *request = arg;
	NotifySender *sender = request->sender;
	NotifyAnswer answer = {.body = request->answer.data};
	curl_off_t	again_s = 0;
	char	   *text;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &again_s);
	text = answer.status == 0 ? pstrdup(request->error[0] != '\0' ? request->error : curl_easy_strerror(code)) :
		psprintf("HTTP %ld%s%.*s", answer.status, request->answer.len > 0 ? ": " : "", TEXT_MAX, request->answer.data);
	answer.text = text;
	answer.again_us = SECONDS_TO_US((int64) again_s);
	http_client_put(sender->client, easy);
	sender->done(request->arg, &answer);
	pfree(text);
	free_request(request);
}

/* ---- headers ---- */

static void
add_header(Request *request, char *line)
{
	request->headers = curl_slist_append(request->headers, line);
	text_forget(line);
}

static void
add_signature(Request *request, const NotifyRequest *what)
{
	int64		now = (int64) time(NULL);
	char	   *head = psprintf("%s." INT64_FORMAT ".", what->id, now);
	HttpSigned	signed_parts = {"v1", head, what->body, what->body ? strlen(what->body) : 0};
	StringInfoData signature;

	initStringInfo(&signature);
	http_sign(what->keys, &signed_parts, &signature);
	add_header(request, psprintf("webhook-id: %s", what->id));
	add_header(request, psprintf("webhook-timestamp: " INT64_FORMAT, now));
	add_header(request, psprintf("webhook-signature: %s", signature.data));
	pfree(signature.data);
	pfree(head);
}

static void
add_headers(Request *request, const NotifyRequest *what)
{
	if (what->body != NULL)
		add_header(request, pstrdup("Content-Type: application/json"));
	if (what->scheme != NULL && what->secret != NULL)
		add_header(request, psprintf("Authorization: %s %s", what->scheme, what->secret));
	if (what->keys != NULL)
		add_signature(request, what);
	for (int i = 0; what->headers != NULL && what->headers[i] != NULL; i++)
		add_header(request, pstrdup(what->headers[i]));
}

static void
set_options(Request *request, CURL * easy, const NotifyRequest *what)
{
	http_client_confine(easy);
	curl_easy_setopt(easy, CURLOPT_URL, what->url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	if (what->body != NULL)
		curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, what->body);
}

bool
notify_send(NotifySender *sender, const NotifyRequest *what, void *arg)
{
	CURL	   *easy = http_client_get(sender->client);
	Request    *request;

	if (easy == NULL)
		return false;
	request = palloc0(sizeof(Request));
	request->sender = sender;
	request->arg = arg;
	initStringInfo(&request->answer);
	add_headers(request, what);
	set_options(request, easy, what);
	http_client_start(sender->client, easy);
	return true;
}

NotifySender *
notify_sender_new(Loop *loop, NotifyDone done)
{
	NotifySender *sender = palloc0(sizeof(NotifySender));

	sender->client = http_client_new(loop, on_done);
	sender->done = done;
	http_client_keep(sender->client, KEPT);
	return sender;
}
