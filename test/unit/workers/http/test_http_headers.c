/*-------------------------------------------------------------------------
 *
 * test_http_headers.c
 *		The headers of a task's request, and what must not get into them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <curl/curl.h>

#include "check.h"
#include "workers/http/http_headers.h"
#include "base/trace.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"
#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static Task
plain_task(void)
{
	Task		task = {
		.id_text = ID,
		.version = 7,
		.type = "SEND|X",
		.tries = 2,
		.deadline_text = "2031-01-02T03:04:05Z"
	};

	return task;
}

/* All lines, each ended by a line end; to be freed. */
static char *
make(const HttpHeaders *headers, const Task *task)
{
	struct curl_slist *list = http_headers_make(headers, task);
	struct curl_slist *line;
	StringInfoData text;

	initStringInfo(&text);
	for (line = list; line != NULL; line = line->next)
	{
		/* a line end within would be a header of somebody else's making */
		assert_null(strpbrk(line->data, "\r\n"));
		appendStringInfo(&text, "%s\n", line->data);
	}
	curl_slist_free_all(list);
	return text.data;
}

static void
expect_context(const char *context, const char *expected)
{
	HttpHeaders none = {0};
	Task		task = plain_task();
	char	   *bare = make(&none, &task);
	char	   *text;
	char	   *all;

	task.context = unconstify(char *, context);
	text = make(&none, &task);
	bare[strlen(bare) - strlen("Expect:\n")] = '\0';
	all = psprintf("%s%sExpect:\n", bare, expected);
	assert_string_equal(text, all);
	pfree(all);
	pfree(text);
	pfree(bare);
}

static void
test_plain(void **state)
{
	HttpHeaders none = {0};
	Task		task = plain_task();
	char	   *text = make(&none, &task);

	assert_string_equal(text,
						"Content-Type: application/json\n"
						"Accept-Encoding: identity\n"
						"Idempotency-Key: " ID ":7\n"
						"Twtasks-Id: " ID "\n"
						"Twtasks-Version: 7\n"
						"Twtasks-Type: SEND|X\n"
						"Twtasks-Tries: 2\n"
						"Twtasks-Deadline: 2031-01-02T03:04:05Z\n"
						"Expect:\n");
	pfree(text);
	task.is_binary = true;
	text = make(&none, &task);
	assert_non_null(strstr(text, "Content-Type: application/octet-stream\n"));
	pfree(text);
}

static void
test_sub_type(void **state)
{
	HttpHeaders none = {0};
	Task		task = plain_task();
	char	   *text;

	task.sub_type = "a b%\r\nX-Evil: 1\xc3\xa4~";
	text = make(&none, &task);
	assert_non_null(strstr(text, "Twtasks-Sub-Type: a%20b%25%0D%0AX-Evil:%201%C3%A4~\n"));
	pfree(text);
}

static void
test_context(void **state)
{
	expect_context("{}", "");
	expect_context("[1]", "");
	expect_context("7", "");
	expect_context("{\"traceparent\": \"" PARENT "\"}", "traceparent: " PARENT "\n");
	expect_context("{\"traceparent\": \"" PARENT "\", \"tracestate\": \"a=b\", \"request_id\": \"r-1\"}",
				   "traceparent: " PARENT "\ntracestate: a=b\nX-Request-Id: r-1\n");
	expect_context("{\"tracestate\": \"a=b\"}", "");
}

/* A malformed member of the context is left out, and nothing else. */
static void
test_context_that_does_not_fit(void **state)
{
	static const char *const wrong[] = {
		"\"\"", "7", "null", "\"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"",
		"\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331\"",
		"\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x\"",
		"\"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-010\"",
		"\"00-00000000000000000000000000000000-b7ad6b7169203331-01\"",
		"\"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\"",
		"\"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"",
		"\"" PARENT "\\r\\nX-Evil: 1\"", "\"\\n" PARENT "\""
	};

	for (int i = 0; i < (int) lengthof(wrong); i++)
	{
		char	   *context = psprintf("{\"traceparent\": %s, \"tracestate\": \"a=b\", \"request_id\": \"r\\n\"}", wrong[i]);

		expect_context(context, "");
		pfree(context);
	}
	expect_context("{\"request_id\": \"\xc3\xa4\"}", "");
}

static void
test_more(void **state)
{
	char	   *lines[] = {"Authorization: Bearer x", "content-type: text/xml", NULL};
	HttpHeaders more = {.more = lines};
	Task		task = plain_task();
	char	   *text = make(&more, &task);

	assert_non_null(strstr(text, "Authorization: Bearer x\n"));
	assert_non_null(strstr(text, "content-type: text/xml\n"));
	assert_null(strstr(text, "application/json"));
	pfree(text);
}

static void
test_checks(void **state)
{
	static const char *const right[] = {"A: b", "X-Api-Key: b c", "a:b", "Content-Type: text/xml"};
	static const char *const wrong[] = {
		"", "A", ": b", "A:", "A:  ", "A b: c", " A: b", "A: b\r", "A: \xc3\xa4", "Host: x", "HOST: x",
		"Content-Length: 1", "Transfer-Encoding: chunked", "Expect: x", "Idempotency-Key: x", "Twtasks-Id: x",
		"webhook-id: x", "Webhook-Signature: x", "traceparent: x", "Connection: close", "Proxy-Authorization: x"
	};

	for (int i = 0; i < (int) lengthof(right); i++)
		if (http_headers_check(right[i]) != NULL)
			fail_msg("refused: %s", right[i]);
	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (http_headers_check(wrong[i]) == NULL)
			fail_msg("taken: %s", wrong[i]);
}

static void
test_url(void **state)
{
	static const char *const none[] = {NULL, "{}", "7", "[\"http_url\"]", "{\"http_url\": null}", "{\"a\": 12345678901234567890}"};
	static const char *const named[] = {
		"{\"http_url\": \"https://a.example/\"}",
		"{\"ref\": [12345678901234567890, 1e999], \"http_url\": \"https://a.example/\"}"
	};
	static const char *const wrong[] = {
		"{\"http_url\": 7}", "{\"http_url\": [\"https://a.example/\"]}", "{\"http_url\": {}}", "{\"http_url\": false}",
		"{\"http_url\": \"https://a.example/\"", "", "{\"http_url\": \"https://a.example/\\ud800\"}"
	};
	Task		task = plain_task();
	char	   *url;

	for (int i = 0; i < (int) lengthof(none); i++)
	{
		task.context = unconstify(char *, none[i]);
		assert_null(http_headers_url(&task, &url));
		assert_null(url);
	}
	for (int i = 0; i < (int) lengthof(named); i++)
	{
		task.context = unconstify(char *, named[i]);
		assert_null(http_headers_url(&task, &url));
		assert_string_equal(url, "https://a.example/");
		pfree(url);
	}
	for (int i = 0; i < (int) lengthof(wrong); i++)
	{
		task.context = unconstify(char *, wrong[i]);
		assert_non_null(http_headers_url(&task, &url));
		assert_null(url);
	}
}

static void
test_key(void **state)
{
	char	   *longest = psprintf("{\"idempotency_key\": \"%0255d\"}", 1);
	char	   *longer = psprintf("{\"idempotency_key\": \"%0256d\"}", 1);
	char	   *unread = psprintf("%*s", CONTEXT_READ_MAX + 1, "{\"idempotency_key\": \"a\"}");
	const char *const none[] = {NULL, "{}", "7", "{\"idempotency_key\": null}", "{\"a\": \"idempotency_key\"}", "{\"a\": {\"idempotency_key\": \"a\"}}"};
	const char *const named[] = {"{\"idempotency_key\": \"refund-7\"}", longest};
	const char *const wrong[] = {
		"{\"idempotency_key\": 7}", "{\"idempotency_key\": {}}", "{\"idempotency_key\": \"\"}",
		"{\"idempotency_key\": \"a\"", longer, unread
	};
	Task		task = plain_task();
	char	   *key;

	for (int i = 0; i < (int) lengthof(none); i++)
	{
		task.context = unconstify(char *, none[i]);
		assert_null(http_headers_key(&task, &key));
		assert_null(key);
	}
	for (int i = 0; i < (int) lengthof(named); i++)
	{
		task.context = unconstify(char *, named[i]);
		assert_null(http_headers_key(&task, &key));
		assert_non_null(key);
		pfree(key);
	}
	for (int i = 0; i < (int) lengthof(wrong); i++)
	{
		task.context = unconstify(char *, wrong[i]);
		assert_non_null(http_headers_key(&task, &key));
		assert_null(key);
	}
	pfree(longest);
	pfree(longer);
	pfree(unread);
}

static void
test_key_in_headers(void **state)
{
	HttpHeaders with_key = {.idempotency_key = "refund 7%\r\nX-Evil: 1"};
	Task		task = plain_task();
	char	   *text = make(&with_key, &task);

	assert_non_null(strstr(text, "Idempotency-Key: refund%207%25%0D%0AX-Evil:%201\n"));
	assert_null(strstr(text, ID ":7"));
	pfree(text);
}

/* With spaces, or anything else, in front. */
static char *
long_context(size_t len)
{
	const char *end = "{\"request_id\": \"r-17\", \"http_url\": \"https://a.example/\"}";

	return psprintf("%*s", (int) len, end);
}

static void
test_long_context(void **state)
{
	HttpHeaders none = {0};

	(void) state;
	for (int more = 0; more <= 1; more++)
	{
		char	   *context = long_context(CONTEXT_READ_MAX + more);
		Task		task = plain_task();
		char	   *text;
		char	   *url;

		task.context = context;
		text = make(&none, &task);
		assert_int_equal(strstr(text, "X-Request-Id: r-17") == NULL, more);
		assert_int_equal(http_headers_url(&task, &url) != NULL, more);
		assert_int_equal(url == NULL, more);
		if (url != NULL)
			pfree(url);
		pfree(text);
		pfree(context);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_sub_type),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_context_that_does_not_fit),
		cmocka_unit_test(test_long_context),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_url),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_key_in_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
