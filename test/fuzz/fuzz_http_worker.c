/*-------------------------------------------------------------------------
 *
 * fuzz_http_worker.c
 *		URLs, answers and headers of the HTTP worker, and its settings.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <jansson.h>

#include "base/output.h"
#include "base/text.h"
#include "input.h"
#include "workers/curl/http_url.h"
#include "workers/http/http_headers.h"
#include "workers/http/http_reply.h"
#include "workers/http/settings.h"

#define NOW_US INT64CONST(1800000000000000)

/* ---- URLs ---- */

/* libcurl reads from the text the host and port that were judged. */
static void
compare_with_curl(const HttpUrl *url, const char *text)
{
	char	   *written = http_url_text(url);
	CURLU	   *handle = curl_url();
	char	   *host = NULL;
	char	   *port = NULL;
	char	   *user = NULL;

	must(curl_url_set(handle, CURLUPART_URL, written, 0) == CURLUE_OK, "libcurl reads the URL", written);
	must(curl_url_get(handle, CURLUPART_HOST, &host, 0) == CURLUE_OK && strcmp(host, url->host) == 0, "libcurl finds the host", written);
	must(curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK && atoi(port) == url->port, "libcurl finds the port", written);
	must(curl_url_get(handle, CURLUPART_USER, &user, 0) != CURLUE_OK, "libcurl finds no user", text);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(handle);
	pfree(written);
}

static void
read_url(const char *text, const char *pattern)
{
	HttpUrl		url;
	HttpUrl		copy;

	(void) http_url_check_pattern(pattern);
	if (http_url_parse(text, &url) != NULL)
		return;
	must(url.port >= 0 && url.port <= 65535, "a port is one", text);
	compare_with_curl(&url, text);
	(void) http_url_fits(&url, pattern);
	must(http_url_copy(&url, &copy) == NULL && http_url_is_same_host(&url, &copy), "a copy has the same host", text);
	http_url_clear(&copy);
	http_url_clear(&url);
}

/* An IPv4 address is as public as the IPv6 addresses that lead to it. */
static void
read_address(const char *text)
{
	struct in_addr address;
	char	   *mapped = psprintf("::ffff:%s", text);
	bool		is_public = http_ip_is_public(text);

	if (inet_pton(AF_INET, text, &address) == 1)
		must(http_ip_is_public(mapped) == is_public, "an address in disguise is the same", text);
	else
		must(!is_public || strchr(text, ':') != NULL, "no address is not public", text);
	pfree(mapped);
}

/* ---- answers ---- */

static void
judge(int status, char *json, const char *header, bool is_cut)
{
	char	   *statuses[] = {"404=done", "500-599=error", NULL};
	StringInfoData body;
	HttpReply	reply = {.status = status, .retry_after = header, .json = json, .json_len = strlen(json),
	.is_cut = is_cut, .now_us = NOW_US};
	Verdict		verdict = {0};

	initStringInfo(&body);
	output_escape(&body, json, strlen(json), 1000);
	reply.body = body.data;
	http_reply_judge(&reply, statuses, &verdict);
	must(verdict.delay_us >= TASK_DELAY_BY_POLICY, "a delay is not negative", json);
	must(verdict.outcome == NULL || is_json(verdict.outcome), "an outcome is JSON", json);
	must(verdict.add == NULL || is_json(verdict.add), "tasks to add are JSON", json);
	must(verdict.message == NULL || text_is_utf8(verdict.message, strlen(verdict.message)), "a message is UTF-8", json);
	verdict_clear(&verdict);
	pfree(body.data);
}

static void
read_answer(char *body, const char *header, Input *input)
{
	static const int statuses[] = {200, 201, 204, 301, 400, 404, 408, 425, 429, 500, 503, 599};
	int64		delay_us;

	if (http_retry_after(header, NOW_US, &delay_us))
		must(delay_us >= SECONDS_TO_US(1) && delay_us <= SECONDS_TO_US(86400), "a delay is from a second to a day", header);
	(void) http_is_json(header);
	judge(statuses[input_choice(input, lengthof(statuses))], body, *header != '\0' ? header : NULL, input_choice(input, 2) == 1);
}

/* ---- headers ---- */

static void
make_headers(const char *context, char *line)
{
	Task		task = {.type = "Type", .version = 1, .deadline_text = "2031-05-06T07:08:09Z", .tries = 1};
	HttpHeaders headers = {.timestamp = 1};
	char	   *more[] = {line, NULL};
	char	   *url = NULL;
	char	   *key = NULL;
	struct curl_slist *list;

	strcpy(task.id_text, "0192c8f0-0000-7000-8000-000000000001");
	task.context = pstrdup(context);
	task.sub_type = pstrdup(context);
	if (http_headers_check(line) == NULL)
		headers.more = more;
	must(http_headers_url(&task, &url) == NULL || url == NULL, "a URL that is refused is not there", context);
	must(http_headers_key(&task, &key) == NULL || key == NULL, "a key that is refused is not there", context);
	headers.idempotency_key = key;
	list = http_headers_make(&headers, &task);
	for (struct curl_slist *header = list; header != NULL; header = header->next)
		must(strpbrk(header->data, "\r\n") == NULL, "a header is one line", header->data);
	curl_slist_free_all(list);
	pfree(url);
	pfree(key);
	pfree(task.context);
	pfree(task.sub_type);
}

static void
read_settings(const char *hello, const char *named)
{
	WorkerFault fault = {0};
	HttpSettings *settings = http_settings_new(hello, &fault);
	HttpUrl		url;

	must((settings == NULL) == (fault.reason != NULL), "settings that are refused have a reason", hello);
	if (settings != NULL && http_settings_choose(settings, named, &url) == NULL)
	{
		(void) http_settings_keys(settings, &url);
		http_url_clear(&url);
	}
	http_settings_free(settings);
	pfree(fault.setting);
	pfree(fault.reason);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	char	   *first = input_text(&input);
	char	   *second = input_text(&input);

	read_url(first, second);
	read_address(first);
	read_answer(first, second, &input);
	make_headers(first, second);
	read_settings(first, second);
	pfree(first);
	pfree(second);
	return 0;
}
