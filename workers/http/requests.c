/*-------------------------------------------------------------------------
 *
 * requests.c
 *		A POST for each task.
 *
 *		from: main.c			to: http_client.h, main.c (replies)
 *
 * A request goes to the handler's own URL, or to one that the task's context
 * names and the handler allows.  What comes back is judged by http_reply.c.
 *
 *	 a request is	until							and then
 *	 running		libcurl has an end of it		the verdict
 *	 held			the end of the turn				running, once more
 *	 ended			the end of the turn				the verdict
 *
 * It is ended early when it cannot be sent: its verdict is known then, and told
 * later.  It is held when it was about to go over a kept connection that is
 * older than the rule for its address: it begins anew, over one of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/socket.h>
#include <time.h>

#include "base/output.h"
#include "common/version.h"
#include "workers/http/http_client.h"
#include "workers/http/http_headers.h"
#include "workers/http/http_reply.h"
#include "workers/http/requests.h"
#include "workers/lib/task_line.h"
#include "workers/lib/worker_reply.h"

/* Of an answer, and of its headers, no more is read. */
#define ANSWER_MAX (1024 * 1024)
#define HEADERS_MAX (64 * 1024)

/* A sidecar takes messages of 64 kB, of which the database keeps less. */
#define MESSAGE_MAX (48 * 1024)

struct Requests
{
	Loop	   *loop;
	HttpSettings *settings;
	StringInfo	replies;
	HttpClient *client;
	dlist_head	held;
	dlist_head	running;
	dlist_head	ended;
};

typedef struct Request
{
	dlist_node	node;
	Requests   *requests;
	Task	   *task;
	int64		start_by_us;
	CURL	   *easy;			/* NULL: not made */
	struct curl_slist *headers;
	HttpUrl		url;
	bool		is_own_host;	/* the handler's, not one of the task's choice */
	bool		was_refused;	/* an address that it must not go to */
	bool		was_allowed;	/* another address */
	bool		is_late;		/* it may be another node's task by now */
	bool		is_held;		/* not sent: it begins anew */
	bool		is_fresh;		/* over a connection of its own */
	Output		body;			/* the end of the answer */
	StringInfoData json;		/* all of it, if it is JSON and not too long */
	size_t		received;
	size_t		header_bytes;
	bool		is_long;		/* there was more than is read */
	char		error[CURL_ERROR_SIZE];
	Verdict		verdict;		/* ended early */
} Request;

/* ---- the verdict ---- */

static void
free_request(Request *request)
{
	dlist_delete(&request->node);
	if (request->easy != NULL)
		http_client_put(request->requests->client, request->easy);
	curl_slist_free_all(request->headers);
	http_url_clear(&request->url);
	output_clear(&request->body);
	pfree(request->json.data);
	task_line_free(request->task);
	pfree(request);
}

static void
report(Request *request, const Verdict *verdict)
{
	worker_reply(request->requests->replies, request->task, verdict);
	loop_want_turn(request->requests->loop);
	free_request(request);
}

/* Its verdict is known, and told at the end of the turn; message is palloc'd. */
static void
end_early(Request *request, TaskResult result, char *message)
{
	Requests   *requests = request->requests;

	request->verdict.result = result;
	request->verdict.delay_us = TASK_DELAY_BY_POLICY;
	request->verdict.message = message;
	dlist_delete(&request->node);
	dlist_push_tail(&requests->ended, &request->node);
	loop_want_turn(requests->loop);
}

static void
report_ended(Requests *requests)
{
	while (!dlist_is_empty(&requests->ended))
	{
		Request    *request = dlist_head_element(Request, node, &requests->ended);
		char	   *message = unconstify(char *, request->verdict.message);

		report(request, &request->verdict);
		pfree(message);
	}
}

/* The machine's clock: receivers compare it with theirs. */
static int64
wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
}

static const char *
get_header(CURL * easy, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}

static void
report_answer(Request *request, int status)
{
	StringInfoData body;
	Verdict		verdict = {0};
	char	   *message;
	HttpReply	reply = {
		.status = status,
		.retry_after = get_header(request->easy, "Retry-After"),
		.json = request->json.len > 0 && !request->is_long ? request->json.data : NULL,
		.json_len = request->json.len,
		.now_us = wall_us()
	};

	initStringInfo(&body);
	output_append(&request->body, &body);
	reply.body = body.data;
	http_reply_judge(&reply, request->requests->settings->statuses, &verdict, &message);
	report(request, &verdict);
	pfree(message);
	pfree(body.data);
}

/* Nothing of the request has reached anybody. */
static bool
was_not_sent(CURLcode code)
{
	switch (code)
	{
		case CURLE_COULDNT_RESOLVE_HOST:
		case CURLE_COULDNT_CONNECT:
		case CURLE_SSL_CONNECT_ERROR:
		case CURLE_PEER_FAILED_VERIFICATION:
		case CURLE_SSL_CACERT_BADFILE:
			return true;
		default:
			return false;
	}
}

static void
report_failure(Request *request, CURLcode code)
{
	const char *what = was_not_sent(code) ? "could not connect to" : "no answer from";
	char	   *message;
	Verdict		verdict = {was_not_sent(code) ? TASK_RETRY : TASK_FAILURE, TASK_DELAY_BY_POLICY};

	if (request->was_refused && !request->was_allowed)
	{
		verdict.result = TASK_ERROR;
		message = psprintf("could not connect to \"%s\": a task must not choose a host with a private address",
						   request->url.host);
	}
	else
		message = psprintf("%s %s port %d: %s", what, request->url.host, request->url.port,
						   request->error[0] ? request->error : curl_easy_strerror(code));
	verdict.message = message;
	report(request, &verdict);
	pfree(message);
}

/* All of it begins again, over a connection of its own. */
static void
hold(Request *request)
{
	request->is_held = false;
	request->is_fresh = true;
	curl_easy_setopt(request->easy, CURLOPT_FRESH_CONNECT, 1L);
	dlist_delete(&request->node);
	dlist_push_tail(&request->requests->held, &request->node);
}

/* An answer that we stopped to read has its status all the same. */
static void
on_done(void *arg, CURL * easy, CURLcode code)
{
	static const Verdict released = {TASK_RELEASE, TASK_DELAY_BY_POLICY, NULL};
	Request    *request = arg;
	long		status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (request->is_held)
		hold(request);
	else if (request->is_late)
		report(request, &released);
	else if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && request->is_long))
		report_answer(request, status);
	else
		report_failure(request, code);
}

/* ---- the answer ---- */

static bool
is_wanted_json(Request *request)
{
	long		status;
	char	   *type;

	curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &type);
	return status >= 200 && status < 300 && http_is_json(type);
}

/* JSON that is not read to its end may say anything: it counts for nothing. */
static size_t
on_body(char *bytes, size_t size, size_t n, void *arg)
{
	Request    *request = arg;

	n *= size;
	if (request->received + n > ANSWER_MAX)
	{
		request->is_long = true;
		return 0;
	}
	request->received += n;
	if (request->json.len <= HTTP_JSON_MAX && is_wanted_json(request))
		appendBinaryStringInfo(&request->json, bytes, n);
	output_add(&request->body, bytes, n);
	return n;
}

static size_t
on_header(char *bytes, size_t size, size_t n, void *arg)
{
	Request    *request = arg;

	request->header_bytes += n * size;
	return request->header_bytes > HEADERS_MAX ? 0 : n * size;
}

/* ---- the request ---- */

/* Whoever wrote the handler's own host into the configuration means it. */
static bool
must_be_public(const Request *request)
{
	return !request->is_own_host && request->requests->settings->is_public_only;
}

/* The address that is checked here is the one that is connected to. */
static curl_socket_t
on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	Request    *request = arg;

	if (must_be_public(request) && !http_address_is_public(&address->addr))
	{
		request->was_refused = true;
		return CURL_SOCKET_BAD;
	}
	request->was_allowed = true;
	return socket(address->family, address->socktype | SOCK_CLOEXEC,
				  address->protocol);
}

/*
 * The last moment before the request is sent.  A connection that was kept may
 * be older than the rule for its address.  After the lease of the node the task
 * may be another one's, whatever became of our sidecar.
 */
static int
on_connected(void *arg, char *remote, char *local, int remote_port,
			 int local_port)
{
	Request    *request = arg;

	(void) local;
	(void) remote_port;
	(void) local_port;
	if (must_be_public(request) && !http_ip_is_public(remote))
	{
		request->is_held = !request->is_fresh;
		return CURL_PREREQFUNC_ABORT;
	}
	request->is_late = loop_now_us(request->requests->loop) >= request->start_by_us;
	return request->is_late ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void
set_task(Request *request)
{
	const HttpSettings *settings = request->requests->settings;
	CURL	   *easy = request->easy;
	HttpHeaders headers = {
		.keys = settings->keys,
		.more = request->is_own_host ? settings->headers : NULL,
		.timestamp = wall_us() / 1000000
	};

	request->headers = http_headers_make(&headers, request->task);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->task->data_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->task->data ? request->task->data : "");
}

static void
set_callbacks(Request *request)
{
	CURL	   *easy = request->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *) request);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, request);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
}

/*
 * No redirects, no proxies of the environment, nothing but HTTP.  A kept
 * connection that the server has closed makes libcurl send a request again,
 * which may have been received: not where there is only one try.
 */
static void
set_limits(Request *request)
{
	const HttpSettings *settings = request->requests->settings;
	CURL	   *easy = request->easy;

	curl_easy_setopt(easy, CURLOPT_CURLU, request->url.handle);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long) (settings->connect_timeout_us / 1000));
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "twtasksd/" TWT_VERSION);
	if (settings->ca_file != NULL)
	{
		curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (request->task->max_tries == 1)
	{
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	}
}

/* Why it goes nowhere; NULL: its URL is known. */
static const char *
choose_url(Request *request)
{
	const HttpSettings *settings = request->requests->settings;
	char	   *named = NULL;
	const char *error = NULL;

	if (settings->hosts[0] != NULL)
		error = http_headers_url(request->task, &named);
	if (error == NULL)
		error = http_settings_choose(settings, named, &request->url);
	pfree(named);
	if (error == NULL)
		request->is_own_host = http_url_is_same_host(&request->url, &settings->url);
	return error;
}

static void
on_turn(void *arg)
{
	Requests   *requests = arg;

	report_ended(requests);
	while (!dlist_is_empty(&requests->held))
	{
		Request    *request = dlist_head_element(Request, node, &requests->held);

		dlist_delete(&request->node);
		dlist_push_tail(&requests->running, &request->node);
		http_client_start(requests->client, request->easy);
	}
}

void
requests_start(Requests *requests, Task *task, int64 start_by_us)
{
	Request    *request = palloc0(sizeof(Request));
	const char *error;

	request->requests = requests;
	request->task = task;
	request->start_by_us = start_by_us;
	output_init(&request->body, Min(requests->settings->max_output, MESSAGE_MAX));
	initStringInfo(&request->json);
	dlist_push_tail(&requests->running, &request->node);

	error = choose_url(request);
	if (error != NULL)
	{
		end_early(request, TASK_ERROR,
				  psprintf("cannot send to the URL that the task names: %s", error));
		return;
	}
	request->easy = http_client_get(requests->client);
	if (request->easy == NULL)
	{
		end_early(request, TASK_RETRY, pstrdup("out of memory"));
		return;
	}
	set_task(request);
	set_callbacks(request);
	set_limits(request);
	http_client_start(requests->client, request->easy);
}

static Request *
find_running(Requests *requests, const char *id, int64 version)
{
	dlist_iter	iter;

	dlist_foreach(iter, &requests->running)
	{
		Request    *request = dlist_container(Request, node, iter.cur);

		if (request->task->version == version && strcmp(request->task->id_text, id) == 0)
			return request;
	}
	return NULL;
}

void
requests_cancel(Requests *requests, const char *id, int64 version, const char *why)
{
	Request    *request = find_running(requests, id, version);

	if (request == NULL)
		return;
	http_client_cancel(requests->client, request->easy);
	end_early(request, TASK_CANCELLED, pstrdup(why));
}

/* ---- the whole ---- */

Requests *
requests_new(Loop *loop, StringInfo replies)
{
	Requests   *requests = palloc0(sizeof(Requests));

	requests->loop = loop;
	requests->replies = replies;
	requests->client = http_client_new(loop, on_done);
	dlist_init(&requests->held);
	dlist_init(&requests->running);
	dlist_init(&requests->ended);
	loop_on_turn(loop, on_turn, requests);
	return requests;
}

void
requests_set(Requests *requests, HttpSettings *settings)
{
	http_settings_free(requests->settings);
	requests->settings = settings;
	http_client_keep(requests->client, settings->concurrency);
}

void
requests_free(Requests *requests)
{
	loop_off_turn(requests->loop, on_turn, requests);
	while (!dlist_is_empty(&requests->running))
	{
		Request    *request = dlist_head_element(Request, node, &requests->running);

		http_client_cancel(requests->client, request->easy);
		free_request(request);
	}
	while (!dlist_is_empty(&requests->held))
		free_request(dlist_head_element(Request, node, &requests->held));
	report_ended(requests);
	http_client_free(requests->client);
	http_settings_free(requests->settings);
	loop_defer_free(requests->loop, requests);
}
