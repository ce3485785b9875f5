/*-------------------------------------------------------------------------
 *
 * fuzz_http_server.c
 *		Requests to twtasks-web, through its real server, on a Unix socket.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "input.h"
#include "web/http.h"

#define PATIENCE_US SECONDS_TO_US(120)

/* libmicrohttpd does not see that no more comes of an unfinished request: its time ends it. */
#define REQUEST_US MS_TO_US(2)

typedef struct Client
{
	Loop	   *loop;			/* NULL: nothing is open yet */
	LoopTimer  *patience;
	LoopTimer  *tick;
	char	   *path;
	int			fd;
	int			served;			/* requests that needed the token */
	StringInfoData heard;
} Client;

static Client client;
static char *tokens[] = {"a-secret", NULL};

/* ---- the server ---- */

static void
serve(void *arg, HttpRequest *request)
{
	size_t		len;
	const char *body = http_body(request, &len);

	must(body == NULL || body[len] == '\0', "a body ends in a NUL", "");
	must(http_header(request, "Authorization") != NULL, "only a request with a token is served", "");
	client.served++;
	http_answer(request, 200, "{}");
}

static void
serve_open(void *arg, HttpRequest *request)
{
	http_answer(request, 200, http_query(request, "a") != NULL ? "[1]" : "[]");
}

static const HttpRoute routes[] = {
	{"GET", "/a/*", .serve = serve},
	{"POST", "/a/*", .serve = serve},
	{"GET", "/open", .is_open = true, .serve = serve_open},
};

static void
clean_up(void)
{
	char	   *lock = psprintf("%s.lock", client.path);

	(void) unlink(client.path);
	(void) unlink(lock);
	pfree(lock);
}

static void
on_late(void *arg)
{
	must(false, "a connection ends", client.heard.data);
}

/* The server begins to listen in a turn of the loop. */
static void
on_tick(void *arg)
{
	if (access(client.path, F_OK) == 0)
		loop_stop(client.loop);
	else
		loop_timer_start(client.tick, MS_TO_US(1));
}

/* A port that was free a moment ago; nobody connects to it. */
static char *
some_address(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, (struct sockaddr *) &address, len) == 0 && getsockname(fd, (struct sockaddr *) &address, &len) == 0, "there is a port", "");
	close(fd);
	return psprintf("127.0.0.1:%d", ntohs(address.sin_port));
}

static void
open_server(void)
{
	char	   *address = some_address();
	Http	   *http;

	log_init(LOG_FORMAT_TEXT, TWT_LOG_FATAL, "fuzz");
	client.loop = loop_new();
	client.patience = loop_timer_new(client.loop, on_late, NULL);
	client.path = psprintf("/tmp/twtasks-fuzz.%d", (int) getpid());
	initStringInfo(&client.heard);
	/* a process that failed may have had our number */
	clean_up();
	http = http_open(client.loop, address, tokens);
	http_listen_unix(http, client.path);
	http_hurry(http, REQUEST_US, REQUEST_US);
	http_add_routes(http, routes, lengthof(routes), NULL);
	atexit(clean_up);
	pfree(address);
	client.tick = loop_timer_new(client.loop, on_tick, NULL);
	on_tick(NULL);
	loop_run(client.loop);
}

/* ---- the client ---- */

static void
on_answer(void *arg, int ready)
{
	char		bytes[4096];
	ssize_t		n = recv(client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		appendBinaryStringInfo(&client.heard, bytes, (int) n);
	else if (n == 0 || errno != EAGAIN)
		loop_stop(client.loop);
}

static void
send_all(const uint8 *bytes, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strlcpy(address.sun_path, client.path, sizeof(address.sun_path));
	client.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	must(connect(client.fd, (struct sockaddr *) &address, sizeof(address)) == 0, "the server listens", client.path);
	must(send(client.fd, bytes, size, MSG_NOSIGNAL) == (ssize_t) size, "a socket takes the bytes", "");
	shutdown(client.fd, SHUT_WR);
}

static int
count(const char *bytes, size_t len, const char *text)
{
	const char *end = bytes + len;
	int			n = 0;

	while ((bytes = memmem(bytes, end - bytes, text, strlen(text))) != NULL)
	{
		n++;
		bytes += strlen(text);
	}
	return n;
}

static void
check_answers(const uint8 *bytes, size_t size)
{
	must(client.served <= count((const char *) bytes, size, tokens[0]), "a request is served only with a token of its own", client.heard.data);
	must(client.heard.len == 0 || strncmp(client.heard.data, "HTTP/1.", 7) == 0, "an answer is one of HTTP", client.heard.data);
	must(count(client.heard.data, client.heard.len, "HTTP/1.") >= client.served, "each request that is served has an answer", client.heard.data);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	LoopIo	   *io;

	if (client.loop == NULL)
		open_server();
	size = Min(size, 16384);
	client.served = 0;
	resetStringInfo(&client.heard);
	send_all(bytes, size);
	io = loop_io_new(client.loop, client.fd, on_answer, NULL);
	loop_io_want(io, LOOP_READ);
	loop_timer_start(client.patience, PATIENCE_US);
	loop_run(client.loop);
	loop_timer_stop(client.patience);
	loop_io_free(io);
	close(client.fd);
	check_answers(bytes, size);
	return 0;
}
