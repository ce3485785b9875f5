/*-------------------------------------------------------------------------
 *
 * zk_servers.h
 *		The addresses of ZooKeeper's servers, without waiting for them.
 *
 * The client library would block while it looks up a name.  So a lookup per
 * server runs first, and the library gets numeric addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ZK_SERVERS_H
#define TWT_ZK_SERVERS_H

#include "base/loop.h"

typedef struct ZkServers ZkServers;

/*
 * addresses: ADDRESS:PORT, separated by commas, of the servers whose names
 * were found.  NULL: no name was found, and error says why for the last
 * server.
 */
typedef void (*ZkServersFn) (void *arg, const char *addresses, const char *error);

/*
 * Calls fn once, later, and then frees the object.  Each server is HOST:PORT,
 * as address_split() reads it.
 */
extern ZkServers *zk_servers_find(Loop *loop, char *const *servers, int nservers,
								  ZkServersFn fn, void *arg);

/* Cancels the lookups, and does not call fn. */
extern void zk_servers_cancel(ZkServers *servers);

#endif							/* TWT_ZK_SERVERS_H */
