/*-------------------------------------------------------------------------
 *
 * test_http.c
 *		Deadlines, tokens and framing of the HTTP server, over real sockets.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

#define SHORT_US MS_TO_US(300)
#define LONG_US SECONDS_TO_US(60)

static char *tokens[] = {"a token that is right", NULL};
static HttpRequest *served;		/* by the route that does not answer */

static void
serve_never(void *arg, HttpRequest *request)
{
	served = request;
}

static void
serve_ok(void *arg, HttpRequest *request)
{
	http_answer(request, 200, "{}");
}

static const HttpRoute routes[] = {
	{"POST", "/ok", .is_open = true, .serve = serve_ok},
	{"POST", "/never", .serve = serve_never},
	{"POST", "/open", .is_open = true, .serve = serve_never},
};

static void
open_http(int64 headers_us, int64 request_us)
{
	served = NULL;
	open_server(tokens, routes, lengthof(routes), NULL);
	http_hurry(server.http, headers_us, request_us);
}

/* A client whose request was judged, and whose body is awaited. */
static int
busy_client(const char *head)
{
	char	   *text = psprintf("%sContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", head);
	Heard		heard = {.fd = client(text)};

	pfree(text);
	run_until(has_line, &heard);
	assert_non_null(strstr(heard.bytes, " 100 "));
	return heard.fd;
}

#define HEAD "POST /never HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a token that is right\r\n" \
	"Content-Type: application/json\r\nConnection: close\r\n"

static void
test_headers(void **state)
{
	open_http(SHORT_US, LONG_US);
	expect_end(client("GET /ne"), "x", "");
	expect_end(client("GET /never HTTP/1.1\r\n"), "X: y\r\n", "");
	close_server();
}

static void
test_body(void **state)
{
	open_http(LONG_US, SHORT_US);
	expect_end(client(HEAD "Content-Length: 100000\r\n\r\n{"), " ", "");
	expect_end(client(HEAD "Transfer-Encoding: chunked\r\n\r\n"), "1\r\n \r\n", "");
	assert_null(served);
	close_server();
}

/* The late answer of the route then harms nobody. */
static void
test_suspended(void **state)
{
	open_http(SHORT_US, SHORT_US);
	expect_end(client(HEAD "Content-Length: 2\r\n\r\n{}"), NULL, "its outcome is not known");
	assert_non_null(served);
	assert_null(http_header(served, "Host"));
	http_answer(served, 200, "{}");
	assert_int_equal(http_requests(server.http), 0);
	close_server();
}

/* A reload while the body comes may take the token away. */
static void
test_token_taken_away(void **state)
{
	char	   *others[] = {"another token", NULL};
	int			fd;

	open_http(LONG_US, LONG_US);
	fd = busy_client(HEAD);
	http_set_tokens(server.http, others);
	send_text(fd, "{}");
	expect_end(fd, NULL, " 401 ");
	assert_null(served);
	close_server();
}

static bool
is_served(void *arg)
{
	return served != NULL;
}

/* The body of a request that needs no token holds no place, another one does. */
static void
test_places(void **state)
{
	int			fd;
	int			next;

	open_http(LONG_US, LONG_US);
	http_limit(server.http, 1, NULL);
	fd = busy_client("POST /open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n");
	next = busy_client(HEAD);
	expect_end(fd, NULL, "");
	expect_end(client("GET /never HTTP/1.1\r\n"), NULL, "");
	send_text(next, "{}");
	run_until(is_served, NULL);
	http_answer(served, 200, "{}");
	expect_end(next, NULL, " 200 ");
	close_server();
}

/* A request that a proxy could read in two ways is refused, and ends its connection. */
static void
expect_refused(const char *text)
{
	expect_end(client(text), NULL, " 400 ");
}

#define OK "POST /ok HTTP/1.1\r\n"
#define HOST "Host: a\r\n"
#define JSON "Content-Type: application/json\r\n"
#define TWO "Content-Length: 2\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static void
test_two_lengths(void **state)
{
	open_http(LONG_US, LONG_US);
	expect_refused(OK HOST JSON TWO TWO "\r\n{}");
	expect_refused(OK HOST JSON TWO "content-length: 3\r\n\r\n{}");
	expect_refused(OK HOST JSON "Content-Length: 2, 2\r\n\r\n{}");
	expect_refused(OK HOST JSON "Content-Length: +2\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO CHUNKED "\r\n2\r\n{}\r\n0\r\n\r\n");
	expect_refused(OK HOST JSON CHUNKED TWO "\r\n2\r\n{}\r\n0\r\n\r\n");
	close_server();
}

static void
test_transfer_encoding(void **state)
{
	open_http(LONG_US, LONG_US);
	expect_refused(OK HOST JSON CHUNKED CHUNKED "\r\n2\r\n{}\r\n0\r\n\r\n");
	expect_refused(OK HOST JSON "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
	expect_refused(OK HOST JSON "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
	expect_refused(OK HOST JSON "Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
	close_server();
}

static void
test_lines(void **state)
{
	open_http(LONG_US, LONG_US);
	expect_refused(OK HOST JSON "Content-Length : 2\r\n\r\n{}");
	expect_refused(OK HOST JSON "Content-Length\t: 2\r\n\r\n{}");
	expect_refused(OK HOST JSON " Content-Length: 2\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO "A@B: c\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO ": c\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO "X: a\r\n b\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO "X: a\rY: b\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO "X: a\vb\r\n\r\n{}");
	close_server();
}

static void
test_bare_line_ends(void **state)
{
	open_http(LONG_US, LONG_US);
	expect_refused("POST /ok HTTP/1.1\n" HOST "\r\n");
	expect_refused(OK "Host: a\n\r\n");
	expect_refused(OK HOST "\n");
	expect_refused(OK "X: y\n" HOST "\r\n");
	expect_refused(OK HOST JSON "X:  y\nContent-Length: 2\r\n\r\n{}");
	expect_refused(OK HOST JSON TWO "X: y \nZ: z\r\n\r\n{}");
	expect_refused("POST /ok HTTP/1.1\nHost: a\n\n");
	close_server();
}

static void
test_two_authorizations(void **state)
{
	open_http(LONG_US, LONG_US);
	expect_refused(HEAD "Authorization: Bearer another\r\nContent-Length: 2\r\n\r\n{}");
	expect_refused(HEAD "Host: b\r\nContent-Length: 2\r\n\r\n{}");
	expect_refused(HEAD JSON "Content-Length: 2\r\n\r\n{}");
	expect_refused(OK HOST "Origin: http://a\r\norigin: http://b\r\n\r\n");
	assert_null(served);
	close_server();
}

/* Two requests on one connection, the second a long one; then one with chunks. */
static void
test_right_framing(void **state)
{
	char	   *pad = psprintf("X-Long: %0*d\r\nX-Space:  \t y\r\n", 9000, 7);
	Heard		heard = {.fd = -1};

	open_http(LONG_US, LONG_US);
	heard.fd = client(OK HOST JSON TWO "\r\n{}" OK HOST "Accept: a\r\nAccept: b\r\nX-Empty:\r\n");
	run_until(has_line, &heard);
	send_text(heard.fd, pad);
	pfree(pad);
	send_text(heard.fd, "\r\n");
	expect_end(client(OK HOST JSON CHUNKED "\r\n2\r\n{}\r\n0\r\n\r\n" OK HOST "\r\n"), NULL,
			   "Connection: close\r\n");
	shutdown(heard.fd, SHUT_WR);
	run_until(has_ended, &heard);
	assert_int_equal(strncmp(heard.bytes, "HTTP/1.1 200 ", 13), 0);
	assert_non_null(strstr(heard.bytes + 13, "HTTP/1.1 200 "));
	close(heard.fd);
	close_server();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_headers),
		TEST(test_body),
		TEST(test_suspended),
		TEST(test_token_taken_away),
		TEST(test_places),
		TEST(test_two_lengths),
		TEST(test_transfer_encoding),
		TEST(test_lines),
		TEST(test_bare_line_ends),
		TEST(test_two_authorizations),
		TEST(test_right_framing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
