/*-------------------------------------------------------------------------
 *
 * test_http_stream.c
 *		Server-sent events, over real sockets.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"
#include "web/http_stream.h"

static HttpStream *streams[HTTP_STREAMS_MAX];
static int	nopened;
static int	nclosed;
static HttpRequest *waiting;

static void
on_closed(void *arg)
{
	*(HttpStream **) arg = NULL;
	nclosed++;
}

static void
open_stream(HttpRequest *request)
{
	HttpStream **place = &streams[nopened % HTTP_STREAMS_MAX];
	HttpStream *stream = http_stream_open(request, on_closed, place);

	if (stream == NULL)
		return;
	*place = stream;
	nopened++;
}

static void
serve_stream(void *arg, HttpRequest *request)
{
	open_stream(request);
}

static void
serve_later(void *arg, HttpRequest *request)
{
	waiting = request;
}

static const HttpRoute routes[] = {
	{"GET", "/stream", .serve = serve_stream},
	{"GET", "/later", .serve = serve_later},
};

#define STREAM "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void
open_http(void)
{
	nopened = 0;
	nclosed = 0;
	waiting = NULL;
	open_server(NULL, routes, lengthof(routes), NULL);
	http_limit(server.http, 10000, NULL);
}

static bool
is_opened(void *n)
{
	return nopened == *(int *) n;
}

static int
stream_client(void)
{
	int			fd = client(STREAM);
	int			n = nopened + 1;

	run_until(is_opened, &n);
	return fd;
}

static bool
is_closed(void *n)
{
	return nclosed == *(int *) n;
}

static void
wait_for_closed(int n)
{
	run_until(is_closed, &n);
}

static bool
has_comment(void *arg)
{
	return has_ended(arg) || strstr(((Heard *) arg)->bytes, ":\n\n") != NULL;
}

/* The client has read what there is, so that libmicrohttpd waits for more. */
static Heard
idle_client(void)
{
	Heard		heard = {.fd = stream_client()};

	run_until(has_comment, &heard);
	run_turn();
	return heard;
}

static bool
has_second(void *arg)
{
	return has_ended(arg) || strstr(((Heard *) arg)->bytes, "data: 2\n\n") != NULL;
}

static void
test_events(void **state)
{
	Heard		heard;

	open_http();
	heard = idle_client();
	assert_non_null(strstr(heard.bytes, "\r\nContent-Type: text/event-stream\r\n"));
	assert_non_null(strstr(heard.bytes, "\r\nCache-Control: no-store\r\n"));
	http_stream_send(streams[0], "one", "1");
	http_stream_send(streams[0], "two", "2");
	run_until(has_second, &heard);
	assert_non_null(strstr(heard.bytes, "event: one\ndata: 1\n\nevent: two\ndata: 2\n\n"));
	http_stream_close(streams[0]);
	shutdown(heard.fd, SHUT_WR);
	expect_end(heard.fd, NULL, "0\r\n\r\n");
	assert_int_equal(nclosed, 0);
	close_server();
}

static bool
is_waiting(void *arg)
{
	return waiting != NULL;
}

static void
test_opened_later(void **state)
{
	int			n = 1;
	Heard		heard = {.fd = -1};

	open_http();
	heard.fd = client("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
	run_until(is_waiting, NULL);
	open_stream(waiting);
	http_stream_send(streams[0], "two", "2");
	run_until(has_second, &heard);
	close(heard.fd);
	close_server();
	wait_for_closed(n);
}

/* Comments find out that the client is not there any more. */
static void
test_client_goes(void **state)
{
	open_http();
	http_hurry_streams(server.http, MS_TO_US(10));
	close(idle_client().fd);
	wait_for_closed(1);
	assert_null(streams[0]);
	close_server();
}

/* The server does not keep for ever what a client does not read. */
static void
test_slow_client(void **state)
{
	char	   *data = psprintf("%01000d", 7);
	int			fd;
	int			n = 0;

	open_http();
	fd = stream_client();
	while (nclosed == 0 && n++ < 100000)
	{
		http_stream_send(streams[0], "long", data);
		run_turn();
	}
	assert_int_equal(nclosed, 1);
	close(fd);
	pfree(data);
	close_server();
}

static bool
has_place(void *arg)
{
	return http_requests(server.http) < HTTP_STREAMS_MAX;
}

static void
test_too_many(void **state)
{
	int			fds[HTTP_STREAMS_MAX];
	const char *refused = "HTTP/1.1 503 ";

	open_http();
	for (int i = 0; i < HTTP_STREAMS_MAX; i++)
		fds[i] = stream_client();
	expect_end(client("GET /stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), NULL, refused);
	http_stream_close(streams[0]);
	streams[0] = NULL;
	run_until(has_place, NULL);
	close(fds[0]);
	fds[0] = stream_client();
	http_end_streams(server.http);
	wait_for_closed(HTTP_STREAMS_MAX);
	for (int i = 0; i < HTTP_STREAMS_MAX; i++)
		close(fds[i]);
	close_server();
}

/* A drain does not wait for streams, and an end without a drain goes well too. */
static void
test_stop(void **state)
{
	Heard		heard;

	open_http();
	heard = idle_client();
	http_stop_listening(server.http);
	wait_for_closed(1);
	shutdown(heard.fd, SHUT_WR);
	expect_end(heard.fd, NULL, "0\r\n\r\n");
	assert_int_equal(http_requests(server.http), 0);
	close_server();
	open_http();
	heard = idle_client();
	close_server();
	assert_int_equal(nclosed, 1);
	close(heard.fd);
}

static bool
has_many(void *arg)
{
	Heard	   *heard = arg;

	assert_false(has_ended(heard));
	return heard->len > 1000;
}

/* The deadlines of requests are not for streams. */
static void
test_long_life(void **state)
{
	Heard		heard;

	open_http();
	http_hurry(server.http, MS_TO_US(20), MS_TO_US(20));
	http_hurry_streams(server.http, MS_TO_US(1));
	heard = idle_client();
	run_until(has_many, &heard);
	assert_int_equal(nclosed, 0);
	close(heard.fd);
	close_server();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events),
		TEST(test_opened_later),
		TEST(test_client_goes),
		TEST(test_slow_client),
		TEST(test_too_many),
		TEST(test_stop),
		TEST(test_long_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
