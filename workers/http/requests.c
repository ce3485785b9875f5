/*-------------------------------------------------------------------------
 *
 * requests.c
 *		A POST for each task.
 *
 *	 a request is	until							and then
 *	 looked up		its host's addresses are known	running
 *	 running		libcurl has an end of it		the verdict
 *	 held			the end of the turn				running, once more
 *	 ended			the end of the turn				the verdict
 *
 * A request that cannot be sent, or is cancelled, ends early: its verdict is
 * known at once, and reported at the end of the turn.  http_post.h says when a
 * request begins again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/http/http_lookup.h"
#include "workers/http/http_post.h"
#include "workers/http/http_reply.h"
#include "workers/http/requests.h"
#include "workers/lib/task_line.h"
#include "workers/lib/worker_reply.h"

/* The wait of a task that goes back. */
#define AGAIN_US SECONDS_TO_US(1)

struct Requests
{
	Loop	   *loop;
	HttpSettings *settings;
	StringInfo	replies;
	HttpClient *client;
	HttpLookups *lookups;
	dlist_head	held;
	dlist_head	running;		/* and looked up */
	dlist_head	ended;
};

typedef struct Request
{
	dlist_node	node;
	Requests   *requests;
	Task	   *task;
	HttpLookup	lookup;
	LoopTimer  *patience;		/* with the lookup; NULL: none was needed */
	HttpPost	post;
	Verdict		verdict;		/* set if it ended early */
} Request;

/* ---- the verdict ---- */

static void
free_request(Request *request)
{
	dlist_delete(&request->node);
	http_lookup_cancel(&request->lookup);
	if (request->patience != NULL)
		loop_timer_free(request->patience);
	http_post_clear(&request->post, request->requests->client);
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

/*
 * Keeps the verdict, to be reported at the end of the turn; message is
 * palloc'd.
 */
static void
end_early(Request *request, TaskResult result, char *message)
{
	Requests   *requests = request->requests;

	request->verdict.result = result;
	request->verdict.delay_us = result == TASK_RELEASE ? AGAIN_US : TASK_DELAY_BY_POLICY;
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

static const char *
get_header(CURL * easy, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}

static bool
is_coding(const char *value)
{
	return value[strspn(value, " \t\r\n")] != '\0' && pg_strcasecmp(value, "identity") != 0 &&
		pg_strcasecmp(value, "chunked") != 0;
}

/* A coding that we did not ask for; a body without bytes has none that matters. */
static const char *
get_coding(const HttpPost *post)
{
	static const char *const names[] = {"Content-Encoding", "Transfer-Encoding"};
	struct curl_header *header;

	for (size_t i = 0; i < lengthof(names) && post->received > 0; i++)
		for (size_t n = 0; curl_easy_header(post->easy, names[i], n, CURLH_HEADER, -1, &header) == CURLHE_OK; n++)
			if (is_coding(header->value))
				return header->value;
	return NULL;
}

static void
report_answer(Request *request)
{
	const HttpPost *post = &request->post;
	const HttpSettings *settings = request->requests->settings;
	StringInfoData body;
	Verdict		verdict = {0};
	long		status = 0;
	HttpReply	reply = {
		.retry_after = get_header(post->easy, "Retry-After"),
		.coding = get_coding(post),
		.json = post->json.data,
		.json_len = post->json.len,
		.is_cut = post->stopped == STOPPED_LONG,
		.now_us = http_post_now_us()
	};

	curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
	reply.status = status;
	initStringInfo(&body);
	output_append(&post->body, &body);
	reply.body = body.data;
	http_reply_judge(&reply, settings->statuses, &verdict);
	if (verdict.message != NULL)
		verdict.message = http_settings_redact(settings, unconstify(char *, verdict.message));
	report(request, &verdict);
	verdict_clear(&verdict);
	pfree(body.data);
}

static void
report_failure(Request *request, TaskResult result, const char *what)
{
	const HttpPost *post = &request->post;
	char	   *message = psprintf("%s %s port %d: %s", what, post->url.host, post->url.port, post->error);
	Verdict		verdict = {result, result == TASK_RELEASE ? AGAIN_US : TASK_DELAY_BY_POLICY, message};

	report(request, &verdict);
	pfree(message);
}

static void
report_refusal(Request *request)
{
	char	   *message = psprintf("could not connect to \"%s\": a task must not choose a host with a private address",
								   request->post.url.host);
	Verdict		verdict = {TASK_ERROR, TASK_DELAY_BY_POLICY, message};

	report(request, &verdict);
	pfree(message);
}

static void
hold(Request *request)
{
	dlist_delete(&request->node);
	dlist_push_tail(&request->requests->held, &request->node);
}

static void
on_done(void *arg, CURL * easy, CURLcode code)
{
	static const Verdict released = {TASK_RELEASE, TASK_DELAY_BY_POLICY, NULL};
	Request    *request = arg;

	switch (http_post_end(&request->post, code))
	{
		case HTTP_POST_ANSWERED:
			report_answer(request);
			break;
		case HTTP_POST_AGAIN:
			hold(request);
			break;
		case HTTP_POST_LATE:
			report(request, &released);
			break;
		case HTTP_POST_REFUSED:
			report_refusal(request);
			break;
		case HTTP_POST_SHORT:
			report_failure(request, TASK_RELEASE, "could not connect to");
			break;
		case HTTP_POST_NOT_SENT:
			report_failure(request, TASK_RETRY, "could not connect to");
			break;
		case HTTP_POST_NO_ANSWER:
			report_failure(request, TASK_FAILURE, "no answer from");
			break;
	}
}

/* ---- the request ---- */

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
		http_post_restart(&request->post, requests->client);
	}
}

static void
send_request(Request *request)
{
	Requests   *requests = request->requests;

	if (!http_post_start(&request->post, requests->client, requests->settings, request->task, request))
		end_early(request, TASK_RETRY, pstrdup("out of memory"));
}

static void
on_addresses(void *arg, const char *addresses, const char *error)
{
	Request    *request = arg;

	loop_timer_stop(request->patience);
	if (addresses == NULL)
	{
		report_failure(request, http_post_not_found(&request->post, error) ? TASK_RELEASE : TASK_RETRY,
					   "could not connect to");
		return;
	}
	http_post_set_addresses(&request->post, addresses);
	send_request(request);
}

/* Nobody has the request, so its task goes back without a try. */
static void
on_no_addresses(void *arg)
{
	Request    *request = arg;

	strlcpy(request->post.error, "its name was not looked up in time", sizeof(request->post.error));
	report_failure(request, TASK_RELEASE, "could not connect to");
}

static void
look_up(Request *request)
{
	Requests   *requests = request->requests;
	const char *addresses;

	request->lookup.fn = on_addresses;
	request->lookup.arg = request;
	addresses = http_lookup_start(requests->lookups, request->post.url.host, &request->lookup);
	if (addresses == NULL)
	{
		request->patience = loop_timer_new(requests->loop, on_no_addresses, request);
		loop_timer_start(request->patience, requests->settings->connect_timeout_us);
		return;
	}
	http_post_set_addresses(&request->post, addresses);
	send_request(request);
}

void
requests_start(Requests *requests, Task *task, int64 start_by_us)
{
	Request    *request = palloc0(sizeof(Request));
	HttpPost   *post = &request->post;
	const char *error;

	request->requests = requests;
	request->task = task;
	post->loop = requests->loop;
	post->start_by_us = start_by_us;
	dlist_push_tail(&requests->running, &request->node);

	error = http_post_init(post, requests->settings, task);
	if (error != NULL)
		end_early(request, TASK_ERROR, pstrdup(error));
	else if (http_url_has_name(&post->url))
		look_up(request);
	else
		send_request(request);
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

/* Nobody has the request, so its task goes back without a try. */
static void
stop_lookup(Request *request, const char *why)
{
	http_lookup_cancel(&request->lookup);
	loop_timer_stop(request->patience);
	end_early(request, TASK_RELEASE,
			  psprintf("%s, while the name %s was looked up", why, request->post.url.host));
}

void
requests_cancel(Requests *requests, const char *id, int64 version, const char *why)
{
	Request    *request = find_running(requests, id, version);

	if (request == NULL)
		return;
	if (request->post.easy != NULL)
	{
		http_client_cancel(requests->client, request->post.easy);
		end_early(request, TASK_CANCELLED, pstrdup(why));
		return;
	}
	stop_lookup(request, why);
}

/* ---- the whole ---- */

Requests *
requests_new(Loop *loop, StringInfo replies)
{
	Requests   *requests = palloc0(sizeof(Requests));

	requests->loop = loop;
	requests->replies = replies;
	requests->client = http_client_new(loop, on_done);
	requests->lookups = http_lookups_new(loop);
	dlist_init(&requests->held);
	dlist_init(&requests->running);
	dlist_init(&requests->ended);
	loop_on_turn(loop, on_turn, requests);
	return requests;
}

/* Their hosts come from the settings before, and must get no secret of the new ones. */
static void
give_back_looked_up(Requests *requests)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &requests->running)
	{
		Request    *request = dlist_container(Request, node, iter.cur);

		if (request->post.easy == NULL)
			stop_lookup(request, "the configuration has changed");
	}
}

void
requests_set(Requests *requests, HttpSettings *settings)
{
	give_back_looked_up(requests);
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

		if (request->post.easy != NULL)
			http_client_cancel(requests->client, request->post.easy);
		free_request(request);
	}
	while (!dlist_is_empty(&requests->held))
		free_request(dlist_head_element(Request, node, &requests->held));
	report_ended(requests);
	http_lookups_free(requests->lookups);
	http_client_free(requests->client);
	http_settings_free(requests->settings);
	loop_defer_free(requests->loop, requests);
}
