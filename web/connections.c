#include "base/port.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/ilist.h"
#include "web/connections.h"

/* From this number on, a new connection ends an old one. */
#define CROWDED (CONNECTIONS_MAX - 16)

/* Connections that throw bytes away, their bytes and their time. */
#define DRAINS_MAX 64
#define DRAIN_BYTES (1024 * 1024)
#define DRAIN_US SECONDS_TO_US(2)

/* All proxies are one client, with an address that no machine and no user has. */
static const Peer proxies = {.bytes = {1, 1}};

struct Connections
{
	Loop	   *loop;
	ConnectionLate late;
	dlist_head	all;			/* the longest without a request first */
	int			n;				/* without those that are ending */
	int			of_one;
	PeerNetworks proxies;
	int64		headers_us;
	int64		request_us;
	dlist_head	drains;
	int			ndrains;
};

struct Connection
{
	dlist_node	node;
	Connections *connections;
	int			fd;
	HttpPeer	peer;
	Peer		client;			/* its address, or that of all proxies */
	HttpTls    *tls;			/* NULL: it speaks plainly */
	bool		is_identified;
	LoopTimer  *timer;			/* its deadline */
	void	   *request;		/* NULL: not busy */
	bool		has_token;		/* its request, which is not ended for others */
	bool		is_kept;		/* since its last request */
	bool		is_early;		/* its answer came before the body */
	bool		is_ending;
};

/* A socket whose bytes are thrown away. */
typedef struct Drain
{
	dlist_node	node;
	Connections *connections;
	int			fd;
	LoopIo	   *io;
	LoopTimer  *timer;
	int			left;			/* bytes */
} Drain;

/* ---- bytes that nobody wants ---- */

static void
drop_drain(void *arg)
{
	Drain	   *drain = arg;

	dlist_delete(&drain->node);
	drain->connections->ndrains--;
	loop_io_free(drain->io);
	loop_timer_free(drain->timer);
	close(drain->fd);
	loop_defer_free(drain->connections->loop, drain);
}

static void
on_bytes(void *arg, int ready)
{
	Drain	   *drain = arg;
	char		bytes[16 * 1024];
	ssize_t		n = recv(drain->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void) ready;
	if (n > 0)
		drain->left -= n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || drain->left <= 0)
		drop_drain(drain);
}

/* The socket lives on in a descriptor of our own, when its owner closes it. */
static void
start_drain(const Connection *connection)
{
	Connections *connections = connection->connections;
	Drain	   *drain;
	int			fd = connections->ndrains < DRAINS_MAX ? fcntl(connection->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	drain = palloc0(sizeof(Drain));
	drain->connections = connections;
	drain->fd = fd;
	drain->left = DRAIN_BYTES;
	drain->io = loop_io_new(connections->loop, fd, on_bytes, drain);
	drain->timer = loop_timer_new(connections->loop, drop_drain, drain);
	loop_io_want(drain->io, LOOP_READ);
	loop_timer_start(drain->timer, DRAIN_US);
	dlist_push_tail(&connections->drains, &drain->node);
	connections->ndrains++;
}

/* ---- the number of connections ---- */

void
connection_end(Connection *connection)
{
	if (connection->is_ending)
		return;
	connection->is_ending = true;
	connection->connections->n--;
	loop_timer_stop(connection->timer);
	(void) shutdown(connection->fd, SHUT_RDWR);
}

/* Ends the oldest connection without a token, of the client or (NULL) of any. */
static bool
end_oldest(Connections *connections, const Peer *client)
{
	dlist_iter	iter;

	dlist_foreach(iter, &connections->all)
	{
		Connection *connection = dlist_container(Connection, node, iter.cur);

		if (connection->is_ending || connection->has_token ||
			(client != NULL && !peer_is_same(client, &connection->client)))
			continue;
		connection_end(connection);
		return true;
	}
	return false;
}

static int
count(Connections *connections, const Peer *client)
{
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &connections->all)
	{
		const Connection *connection = dlist_container(Connection, node, iter.cur);

		n += !connection->is_ending && peer_is_same(client, &connection->client);
	}
	return n;
}

static Peer
client_of(const Connections *connections, const HttpPeer *peer)
{
	return !peer->is_unix && peer_is_in_any(&peer->address, &connections->proxies) ? proxies : peer->address;
}

static bool
is_full(Connections *connections, const Peer *client)
{
	bool		is_proxies = memcmp(client, &proxies, sizeof(Peer)) == 0;

	return count(connections, client) >=
		(is_proxies ? CONNECTIONS_OF_PROXIES_MAX : connections->of_one);
}

bool
connections_admit(Connections *connections, const struct sockaddr *address)
{
	HttpPeer	peer = {.is_unix = address->sa_family == AF_UNIX};
	Peer		client;

	if (connections->n >= CROWDED)
		(void) end_oldest(connections, NULL);
	if (peer.is_unix)
		return true;
	peer.address = peer_of(address);
	client = client_of(connections, &peer);
	return !is_full(connections, &client) || end_oldest(connections, &client);
}

/* ---- one connection ---- */

static void
on_deadline(void *arg)
{
	Connection *connection = arg;
	void	   *request = connection->request;

	if (request != NULL && connection->connections->late(request))
		loop_timer_start(connection->timer, connection->connections->headers_us);
	else
		connection_end(connection);
}

Connection *
connections_add(Connections *connections, int fd, const struct sockaddr *address)
{
	Connection *connection = palloc0(sizeof(Connection));
	bool		is_refused;

	connection->connections = connections;
	connection->fd = fd;
	if (address->sa_family == AF_UNIX)
		connection->peer = peer_of_socket(fd);
	else
		connection->peer.address = peer_of(address);
	connection->client = client_of(connections, &connection->peer);
	connection->timer = loop_timer_new(connections->loop, on_deadline, connection);
	loop_timer_start(connection->timer, connections->headers_us);
	is_refused = connection->peer.is_unix && is_full(connections, &connection->client) &&
		!end_oldest(connections, &connection->client);
	dlist_push_tail(&connections->all, &connection->node);
	connections->n++;
	if (is_refused)
		connection_end(connection);
	return connection;
}

const HttpPeer *
connection_peer(const Connection *connection)
{
	return &connection->peer;
}

void
connection_begin_tls(Connection *connection, HttpTls *tls, void *session)
{
	connection->tls = http_tls_share(tls);
	http_tls_begin(tls, session);
}

void
connection_identify(Connection *connection, void *session)
{
	if (connection->tls == NULL || connection->is_identified)
		return;
	connection->is_identified = true;
	connection->peer.common_name = http_tls_common_name(session);
}

void
connection_line(Connection *connection)
{
	if (connection->is_kept && !connection->is_ending)
		loop_timer_start(connection->timer, connection->connections->headers_us);
	connection->is_kept = false;
}

void
connection_busy(Connection *connection, void *request, bool has_token)
{
	connection->request = request;
	connection->has_token = has_token;
	if (!connection->is_ending)
		loop_timer_start(connection->timer, connection->connections->request_us);
}

void
connection_early(Connection *connection)
{
	connection->is_early = true;
}

void
connection_stream(Connection *connection)
{
	loop_timer_stop(connection->timer);
}

void
connection_kept(Connection *connection)
{
	connection->request = NULL;
	connection->has_token = false;
	connection->is_kept = true;
	dlist_delete(&connection->node);
	dlist_push_tail(&connection->connections->all, &connection->node);
	if (!connection->is_ending)
		loop_timer_start(connection->timer, CONNECTION_IDLE_US);
}

void
connection_remove(Connection *connection)
{
	if (connection->is_early && !connection->is_ending)
		start_drain(connection);
	connection->connections->n -= !connection->is_ending;
	dlist_delete(&connection->node);
	loop_timer_free(connection->timer);
	http_tls_free(connection->tls);
	pfree(connection->peer.groups);
	pfree(connection->peer.common_name);
	pfree(connection);
}

/* ---- all of them ---- */

Connections *
connections_new(Loop *loop, ConnectionLate late)
{
	Connections *connections = palloc0(sizeof(Connections));

	connections->loop = loop;
	connections->late = late;
	connections->of_one = CONNECTIONS_MAX;
	connections->headers_us = CONNECTION_HEADERS_US;
	connections->request_us = CONNECTION_REQUEST_US;
	dlist_init(&connections->all);
	dlist_init(&connections->drains);
	return connections;
}

void
connections_limit(Connections *connections, int of_one, char *const *proxies)
{
	connections->of_one = of_one;
	peer_networks_free(&connections->proxies);
	connections->proxies = peer_networks(proxies);
}

void
connections_hurry(Connections *connections, int64 headers_us, int64 request_us)
{
	connections->headers_us = headers_us;
	connections->request_us = request_us;
}

void
connections_free(Connections *connections)
{
	while (!dlist_is_empty(&connections->drains))
		drop_drain(dlist_head_element(Drain, node, &connections->drains));
	peer_networks_free(&connections->proxies);
	pfree(connections);
}
