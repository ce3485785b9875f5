/*-------------------------------------------------------------------------
 *
 * execute_http.c
 *		Handler mode "http": a POST for each task.
 *
 *		from: execute.h			to: http_client.h, execute.h (done)
 *
 * A request goes to the handler's own URL, or to one that the task's context
 * names and the handler allows.  What comes back is judged by http_reply.c.
 *
 *	 a request is	until							and then
 *	 held			the gate opens					running
 *	 running		libcurl has an end of it		the verdict
 *	 ended			the end of the turn				the verdict
 *
 * It is ended early when it cannot be sent or was stopped: its verdict is made
 * then, and told later.  Connections are made at any time, but nothing is sent
 * while the gate is closed: then the request is held, and begun anew.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/socket.h>
#include <time.h>

#include "common/version.h"
#include "workers/http/http_client.h"
#include "workers/http/http_headers.h"
#include "workers/http/http_reply.h"
#include "workers/http/settings.h"
#include "base/output.h"
#include "execute/runner.h"
#include "node/policy.h"
#include "node/task_clock.h"

/* Of an answer, and of its headers, no more is read. */
#define ANSWER_MAX (1024 * 1024)
#define HEADERS_MAX (64 * 1024)

struct Runner
{
	Loop	   *loop;
	const HandlerConfig *config;
	const RunnerGate *gate;
	RunnerDone	done;
	void	   *done_arg;
	HttpClient *client;
	dlist_head	held;
	dlist_head	running;
	dlist_head	ended;
};

typedef struct Request
{
	dlist_node	node;
	Runner	   *runner;
	Task	   *task;
	CURL	   *easy;			/* NULL: not made */
	struct curl_slist *headers;
	HttpUrl		url;
	bool		is_own_host;	/* the handler's, not one of the task's choice */
	bool		was_refused;	/* an address that it must not go to */
	bool		was_allowed;	/* another address */
	bool		is_running;
	bool		is_sent;		/* some of it may be */
	bool		is_held;		/* not sent: it begins anew */
	bool		is_fresh;		/* over a connection of its own */
	Output		body;			/* the end of the answer */
	StringInfoData json;		/* all of it, if it is JSON and not too long */
	size_t		received;
	size_t		header_bytes;
	bool		is_long;		/* there was more than is read */
	char		error[CURL_ERROR_SIZE];
	TaskResult	result;			/* ended early: the verdict */
	char	   *reason;
} Request;

/* ---- the verdict ---- */

static void
free_request(Request *request)
{
	dlist_delete(&request->node);
	if (request->easy != NULL)
		curl_easy_cleanup(request->easy);
	curl_slist_free_all(request->headers);
	http_url_clear(&request->url);
	output_clear(&request->body);
	pfree(request->json.data);
	pfree(request->reason);
	pfree(request);
}

static void
report(Request *request, const Verdict *verdict)
{
	Runner	   *runner = request->runner;
	Task	   *task = request->task;

	runner->done(runner->done_arg, task, verdict);
	free_request(request);
}

/* Its verdict is known, and told at the end of the turn. */
static void
end_early(Request *request, TaskResult result, char *reason)
{
	Runner	   *runner = request->runner;

	if (request->is_running)
		http_client_cancel(runner->client, request->easy);
	request->is_running = false;
	request->is_held = false;
	request->result = result;
	request->reason = reason;
	dlist_delete(&request->node);
	dlist_push_tail(&runner->ended, &request->node);
	loop_want_turn(runner->loop);
}

static void
report_ended(Runner *runner)
{
	while (!dlist_is_empty(&runner->ended))
	{
		Request    *request = dlist_head_element(Request, node, &runner->ended);
		Verdict		verdict = {request->result, TASK_DELAY_BY_POLICY, request->reason};

		report(request, &verdict);
	}
}

/* The machine's clock: receivers compare it with theirs. */
static int64
wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
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
		.now_us = task_clock_us()
	};

	initStringInfo(&body);
	output_append(&request->body, &body);
	reply.body = body.data;
	http_reply_judge(&reply, request->runner->config->statuses, &verdict, &message);
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

/* All of it begins again, when the gate is open. */
static void
hold(Request *request)
{
	request->is_fresh = true;
	curl_easy_setopt(request->easy, CURLOPT_FRESH_CONNECT, 1L);
	dlist_delete(&request->node);
	dlist_push_tail(&request->runner->held, &request->node);
}

/* An answer that we stopped to read has its status all the same. */
static void
on_done(void *arg, CURL * easy, CURLcode code)
{
	Request    *request = arg;
	long		status = 0;

	request->is_running = false;
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (request->is_held)
		hold(request);
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
	return !request->is_own_host &&
		request->runner->config->networks == NETWORKS_PUBLIC;
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
 * be older than the rule for its address.
 */
static int
on_connected(void *arg, char *remote, char *local, int remote_port,
			 int local_port)
{
	Request    *request = arg;
	const RunnerGate *gate = request->runner->gate;

	(void) local;
	(void) remote_port;
	(void) local_port;
	if (must_be_public(request) && !http_ip_is_public(remote))
	{
		request->is_held = !request->is_fresh;
		return CURL_PREREQFUNC_ABORT;
	}
	request->is_held = gate->incarnation(gate->arg) == 0;
	if (request->is_held)
		return CURL_PREREQFUNC_ABORT;
	request->is_sent = true;
	return CURL_PREREQFUNC_OK;
}

static void
set_task(Request *request)
{
	const HandlerConfig *config = request->runner->config;
	CURL	   *easy = request->easy;
	HttpHeaders headers = {
		.keys = config->target->keys,
		.more = request->is_own_host ? config->target->headers : NULL,
		.timestamp = wall_seconds()
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
	const HandlerConfig *config = request->runner->config;
	CURL	   *easy = request->easy;

	curl_easy_setopt(easy, CURLOPT_CURLU, request->url.handle);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long) (config->connect_timeout_us / 1000));
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "twtasksd/" TWT_VERSION);
	if (config->ca_file != NULL)
	{
		curl_easy_setopt(easy, CURLOPT_CAINFO, config->ca_file);
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
	const HandlerConfig *config = request->runner->config;
	char	   *named = NULL;
	const char *error = NULL;

	if (config->nhosts > 0)
		error = http_headers_url(request->task, &named);
	if (error == NULL)
		error = http_target_choose(config, named, &request->url);
	pfree(named);
	if (error == NULL)
		request->is_own_host = http_url_is_same_host(&request->url, &config->target->url);
	return error;
}

static void
run(Request *request)
{
	request->is_running = true;
	request->is_held = false;
	http_client_start(request->runner->client, request->easy);
}

static void
run_held(Runner *runner)
{
	while (!dlist_is_empty(&runner->held) &&
		   runner->gate->incarnation(runner->gate->arg) != 0)
	{
		Request    *request = dlist_head_element(Request, node, &runner->held);

		dlist_delete(&request->node);
		dlist_push_tail(&runner->running, &request->node);
		run(request);
	}
}

static void
on_turn(void *arg)
{
	report_ended(arg);
	run_held(arg);
}

static void
http_start(Runner *runner, Task *task)
{
	Request    *request = palloc0(sizeof(Request));
	const char *error;

	task->run = request;
	request->runner = runner;
	request->task = task;
	output_init(&request->body, runner->config->max_output);
	initStringInfo(&request->json);
	dlist_push_tail(&runner->running, &request->node);

	error = choose_url(request);
	if (error != NULL)
	{
		end_early(request, TASK_ERROR,
				  psprintf("cannot send to the URL that the task names: %s", error));
		return;
	}
	request->easy = curl_easy_init();
	if (request->easy == NULL)
	{
		end_early(request, TASK_RETRY, pstrdup("out of memory"));
		return;
	}
	set_task(request);
	set_callbacks(request);
	set_limits(request);
	run(request);
}

/* ---- the rest of a runner ---- */

static Runner *
http_open(Loop *loop, const HandlerConfig *config, const RunnerGate *gate,
		  RunnerDone done, void *done_arg)
{
	Runner	   *runner = palloc0(sizeof(Runner));

	runner->loop = loop;
	runner->config = config;
	runner->gate = gate;
	runner->done = done;
	runner->done_arg = done_arg;
	runner->client = http_client_new(loop, config->concurrency, on_done);
	dlist_init(&runner->held);
	dlist_init(&runner->running);
	dlist_init(&runner->ended);
	loop_on_turn(loop, on_turn, runner);
	return runner;
}

static void
http_reload(Runner *runner, const HandlerConfig *config)
{
	runner->config = config;
}

static void
http_stop_task(Runner *runner, Task *task, const char *why)
{
	Request    *request = task->run;

	if (request->is_held && !request->is_sent)
		end_early(request, TASK_RELEASE, NULL);
	else if (request->is_held || request->is_running)
		end_early(request, TASK_FAILURE, pstrdup(why));
}

static void
http_close(Runner *runner)
{
	loop_off_turn(runner->loop, on_turn, runner);
	while (!dlist_is_empty(&runner->running))
	{
		Request    *request = dlist_head_element(Request, node, &runner->running);

		http_client_cancel(runner->client, request->easy);
		free_request(request);
	}
	while (!dlist_is_empty(&runner->held))
		free_request(dlist_head_element(Request, node, &runner->held));
	while (!dlist_is_empty(&runner->ended))
		free_request(dlist_head_element(Request, node, &runner->ended));
	http_client_free(runner->client);
	loop_defer_free(runner->loop, runner);
}

const RunnerOps runner_http = {
	.open = http_open,
	.reload = http_reload,
	.start = http_start,
	.stop_task = http_stop_task,
	.close = http_close
};
