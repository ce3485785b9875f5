/*-------------------------------------------------------------------------
 *
 * connections.h
 *		The connections of the HTTP server: their deadlines, and their number.
 *
 *		from: http_daemon.c			to: loop.h, peer.h
 *
 * Clients that hold connections must not shut the service.  So each part of a
 * request has a deadline, however many bytes come before it:
 *
 *	 a connection is	until							and at most
 *	 opened				the headers of a request		CONNECTION_HEADERS_US
 *	 busy				the request is answered			CONNECTION_REQUEST_US
 *	 kept				the next request begins			CONNECTION_IDLE_US
 *
 * When there are too many connections, in all, of one client, or of all proxies,
 * the oldest one is ended for a new one, unless it has a request with a token.  A
 * request that needs no token protects nothing: it could have a slow body.  A
 * client is an address, or a user of this machine.
 *
 * An answer that comes before the body of its request could be destroyed by
 * bytes that nobody reads.  So after such an answer a connection goes on to throw
 * bytes away, within limits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONNECTIONS_H
#define TWT_CONNECTIONS_H

#include "base/loop.h"
#include "web/http_tls.h"
#include "web/peer.h"

struct sockaddr;

#define CONNECTIONS_MAX 256

/* Proxies never have all, so that others come through when a proxy is full. */
#define CONNECTIONS_OF_PROXIES_MAX 192
#define CONNECTION_HEADERS_US SECONDS_TO_US(5)
#define CONNECTION_REQUEST_US SECONDS_TO_US(25)
#define CONNECTION_IDLE_US SECONDS_TO_US(30)

typedef struct Connections Connections;
typedef struct Connection Connection;

/*
 * The time of a request is over.  Returns true if it gets an answer now, for
 * which there are CONNECTION_HEADERS_US more; otherwise the connection ends.
 */
typedef bool (*ConnectionLate) (void *request);

extern Connections *connections_new(Loop *loop, ConnectionLate late);

/* All connections must have been removed. */
extern void connections_free(Connections *connections);

/*
 * The most connections of one client.  Proxies have one limit together; they are
 * words as peer_networks() takes them.
 */
extern void connections_limit(Connections *connections, int of_one, char *const *proxies);

/* Other deadlines, for tests. */
extern void connections_hurry(Connections *connections, int64 headers_us, int64 request_us);

/*
 * Whether a connection from the address may be opened; may end another one.  The
 * user of a Unix socket is not known yet, and is looked at by connections_add().
 */
extern bool connections_admit(Connections *connections, const struct sockaddr *address) MUSTCHECK;

/* The socket stays the caller's.  Call connection_remove() before it is closed. */
extern Connection *connections_add(Connections *connections, int fd,
								   const struct sockaddr *address);

/* Shuts the socket, which its owner then finds ended. */
extern void connection_end(Connection *connection);
extern void connection_remove(Connection *connection);

extern const HttpPeer *connection_peer(const Connection *connection);

/* The connection speaks TLS, by a session of GnuTLS. */
extern void connection_begin_tls(Connection *connection, HttpTls *tls, void *session);

/* Looks at the certificate of the client, once; the session is past its beginning. */
extern void connection_identify(Connection *connection, void *session);

/* The first line of a request has come. */
extern void connection_line(Connection *connection);

/* The headers have come, and the request was judged; late gets it. */
extern void connection_busy(Connection *connection, void *request, bool has_token);

/* The request was answered before its body has come. */
extern void connection_early(Connection *connection);

/* The answer has no end, and its server judges whether the client reads it. */
extern void connection_stream(Connection *connection);

/* The request has ended. */
extern void connection_kept(Connection *connection);

#endif							/* TWT_CONNECTIONS_H */
