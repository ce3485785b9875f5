/*-------------------------------------------------------------------------
 *
 * health.c
 *		Reports the health of this node over HTTP.
 *
 * A client passes through these stages, unless its time ends first: HEADERS_US for
 * the first, and ANSWER_US for the others together.
 *
 *	 reading	until the empty line that ends the headers
 *	 writing	until the answer is gone
 *	 leaving	until it closes its side; bytes that it still sends, such as a
 *				body, are thrown away: a close before them could destroy the answer
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/health.h"
#include "base/address.h"
#include "base/text.h"
#include "common/version.h"
#include "metrics/metrics_text.h"

#define CLIENTS_MAX 64
#define HEADERS_US SECONDS_TO_US(5)
#define ANSWER_US SECONDS_TO_US(25)
#define REQUEST_BYTES 8192

typedef struct Client
{
	dlist_node	node;
	Health	   *health;
	int			fd;
	LoopIo	   *io;
	LoopTimer  *timer;
	char		request[REQUEST_BYTES + 1];
	int			len;
	StringInfoData answer;		/* no data: still reading */
	int			sent;
} Client;

struct Health
{
	Loop	   *loop;
	Address		address;
	const char *node;
	HealthAsk	ask;
	void	   *arg;
	HealthWrite write;			/* NULL: no /metrics */
	void	   *write_arg;
	int			fd;				/* -1: does not listen */
	bool		is_down;		/* could not listen */
	LoopIo	   *io;
	LoopTimer  *timer;			/* the next attempt to listen, or to accept */
	dlist_head	clients;		/* the oldest first */
	int			nclients;
	int			spare;			/* a descriptor that is kept for a client; -1:
								 * a client has it */
};

/* Handlers may have taken all descriptors, and health is to say so. */
static void
keep_spare(Health *health)
{
	if (health->spare < 0)
		health->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
give_spare(Health *health)
{
	if (health->spare >= 0)
		close(health->spare);
	health->spare = -1;
}

static void
drop_client(Client *client)
{
	Health	   *health = client->health;

	dlist_delete(&client->node);
	health->nclients--;
	loop_io_free(client->io);
	loop_timer_free(client->timer);
	close(client->fd);
	keep_spare(health);
	if (client->answer.data != NULL)
		pfree(client->answer.data);
	loop_defer_free(health->loop, client);
}

/* ---- answers ---- */

static void
answer_as(Client *client, const char *status, const char *type, const char *body, size_t len)
{
	bool		is_head = strncmp(client->request, "HEAD ", 5) == 0;

	initStringInfo(&client->answer);
	appendStringInfo(&client->answer, "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
					 "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
					 status, type, len);
	if (!is_head)
		appendBinaryStringInfo(&client->answer, body, len);
	loop_io_want(client->io, LOOP_WRITE);
	loop_timer_start(client->timer, ANSWER_US);
}

static void
answer(Client *client, const char *status, const char *json)
{
	answer_as(client, status, "application/json", json, strlen(json));
}

static void
append_text(StringInfo json, const char *name, const char *text)
{
	appendStringInfo(json, "%s\"%s\":\"", json->len == 0 ? "{" : ",", name);
	text_escape_json(json, text, strlen(text), SIZE_MAX);
	appendStringInfoChar(json, '"');
}

/* Adds the member unless there is no trouble. */
static void
add_trouble(StringInfo json, const char *name, const char *trouble)
{
	if (trouble != NULL)
		append_text(json, name, trouble);
}

static void
answer_health(Client *client)
{
	Health	   *health = client->health;
	HealthState state = {0};
	StringInfoData json;

	health->ask(health->arg, &state);
	initStringInfo(&json);
	append_text(&json, "status", state.trouble != NULL ? state.trouble : "ok");
	append_text(&json, "node", health->node);
	append_text(&json, "listeners", state.listeners != NULL ? state.listeners : "ok");
	appendStringInfo(&json, ",\"version\":\"%s\",\"incarnation\":" INT64_FORMAT
					 ",\"leader\":%s,\"running\":%d", TWT_VERSION, state.incarnation,
					 state.is_leader ? "true" : "false", state.running);
	add_trouble(&json, "helpers", state.helpers);
	add_trouble(&json, "broken", state.broken);
	add_trouble(&json, "config", state.config);
	appendStringInfoString(&json, "}\n");
	answer(client, state.trouble ? "503 Service Unavailable" : "200 OK", json.data);
	pfree(json.data);
}

static void
answer_metrics(Client *client)
{
	const Health *health = client->health;
	StringInfoData text;

	initStringInfo(&text);
	health->write(health->write_arg, &text);
	answer_as(client, "200 OK", PROMETHEUS_CONTENT_TYPE, text.data, text.len);
	pfree(text.data);
}

/* path begins with a space. */
static bool
is_path(const char *path, const char *name)
{
	return strcspn(path + 1, "? \r\n") == strlen(name) && strncmp(path + 1, name, strlen(name)) == 0;
}

static void
serve(Client *client)
{
	const char *path = client->request + strcspn(client->request, " \r\n");
	bool		is_metrics = client->health->write != NULL && is_path(path, "/metrics");

	if (strncmp(path, " /", 2) != 0)
		answer(client, "400 Bad Request",
			   "{\"error\":\"bad_request\",\"detail\":\"This is no request of HTTP.\"}\n");
	else if (!is_metrics && !is_path(path, "/health"))
		answer(client, "404 Not Found",
			   "{\"error\":\"no_such_path\",\"detail\":\"There is nothing here.\"}\n");
	else if (strncmp(client->request, "GET ", 4) != 0 && strncmp(client->request, "HEAD ", 5) != 0)
		answer(client, "405 Method Not Allowed",
			   "{\"error\":\"method_not_allowed\",\"detail\":\"This path is for another method.\"}\n");
	else if (is_metrics)
		answer_metrics(client);
	else
		answer_health(client);
}

/* ---- connections ---- */

static bool
would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* False: the client is gone. */
static bool
read_request(Client *client)
{
	ssize_t		n = recv(client->fd, client->request + client->len,
						 REQUEST_BYTES - client->len, 0);

	if (n <= 0)
		return n < 0 && would_block();
	client->len += n;
	client->request[client->len] = '\0';
	if (strstr(client->request, "\r\n\r\n") != NULL || strstr(client->request, "\n\n") != NULL)
		serve(client);
	else if (client->len == REQUEST_BYTES)
		answer(client, "431 Request Header Fields Too Large",
			   "{\"error\":\"too_large\",\"detail\":\"The headers have at most 8 kB.\"}\n");
	return true;
}

static bool
write_answer(Client *client)
{
	ssize_t		n = send(client->fd, client->answer.data + client->sent,
						 client->answer.len - client->sent, MSG_NOSIGNAL);

	if (n < 0)
		return would_block();
	client->sent += n;
	if (client->sent < client->answer.len)
		return true;
	loop_io_want(client->io, LOOP_READ);
	return shutdown(client->fd, SHUT_WR) == 0;
}

static bool
throw_away(Client *client)
{
	ssize_t		n = recv(client->fd, client->request, REQUEST_BYTES, 0);

	return n > 0 || (n < 0 && would_block());
}

static void
on_client(void *arg, int ready)
{
	Client	   *client = arg;
	bool		stays;

	if (client->answer.data == NULL)
		stays = read_request(client);
	else if (client->sent < client->answer.len)
		stays = write_answer(client);
	else
		stays = throw_away(client);
	if (!stays)
		drop_client(client);
}

static void
on_client_time(void *arg)
{
	drop_client(arg);
}

static void
add_client(Health *health, int fd)
{
	Client	   *client = palloc0(sizeof(Client));

	if (health->nclients == CLIENTS_MAX)
		drop_client(dlist_head_element(Client, node, &health->clients));
	client->health = health;
	client->fd = fd;
	client->io = loop_io_new(health->loop, fd, on_client, client);
	client->timer = loop_timer_new(health->loop, on_client_time, client);
	loop_io_want(client->io, LOOP_READ);
	loop_timer_start(client->timer, HEADERS_US);
	dlist_push_tail(&health->clients, &client->node);
	health->nclients++;
}

static int
accept_client(Health *health)
{
	return accept4(health->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/*
 * When the process is out of descriptors, a client gets the spare one.  The next
 * connection stays in the kernel's queue, and we stop accepting for a while.
 */
static void
on_connection(void *arg, int ready)
{
	Health	   *health = arg;
	int			fd = accept_client(health);

	if (fd < 0 && errno == EMFILE && health->spare >= 0)
	{
		give_spare(health);
		fd = accept_client(health);
	}
	if (fd >= 0)
		add_client(health, fd);
	else if (!would_block() && errno != ECONNABORTED)
	{
		loop_io_want(health->io, 0);
		loop_timer_start(health->timer, ADDRESS_AGAIN_US);
	}
}

static void
on_timer(void *arg)
{
	Health	   *health = arg;

	if (health->fd < 0)
	{
		health->fd = address_listen(&health->address, &health->is_down);
		if (health->fd < 0)
		{
			loop_timer_start(health->timer, ADDRESS_AGAIN_US);
			return;
		}
		health->io = loop_io_new(health->loop, health->fd, on_connection, health);
	}
	loop_io_want(health->io, LOOP_READ);
}

Health *
health_open(Loop *loop, const char *listen, const char *node, HealthAsk ask,
			void *arg)
{
	Health	   *health;
	Address		address;

	if (listen == NULL || address_parse(listen, &address) != NULL)
		return NULL;
	health = palloc0(sizeof(Health));
	health->loop = loop;
	health->address = address;
	health->node = node;
	health->ask = ask;
	health->arg = arg;
	health->fd = health->spare = -1;
	keep_spare(health);
	dlist_init(&health->clients);
	health->timer = loop_timer_new(loop, on_timer, health);
	loop_timer_start(health->timer, 0);
	return health;
}

void
health_on_metrics(Health *health, HealthWrite write, void *arg)
{
	if (health == NULL)
		return;
	health->write = write;
	health->write_arg = arg;
}

void
health_stop_listening(Health *health)
{
	loop_timer_stop(health->timer);
	if (health->fd < 0)
		return;
	loop_io_free(health->io);
	close(health->fd);
	health->fd = -1;
}

void
health_close(Health *health)
{
	if (health == NULL)
		return;
	health_stop_listening(health);
	while (!dlist_is_empty(&health->clients))
		drop_client(dlist_head_element(Client, node, &health->clients));
	give_spare(health);
	loop_timer_free(health->timer);
	pfree(health);
}
