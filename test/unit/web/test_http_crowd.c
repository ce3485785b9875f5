/*-------------------------------------------------------------------------
 *
 * test_http_crowd.c
 *		Many requests under way, and answers that nobody reads.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"
#include "web/connections.h"

#define SERVED 200
#define LARGE (20 * 1024 * 1024)
#define HUGE_ANSWER (65 * 1024 * 1024)

static HttpRequest *waiting[SERVED + 1];
static int	nwaiting;

static void
serve_never(void *arg, HttpRequest *request)
{
	assert_true(nwaiting < (int) lengthof(waiting));
	waiting[nwaiting++] = request;
}

static const HttpAnswer text_answer = {.status = 200, .type = "text/plain"};

/* As many bytes as the path says. */
static char *
make_bytes(const HttpRequest *request, size_t *len)
{
	char	   *bytes;

	*len = atoi(http_part(request, 0));
	bytes = palloc(*len);
	memset(bytes, 'x', *len);
	return bytes;
}

static void
serve_bytes(void *arg, HttpRequest *request)
{
	size_t		len;
	char	   *bytes = make_bytes(request, &len);

	http_answer_with(request, &text_answer, bytes, len);
	pfree(bytes);
}

/* Shares the bytes with nobody. */
static void
serve_shared(void *arg, HttpRequest *request)
{
	size_t		len;
	char	   *bytes = make_bytes(request, &len);
	HttpShared *body = http_share(bytes, len);

	pfree(bytes);
	http_answer_shared(request, &text_answer, body);
	http_unshare(body);
}

static void
serve_ok(void *arg, HttpRequest *request)
{
	http_answer(request, 200, "{}");
}

static void
judge(void *arg, HttpRequest *request)
{
}

static const HttpRoute routes[] = {
	{"GET", "/never", .serve = serve_never, .judge = judge},
	{"GET", "/bytes/*", .serve = serve_bytes, .judge = judge},
	{"GET", "/shared/*", .serve = serve_shared, .judge = judge},
	{"GET", "/plain", .is_open = true, .serve = serve_never},
	{"GET", "/ok", .is_open = true, .serve = serve_ok},
};

static void
open_http(void)
{
	nwaiting = 0;
	open_server(NULL, routes, lengthof(routes), NULL);
	http_limit(server.http, 10000, NULL);
}

#define REST " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static bool
are_waiting(void *n)
{
	return nwaiting == *(int *) n;
}

static int
wait_client(const char *text)
{
	int			fd = client(text);
	int			n = nwaiting + 1;

	run_until(are_waiting, &n);
	return fd;
}

/* Other routes, such as the one for the health, are served as before. */
static void
test_too_many(void **state)
{
	int			fds[SERVED];

	open_http();
	for (int i = 0; i < SERVED; i++)
		fds[i] = wait_client("GET /never" REST);
	assert_non_null(strstr(answer_to("GET /never" REST), "HTTP/1.1 503 "));
	assert_non_null(strstr(answer_to("GET /bytes/3" REST), "\"error\":\"too_much\""));
	assert_non_null(strstr(answer_to("GET /bytes/3" REST), "\r\nRetry-After: 1\r\n"));
	assert_non_null(strstr(answer_to("GET /ok" REST), "HTTP/1.1 200 "));
	http_answer(waiting[0], 200, "{}");
	assert_non_null(strstr(answer_to("GET /bytes/3" REST), "\r\n\r\nxxx"));
	for (int i = 1; i < SERVED; i++)
		http_answer(waiting[i], 200, "{}");
	for (int i = 0; i < SERVED; i++)
		expect_end(fds[i], NULL, " 200 ");
	close_server();
}

/* Requests that other routes keep take nothing away from routes with a judge. */
static void
test_many_others(void **state)
{
	int			fds[SERVED];

	open_http();
	for (int i = 0; i < SERVED; i++)
		fds[i] = wait_client("GET /plain" REST);
	assert_non_null(strstr(answer_to("GET /bytes/3" REST), "\r\n\r\nxxx"));
	for (int i = 0; i < SERVED; i++)
		http_answer(waiting[i], 200, "{}");
	for (int i = 0; i < SERVED; i++)
		expect_end(fds[i], NULL, " 200 ");
	close_server();
}

/* A full proxy leaves places for others. */
static void
test_full_proxies(void **state)
{
	char	   *proxies[] = {"127.0.0.1", "127.0.0.2", NULL};
	int			fds[CONNECTIONS_OF_PROXIES_MAX];

	open_http();
	http_limit(server.http, 1, proxies);
	for (int i = 0; i < CONNECTIONS_OF_PROXIES_MAX; i++)
		fds[i] = wait_client("GET /never" REST);
	assert_string_equal(rest_of(client_from("127.0.0.1", "GET /ok" REST)), "");
	assert_string_equal(rest_of(client_from("127.0.0.2", "GET /ok" REST)), "");
	assert_non_null(strstr(rest_of(client_from("127.0.0.3", "GET /ok" REST)), " 200 "));
	for (int i = 0; i < CONNECTIONS_OF_PROXIES_MAX; i++)
	{
		http_answer(waiting[i], 200, "{}");
		expect_end(fds[i], NULL, " 200 ");
	}
	assert_non_null(strstr(answer_to("GET /ok" REST), " 200 "));
	close_server();
}

/* The bytes of an answer until the end of its connection. */
typedef struct Large
{
	int			fd;
	size_t		len;
} Large;

static bool
is_read(void *arg)
{
	static char bytes[256 * 1024];
	Large	   *large = arg;
	ssize_t		n;

	while ((n = recv(large->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		large->len += n;
	return n == 0 || errno != EAGAIN;
}

static size_t
read_all(int fd)
{
	Large		large = {.fd = fd};

	run_until(is_read, &large);
	close(fd);
	return large.len;
}

static bool
has_begun(void *arg)
{
	char		byte;

	return recv(((Large *) arg)->fd, &byte, 1, MSG_DONTWAIT) == 1;
}

/* A client whose answer has begun, and that reads no more of it. */
static int
slow_client(const char *path, int len)
{
	char	   *text = psprintf("GET %s/%d" REST, path, len);
	Large		large = {.fd = client(text)};

	pfree(text);
	run_until(has_begun, &large);
	return large.fd;
}

static void
expect_bound(const char *path)
{
	int			slow[4];

	open_http();
	for (int i = 0; i < (int) lengthof(slow); i++)
		slow[i] = slow_client(path, LARGE);
	assert_true(read_all(slow[0]) < LARGE);
	for (int i = 1; i < (int) lengthof(slow); i++)
		assert_true(read_all(slow[i]) >= LARGE);
	close_server();
}

static void
test_slow_readers(void **state)
{
	expect_bound("/bytes");
	expect_bound("/shared");
}

/* An answer above the bound is sent, also beside a small one. */
static void
test_huge_shared(void **state)
{
	int			fd;

	open_http();
	fd = slow_client("/shared", HUGE_ANSWER);
	assert_non_null(strstr(answer_to("GET /shared/3" REST), "\r\n\r\nxxx"));
	assert_true(read_all(fd) >= HUGE_ANSWER);
	close_server();
}

static void
test_huge(void **state)
{
	char	   *text = psprintf("GET /bytes/%d" REST, HUGE_ANSWER);

	open_http();
	assert_non_null(strstr(answer_to(text), "HTTP/1.1 500 "));
	pfree(text);
	close_server();
}

/* Bytes that were sent leave room for others. */
static void
test_fast_readers(void **state)
{
	char	   *text = psprintf("GET /bytes/%d" REST, LARGE);

	open_http();
	for (int i = 0; i < 6; i++)
		assert_true(read_all(client(text)) >= LARGE);
	pfree(text);
	close_server();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_too_many),
		TEST(test_many_others),
		TEST(test_full_proxies),
		TEST(test_slow_readers),
		TEST(test_huge),
		TEST(test_huge_shared),
		TEST(test_fast_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
