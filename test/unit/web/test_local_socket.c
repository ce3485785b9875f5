/*-------------------------------------------------------------------------
 *
 * test_local_socket.c
 *		The file of a Unix socket, and the HTTP server on it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_fixture.h"
#include "web/connections.h"
#include "web/local_socket.h"

static char *path;

static int
setup(void **state)
{
	fixture_setup(state);
	path = psprintf("%s/web.sock", fixture.directory);
	return 0;
}

static int
teardown(void **state)
{
	char	   *lock = psprintf("%s.lock", path);

	unlink(path);
	unlink(lock);
	pfree(lock);
	pfree(path);
	return fixture_teardown(state);
}

/* A socket of another program at the path. */
static int
other_server(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static bool
exists(void)
{
	struct stat file;

	return lstat(path, &file) == 0;
}

/* ---- the file ---- */

static void
test_paths(void **state)
{
	char		text[110];

	memset(text, 'x', sizeof(text));
	text[0] = '/';
	text[107] = '\0';
	assert_null(local_socket_check(text));
	text[107] = 'x';
	text[108] = '\0';
	assert_non_null(local_socket_check(text));
	assert_non_null(local_socket_check("web.sock"));
	assert_non_null(local_socket_check(""));
}

static void
test_mode(void **state)
{
	LocalSocket *local = local_socket_new(path);
	mode_t		mask = umask(0);
	int			fd = local_socket_listen(local);
	struct stat file;

	umask(mask);
	assert_true(fd >= 0);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0660);
	local_socket_free(local);
	close(fd);
	assert_false(exists());
}

static void
test_stale(void **state)
{
	LocalSocket *local = local_socket_new(path);
	int			fd;

	close(other_server());
	fd = local_socket_listen(local);
	assert_true(fd >= 0);
	local_socket_free(local);
	close(fd);
}

static void
test_of_another_program(void **state)
{
	LocalSocket *local = local_socket_new(path);
	int			other = other_server();
	int			fd;

	assert_int_equal(local_socket_listen(local), -1);
	assert_int_equal(local_socket_listen(local), -1);
	assert_true(exists());
	close(other);
	fd = local_socket_listen(local);
	assert_true(fd >= 0);
	local_socket_free(local);
	close(fd);
}

/* A server that is too busy to accept is not gone. */
static void
test_of_a_busy_program(void **state)
{
	LocalSocket *local = local_socket_new(path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			other = other_server();
	int			fds[8];
	int			n = 0;

	strlcpy(address.sun_path, path, sizeof(address.sun_path));
	do
	{
		assert_true(n < (int) lengthof(fds));
		fds[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	} while (connect(fds[n++], (struct sockaddr *) &address, sizeof(address)) == 0);
	assert_int_equal(local_socket_listen(local), -1);
	assert_true(exists());
	while (n > 0)
		close(fds[--n]);
	close(other);
	local_socket_free(local);
}

/* Two that start at once: the second one would take the first one's file away. */
static void
test_of_another_of_us(void **state)
{
	LocalSocket *first = local_socket_new(path);
	LocalSocket *second = local_socket_new(path);
	int			fd = local_socket_listen(first);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(local_socket_listen(second), -1);
	local_socket_remove(second);
	assert_true(exists());
	local_socket_remove(first);
	fd = local_socket_listen(second);
	assert_true(fd >= 0);
	local_socket_free(first);
	assert_true(exists());
	local_socket_free(second);
	close(fd);
}

static void
test_not_a_socket(void **state)
{
	LocalSocket *local = local_socket_new(path);

	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(local_socket_listen(local), -1);
	assert_true(exists());
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(local_socket_listen(local), -1);
	assert_true(exists());
	local_socket_free(local);
}

/* A file that replaced ours stays. */
static void
test_replaced(void **state)
{
	LocalSocket *local = local_socket_new(path);
	int			fd = local_socket_listen(local);
	int			other;

	assert_true(fd >= 0);
	unlink(path);
	other = other_server();
	local_socket_free(local);
	assert_true(exists());
	close(other);
	close(fd);
}

static void
test_no_directory(void **state)
{
	LocalSocket *local = local_socket_new("/nonexistent/web.sock");

	assert_int_equal(local_socket_listen(local), -1);
	local_socket_free(local);
}

/* ---- the server ---- */

static HttpRequest *waiting;

static void
serve_peer(void *arg, HttpRequest *request)
{
	const HttpPeer *peer = http_peer(request);
	char	   *text = psprintf("unix=%d user=%d group=%d groups=%d", peer->is_unix, (int) peer->user,
								(int) peer->group, peer->ngroups);

	http_answer(request, 200, text);
	pfree(text);
}

static void
serve_never(void *arg, HttpRequest *request)
{
	waiting = request;
}

static const HttpRoute routes[] = {
	{"GET", "/peer", .is_open = true, .serve = serve_peer},
	{"GET", "/never", .serve = serve_never},
};

#define PEER "GET /peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
#define NEVER "GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void
open_local(void)
{
	open_server(NULL, routes, lengthof(routes), NULL);
	http_listen_unix(server.http, path);
	waiting = NULL;
}

static void
expect(int fd, const char *expected)
{
	const char *rest = rest_of(fd);

	if (strstr(rest, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, rest);
}

static void
test_peer(void **state)
{
	char	   *expected = psprintf("unix=1 user=%d group=%d groups=%d", (int) getuid(), (int) getgid(),
									getgroups(0, NULL));

	open_local();
	expect(local_client(path, PEER), expected);
	expect(client(PEER), "unix=0 user=0 ");
	close_server();
	assert_false(exists());
	pfree(expected);
}

static bool
is_waiting(void *arg)
{
	return waiting != NULL;
}

static bool
has_none(void *arg)
{
	return http_requests(server.http) == 0;
}

/* The user's connections are full, but other ways in are not. */
static void
test_limit(void **state)
{
	int			busy;

	open_local();
	http_limit(server.http, 1, NULL);
	busy = local_client(path, NEVER);
	run_until(is_waiting, NULL);
	assert_string_equal(rest_of(local_client(path, PEER)), "");
	expect(client(PEER), " 200 ");
	http_answer(waiting, 200, "{}");
	run_until(has_none, NULL);
	expect(local_client(path, PEER), " 200 ");
	close(busy);
	close_server();
}

/* An old connection without a request makes room. */
static void
test_crowd(void **state)
{
	int			old[CONNECTIONS_MAX + 20];

	open_local();
	http_limit(server.http, 10 * CONNECTIONS_MAX, NULL);
	for (int i = 0; i < (int) lengthof(old); i++)
	{
		old[i] = local_client(path, "GET ");
		run_turn();
	}
	expect(local_client(path, PEER), " 200 ");
	expect(client(PEER), " 200 ");
	for (int i = 0; i < (int) lengthof(old); i++)
		close(old[i]);
	close_server();
}

/* No more requests come, and another server may take the socket. */
static void
test_drain(void **state)
{
	int			fd;

	open_local();
	fd = local_client(path, NEVER);
	run_until(is_waiting, NULL);
	http_stop_listening(server.http);
	assert_false(exists());
	http_answer(waiting, 200, "{\"late\":1}");
	shutdown(fd, SHUT_WR);
	expect(fd, "{\"late\":1}");
	close_server();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_paths),
		TEST(test_mode),
		TEST(test_stale),
		TEST(test_of_another_program),
		TEST(test_of_a_busy_program),
		TEST(test_of_another_of_us),
		TEST(test_not_a_socket),
		TEST(test_replaced),
		TEST(test_no_directory),
		TEST(test_peer),
		TEST(test_limit),
		TEST(test_crowd),
		TEST(test_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
