/*-------------------------------------------------------------------------
 *
 * http_fixture.c
 *		A real HTTP server on the loop of execute_fixture.h, and its clients.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_fixture.h"

Server		server;

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

void
open_server(char *const *tokens, const HttpRoute *routes, int nroutes, void *arg)
{
	char		address[32];

	server.port = free_port();
	snprintf(address, sizeof(address), "127.0.0.1:%d", server.port);
	server.http = http_open(fixture.loop, address, tokens);
	http_add_routes(server.http, routes, nroutes, arg);
}

void
close_server(void)
{
	http_close(server.http);
	server.http = NULL;
}

typedef struct Client
{
	const char *from;
	int			fd;
} Client;

static bool
connects(void *arg)
{
	Client	   *client = arg;
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(server.port)};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(inet_pton(AF_INET, client->from, &from.sin_addr), 1);
	client->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(client->fd, (struct sockaddr *) &from, sizeof(from)) == 0 &&
		connect(client->fd, (struct sockaddr *) &address, sizeof(address)) == 0)
		return true;
	close(client->fd);
	return false;
}

void
send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

int
client_from(const char *address, const char *text)
{
	Client		client = {.from = address};

	run_until(connects, &client);
	send_text(client.fd, text);
	return client.fd;
}

int
client(const char *text)
{
	return client_from("127.0.0.1", text);
}

typedef struct LocalClient
{
	const char *path;
	int			fd;
} LocalClient;

static bool
connects_to_path(void *arg)
{
	LocalClient *local = arg;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strlcpy(address.sun_path, local->path, sizeof(address.sun_path));
	local->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(local->fd, (struct sockaddr *) &address, sizeof(address)) == 0)
		return true;
	close(local->fd);
	return false;
}

int
local_client(const char *path, const char *text)
{
	LocalClient local = {.path = path};

	run_until(connects_to_path, &local);
	send_text(local.fd, text);
	return local.fd;
}

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

bool
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

bool
has_line(void *arg)
{
	return has_ended(arg) || strchr(((Heard *) arg)->bytes, '\n') != NULL;
}

void
expect_end(int fd, const char *drips, const char *expected)
{
	Heard		heard = {.fd = fd, .drips = drips};

	run_until(has_ended, &heard);
	if (strstr(heard.bytes, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, heard.bytes);
	close(fd);
}

const char *
rest_of(int fd)
{
	static Heard heard;

	heard = (Heard)
	{
		.fd = fd
	};
	run_until(has_ended, &heard);
	close(fd);
	return heard.bytes;
}

const char *
answer_to(const char *text)
{
	return rest_of(client(text));
}
