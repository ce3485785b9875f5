/*-------------------------------------------------------------------------
 *
 * test_http_requests.c
 *		Parts of requests that routes ask for, judges, and kinds of answers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "http_fixture.h"

static char *tokens[] = {"a token that is right", NULL};
static const char *refusing;	/* the judge refuses this method */
static int	judged;
static HttpShared *shared;

/* ---- routes ---- */

static bool
write_pair(void *arg, const char *name, const char *value)
{
	appendStringInfo(arg, " %s=%s", name, value);
	return strcmp(name, "stop") != 0;
}

/* Tells what the request is. */
static void
serve_echo(void *arg, HttpRequest *request)
{
	HttpAnswer	answer = {.status = 200, .type = "text/plain"};
	StringInfoData out;
	const char *a = http_query(request, "a");
	size_t		len;

	initStringInfo(&out);
	appendStringInfo(&out, "%s %s body=%s a=%s;", http_method(request), http_part(request, 0),
					 http_body(request, &len), a != NULL ? a : "(none)");
	if (!http_each_query(request, write_pair, &out))
		appendStringInfoString(&out, " stopped");
	http_answer_with(request, &answer, out.data, out.len);
	pfree(out.data);
}

static void
judge(void *arg, HttpRequest *request)
{
	judged++;
	if (refusing != NULL && strcmp(http_method(request), refusing) == 0)
		http_refuse(request, 403, "not_you", "No.");
}

static const char *const headers[] = {"X-One", "1", "Retry-After", "7", NULL};

static const HttpAnswer versioned = {
	.status = 200, .etag = "\"v1\"", .cache_control = "no-cache", .location = "/there", .headers = headers
};

static void
serve_version(void *arg, HttpRequest *request)
{
	http_answer_with(request, &versioned, "{\"n\":1}", 7);
}

static void
serve_shared(void *arg, HttpRequest *request)
{
	http_answer_shared(request, &versioned, shared);
}

static void
serve_busy(void *arg, HttpRequest *request)
{
	HttpAnswer	answer = {.status = 503, .headers = headers};

	http_answer_with(request, &answer, "", 0);
}

static void
serve_peer(void *arg, HttpRequest *request)
{
	const HttpPeer *peer = http_peer(request);
	PeerNetwork loopback;

	assert_null(peer_parse("127.0.0.1", &loopback));
	http_answer(request, 200, !peer->is_unix && peer_is_in(&peer->address, &loopback) ? "local" : "foreign");
}

static void
serve_count(void *arg, HttpRequest *request)
{
	char	   *text = psprintf("%d", http_header_count(request, "x-user"));

	http_answer(request, 200, text);
	pfree(text);
}

static const HttpRoute routes[] = {
	{"GET", "/secret", .serve = serve_count},
	{"GET", "/count", .is_open = true, .serve = serve_count},
	{"GET", "/echo/*", .is_open = true, .serve = serve_echo},
	{"PUT", "/echo/*", .is_open = true, .serve = serve_echo},
	{"DELETE", "/echo/*", .is_open = true, .serve = serve_echo},
	{"GET", "/judged/*", .serve = serve_echo, .judge = judge},
	{"POST", "/judged/*", .serve = serve_echo, .judge = judge},
	{"GET", "/version", .is_open = true, .serve = serve_version},
	{"POST", "/version", .is_open = true, .serve = serve_version},
	{"GET", "/shared", .is_open = true, .serve = serve_shared},
	{"GET", "/busy", .is_open = true, .serve = serve_busy},
	{"GET", "/peer", .is_open = true, .serve = serve_peer},
	{"GET", "/*/*/*/*/*/*/*/*", .is_open = true, .serve = serve_echo},
};

static void
open_http(void)
{
	refusing = NULL;
	judged = 0;
	open_server(tokens, routes, lengthof(routes), NULL);
}

/* ---- requests ---- */

#define REST "Host: a\r\nConnection: close\r\n"
#define BODY "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

static void
expect(const char *text, const char *expected)
{
	const char *answer = answer_to(text);

	if (strstr(answer, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, answer);
}

static void
expect_not(const char *text, const char *unexpected)
{
	const char *answer = answer_to(text);

	if (strstr(answer, unexpected) != NULL)
		fail_msg("\"%s\" is in \"%s\"", unexpected, answer);
}

static void
test_query(void **state)
{
	open_http();
	expect("GET /echo/x HTTP/1.1\r\n" REST "\r\n", "GET x body= a=(none);");
	expect("GET /echo/x? HTTP/1.1\r\n" REST "\r\n", "a=(none);");
	expect("GET /echo/x?a=1&b=2&a=3 HTTP/1.1\r\n" REST "\r\n", "a=1; a=1 b=2 a=3");
	expect("GET /echo/x?a=%26%3d+%2B%25&%61 HTTP/1.1\r\n" REST "\r\n", "a=&= +%; a=&= +% a=");
	expect("GET /echo/x?A=1 HTTP/1.1\r\n" REST "\r\n", "a=(none); A=1");
	expect("GET /echo/x?a=b=c HTTP/1.1\r\n" REST "\r\n", "a=b=c;");
	expect("GET /echo/x?stop=1&b=2 HTTP/1.1\r\n" REST "\r\n", "; stop=1 stopped");
	expect("GET /echo/%3Fa=1?b=2 HTTP/1.1\r\n" REST "\r\n", "GET ?a=1 body= a=(none); b=2");
	close_server();
}

static void
test_long_query(void **state)
{
	StringInfoData text;

	open_http();
	initStringInfo(&text);
	appendStringInfoString(&text, "GET /echo/x?");
	for (int i = 0; i < 50; i++)
		appendStringInfo(&text, "q%d=%d&", i, i);
	appendStringInfoString(&text, "a=last HTTP/1.1\r\n" REST "\r\n");
	expect(text.data, "a=last; q0=0 q1=1 ");
	expect(text.data, " q49=49 a=last");
	pfree(text.data);
	close_server();
}

/* A route without a judge does not look at the query, so any may be there. */
static void
test_wrong_query(void **state)
{
	open_http();
	expect("GET /judged/x?a=%4 HTTP/1.1\r\n" REST "\r\n", " 400 ");
	expect("GET /judged/x?a=%00 HTTP/1.1\r\n" REST "\r\n", " 400 ");
	expect("GET /judged/x?%zz HTTP/1.1\r\n" REST "\r\n", " 400 ");
	assert_int_equal(judged, 0);
	expect("GET /echo/x?a=%4 HTTP/1.1\r\n" REST "\r\n", " 200 ");
	close_server();
}

static void
test_methods(void **state)
{
	open_http();
	expect("PUT /echo/x?a=1 HTTP/1.1\r\n" REST BODY, "PUT x body={} a=1;");
	expect("DELETE /echo/x HTTP/1.1\r\n" REST "\r\n", "DELETE x body= ");
	expect_not("HEAD /echo/x HTTP/1.1\r\n" REST "\r\n", "body=");
	expect("HEAD /echo/x HTTP/1.1\r\n" REST "\r\n", "Content-Length: 22\r\n");
	expect("POST /echo/x HTTP/1.1\r\n" REST "\r\n", " 405 ");
	expect("PATCH /echo/x HTTP/1.1\r\n" REST "\r\n", "Allow: GET, HEAD, PUT, DELETE\r\n");
	expect("OPTIONS /version HTTP/1.1\r\n" REST "\r\n", "Allow: GET, HEAD, POST\r\n");
	expect("GET /a/b/c/d/e/f/g/h HTTP/1.1\r\n" REST "\r\n", "GET a body=");
	close_server();
}

static void
test_counted_headers(void **state)
{
	open_http();
	expect("GET /count HTTP/1.1\r\n" REST "\r\n", "\r\n\r\n0");
	expect("GET /count HTTP/1.1\r\n" REST "X-User: a\r\n\r\n", "\r\n\r\n1");
	expect("GET /count HTTP/1.1\r\n" REST "X-User: a\r\nx-user: b\r\nX-User2: c\r\n\r\n", "\r\n\r\n2");
	close_server();
}

/* ---- hosts ---- */

#define ECHO "GET /echo/x HTTP/1.1\r\nConnection: close\r\n"

/* Before the list is set, hosts do not matter where tokens are asked for. */
static void
test_hosts(void **state)
{
	char	   *hosts[] = {"tasks.example", NULL};

	open_http();
	expect(ECHO "Host: evil.example\r\n\r\n", " 200 ");
	http_set_hosts(server.http, true, hosts);
	expect(ECHO "Host: tasks.example:443\r\n\r\n", " 200 ");
	expect(ECHO "Host: 10.0.0.7:9180\r\n\r\n", " 200 ");
	expect(ECHO "Host: localhost\r\n\r\n", " 200 ");
	expect("GET /echo/x HTTP/1.0\r\n\r\n", " 200 ");
	expect(ECHO "Host: evil.example\r\n\r\n", "HTTP/1.1 421 ");
	expect(ECHO "Host: \r\n\r\n", " 421 ");
	expect(ECHO "Host: tasks.example\r\nOrigin: https://tasks.example\r\n\r\n", " 200 ");
	expect(ECHO "Host: tasks.example\r\nOrigin: https://evil.example\r\n\r\n", " 403 ");
	expect("GET /nothing HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n\r\n", " 421 ");
	expect("POST /judged/x HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n" BODY, " 421 ");
	assert_int_equal(judged, 0);
	http_set_hosts(server.http, true, NULL);
	expect(ECHO "Host: tasks.example\r\n\r\n", " 421 ");
	http_set_hosts(server.http, false, NULL);
	expect(ECHO "Host: tasks.example\r\n\r\n", " 200 ");
	close_server();
}

/* Without tokens, a proxy may bring its name to open routes alone. */
static void
test_hosts_without_tokens(void **state)
{
	char	   *hosts[] = {"tasks.example", NULL};

	open_http();
	http_set_tokens(server.http, NULL);
	http_set_hosts(server.http, true, hosts);
	expect(ECHO "Host: tasks.example\r\n\r\n", " 200 ");
	expect(ECHO "Host: evil.example\r\n\r\n", " 421 ");
	expect("GET /secret HTTP/1.1\r\nConnection: close\r\nHost: tasks.example\r\n\r\n", " 403 ");
	expect("GET /secret HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\n\r\n", " 200 ");
	http_set_hosts(server.http, false, NULL);
	expect(ECHO "Host: tasks.example\r\n\r\n", " 403 ");
	close_server();
}

/* ---- judges ---- */

static void
test_judge(void **state)
{
	open_http();
	expect("GET /judged/x HTTP/1.1\r\n" REST "\r\n", "GET x body=");
	assert_int_equal(judged, 2);
	refusing = "POST";
	expect("POST /judged/x HTTP/1.1\r\n" REST "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
		   "{\"error\":\"not_you\",\"detail\":\"No.\"}");
	expect("POST /judged/x HTTP/1.1\r\n" REST BODY, " 403 ");
	expect("GET /judged/x HTTP/1.1\r\n" REST "Origin: http://evil.example\r\n\r\n", " 200 ");
	close_server();
}

/* The configuration may change while the body comes. */
static void
test_judged_again(void **state)
{
	Heard		heard = {0};

	open_http();
	heard.fd = client("POST /judged/x HTTP/1.1\r\n" REST "Content-Type: application/json\r\n"
					  "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	run_until(has_line, &heard);
	assert_non_null(strstr(heard.bytes, " 100 "));
	refusing = "POST";
	send_text(heard.fd, "{}");
	expect_end(heard.fd, NULL, " 403 ");
	close_server();
}

static void
refuse_as_problem(HttpRequest *request, int status, const char *word, const char *detail)
{
	HttpAnswer	answer = {.status = status, .type = "application/problem+json"};

	http_answer_with(request, &answer, word, strlen(word));
}

static void
test_refusals(void **state)
{
	open_http();
	http_set_refusal(server.http, "/judged/", refuse_as_problem);
	refusing = "GET";
	expect("GET /judged/x HTTP/1.1\r\n" REST "\r\n", "not_you");
	expect("GET /judged/x/y HTTP/1.1\r\n" REST "\r\n", "no_such_path");
	expect("PUT /judged/x HTTP/1.1\r\n" REST "\r\n", "Content-Type: application/problem+json\r\n");
	expect("GET /judged/x HTTP/1.1\r\n" REST "Host: b\r\n\r\n", "application/problem+json");
	expect("GET /judgedx HTTP/1.1\r\n" REST "\r\n", "{\"error\":\"no_such_path\"");
	close_server();
}

/* ---- answers ---- */

#define VERSION "GET /version HTTP/1.1\r\n" REST

static void
test_headers(void **state)
{
	open_http();
	expect(VERSION "\r\n", "\r\nETag: \"v1\"\r\n");
	expect(VERSION "\r\n", "\r\nX-One: 1\r\n");
	expect(VERSION "\r\n", "\r\nCache-Control: no-cache\r\n");
	expect(VERSION "\r\n", "\r\nContent-Type: application/json\r\n");
	expect(VERSION "\r\n", "\r\nLocation: /there\r\n");
	expect(VERSION "\r\n", "\r\n\r\n{\"n\":1}");
	expect("GET /echo/x HTTP/1.1\r\n" REST "\r\n", "\r\nCache-Control: no-store\r\n");
	expect("GET /busy HTTP/1.1\r\n" REST "\r\n", "\r\nRetry-After: 7\r\n");
	expect_not("GET /busy HTTP/1.1\r\n" REST "\r\n", "Retry-After: 1\r\n");
	close_server();
}

static void
expect_version(const char *list, int status)
{
	char	   *text = psprintf(VERSION "If-None-Match: %s\r\n\r\n", list);
	char	   *expected = psprintf("HTTP/1.1 %d ", status);

	expect(text, expected);
	pfree(expected);
	pfree(text);
}

static void
test_known_version(void **state)
{
	static const char *const known[] = {
		"*", "\"v1\"", "W/\"v1\"", "\"v0\",\"v1\"", "\"v0\" ,, W/\"c,d\" , \"v1\" "
	};
	static const char *const unknown[] = {
		"", "v1", "\"v1", "\"v\"", "\"v10\"", "\"v0,\"v1\"\"", "x, \"v1\"", "W/", ","
	};

	open_http();
	for (int i = 0; i < (int) lengthof(known); i++)
		expect_version(known[i], 304);
	for (int i = 0; i < (int) lengthof(unknown); i++)
		expect_version(unknown[i], 200);
	close_server();
}

static void
test_not_modified(void **state)
{
	open_http();
	expect(VERSION "If-None-Match: \"v1\"\r\n\r\n", "\r\nETag: \"v1\"\r\n");
	expect_not(VERSION "If-None-Match: \"v1\"\r\n\r\n", "{\"n\":1}");
	expect_not(VERSION "If-None-Match: \"v1\"\r\n\r\n", "\r\nContent-Type");
	expect_not(VERSION "If-None-Match: \"v1\"\r\n\r\n", "Content-Length: 0");
	expect("HEAD /version HTTP/1.1\r\n" REST "If-None-Match: \"v1\"\r\n\r\n", " 304 ");
	expect("POST /version HTTP/1.1\r\n" REST "If-None-Match: \"v1\"\r\n\r\n", " 200 ");
	close_server();
}

/* After 304 the connection goes on. */
static void
test_kept_after_304(void **state)
{
	open_http();
	expect_end(client("GET /version HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"v1\"\r\n\r\n" VERSION "\r\n"),
			   NULL, "{\"n\":1}");
	close_server();
}

/* A body lives until the end of the answers with it. */
static void
test_shared(void **state)
{
	int			fd;
	Heard		heard = {0};

	open_http();
	shared = http_share("{\"shared\":1}", 12);
	expect("GET /shared HTTP/1.1\r\n" REST "\r\n", "\r\n\r\n{\"shared\":1}");
	fd = client("GET /shared HTTP/1.1\r\nHost: a\r\n\r\n");
	heard.fd = fd;
	run_until(has_line, &heard);
	http_unshare(shared);
	close(fd);
	shared = http_share_static("for ever", 8);
	expect("GET /shared HTTP/1.1\r\n" REST "\r\n", "\r\n\r\nfor ever");
	expect("GET /shared HTTP/1.1\r\n" REST "If-None-Match: \"v1\"\r\n\r\n", " 304 ");
	http_unshare(shared);
	http_unshare(NULL);
	close_server();
}

static void
test_peer(void **state)
{
	open_http();
	expect("GET /peer HTTP/1.1\r\n" REST "\r\n", "\r\n\r\nlocal");
	close_server();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_query),
		TEST(test_long_query),
		TEST(test_wrong_query),
		TEST(test_methods),
		TEST(test_counted_headers),
		TEST(test_hosts),
		TEST(test_hosts_without_tokens),
		TEST(test_judge),
		TEST(test_judged_again),
		TEST(test_refusals),
		TEST(test_headers),
		TEST(test_known_version),
		TEST(test_not_modified),
		TEST(test_kept_after_304),
		TEST(test_shared),
		TEST(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
