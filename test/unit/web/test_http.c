/*-------------------------------------------------------------------------
 *
 * test_http.c
 *		Deadlines and tokens of the HTTP server, over real sockets.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "execute_fixture.h"
#include "web/http.h"

#define SHORT_US MS_TO_US(300)
#define LONG_US SECONDS_TO_US(60)

static char *tokens[] = {"a token that is right", NULL};
static Http *http;
static HttpRequest *served;		/* by the route that does not answer */
static int	port;

static void
serve_never(void *arg, HttpRequest *request)
{
	served = request;
}

static const HttpRoute routes[] = {
	{"POST", "/never", .serve = serve_never},
	{"POST", "/open", .is_open = true, .serve = serve_never},
};

static int
free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static bool
connects(void *arg)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
	{
		*(int *) arg = fd;
		return true;
	}
	close(fd);
	return false;
}

static int
client(const char *text)
{
	int			fd;

	run_until(connects, &fd);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	return fd;
}

static void
open_http(int64 headers_us, int64 request_us)
{
	port = free_port();
	served = NULL;
	http = http_open(fixture.loop, psprintf("127.0.0.1:%d", port), tokens);
	http_hurry(http, headers_us, request_us);
	http_add_routes(http, routes, lengthof(routes), NULL);
}

/* The bytes that came until the end of the stream. */
typedef struct Heard
{
	int			fd;
	char		bytes[4096];
	int			len;
	const char *drips;			/* is sent now and then; NULL: nothing */
	int64		dripped_us;
} Heard;

/* Neither a limit of bytes nor one of idle time comes before a deadline. */
static void
drip(Heard *heard)
{
	int64		now = loop_now_us(fixture.loop);

	if (heard->drips == NULL || now - heard->dripped_us < MS_TO_US(50))
		return;
	heard->dripped_us = now;
	(void) send(heard->fd, heard->drips, strlen(heard->drips), MSG_NOSIGNAL);
}

static bool
has_ended(void *arg)
{
	Heard	   *heard = arg;
	ssize_t		n = recv(heard->fd, heard->bytes + heard->len, sizeof(heard->bytes) - 1 - heard->len,
						 MSG_DONTWAIT);

	if (n > 0)
		heard->len += n;
	heard->bytes[heard->len] = '\0';
	drip(heard);
	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void
expect_end(int fd, const char *drips, const char *expected)
{
	Heard		heard = {.fd = fd, .drips = drips};

	run_until(has_ended, &heard);
	if (strstr(heard.bytes, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, heard.bytes);
	close(fd);
}

static bool
has_line(void *arg)
{
	return has_ended(arg) || strchr(((Heard *) arg)->bytes, '\n') != NULL;
}

/* A client whose request was judged, and whose body is awaited. */
static int
busy_client(const char *head)
{
	Heard		heard = {.fd = client(psprintf("%sContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", head))};

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
	http_close(http);
}

static void
test_body(void **state)
{
	open_http(LONG_US, SHORT_US);
	expect_end(client(HEAD "Content-Length: 100000\r\n\r\n{"), " ", "");
	expect_end(client(HEAD "Transfer-Encoding: chunked\r\n\r\n"), "1\r\n \r\n", "");
	assert_null(served);
	http_close(http);
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
	assert_int_equal(http_requests(http), 0);
	http_close(http);
}

/* A reload while the body comes may take the token away. */
static void
test_token_taken_away(void **state)
{
	char	   *others[] = {"another token", NULL};
	int			fd;

	open_http(LONG_US, LONG_US);
	fd = busy_client(HEAD);
	http_set_tokens(http, others);
	assert_int_equal(send(fd, "{}", 2, MSG_NOSIGNAL), 2);
	expect_end(fd, NULL, " 401 ");
	assert_null(served);
	http_close(http);
}

/* The body of a request that needs no token holds no place. */
static void
test_places(void **state)
{
	int			fd;
	int			next;

	open_http(LONG_US, LONG_US);
	http_limit(http, 1, NULL);
	fd = busy_client("POST /open HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n");
	next = busy_client(HEAD);
	expect_end(fd, NULL, "");
	expect_end(client("GET /never HTTP/1.1\r\n"), NULL, "");
	close(next);
	http_close(http);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
