/*-------------------------------------------------------------------------
 *
 * zk_session.h
 *		One session with ZooKeeper on the event loop.
 *
 * The single-threaded client library names a descriptor and a timeout after
 * each call; the loop watches both.  The library opens no connection and
 * starts no thread before zk_open().
 *
 * The library must not be closed inside one of its callbacks.  So completions
 * only store results, and the owner acts in on_turn().
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ZK_SESSION_H
#define TWT_ZK_SESSION_H

#include <zookeeper/zookeeper.h>

#include "base/loop.h"

typedef struct ZkSession ZkSession;

typedef enum ZkState
{
	ZK_AWAY,					/* not connected; the library keeps trying */
	ZK_CONNECTED,
	ZK_OVER						/* expired or refused: only zk_close() helps */
} ZkState;

/*
 * Opens a session.  addresses: numeric ADDRESS:PORT, separated by commas; a
 * name would block.  on_turn(arg) is called after each event, and may close
 * the session.  Returns NULL, with errno, when resources are short.
 */
extern ZkSession *zk_open(Loop *loop, const char *addresses, int timeout_ms,
						  LoopFn on_turn, void *arg) MUSTCHECK;

/* Ends the session; the server removes its ephemeral nodes at once. */
extern void zk_close(ZkSession *session);

/* The library's handle, for requests; zk_flush() sends them. */
extern zhandle_t * zk_handle(const ZkSession *session);
extern void zk_flush(ZkSession *session);

/* The session acts in the name of USER:PASSWORD from now on, unless the code is an error. */
extern int	zk_add_digest(const ZkSession *session, const char *digest) MUSTCHECK;

extern ZkState zk_state(const ZkSession *session);

/* How long the server keeps a session from which it hears nothing. */
extern int64 zk_timeout_us(const ZkSession *session);

#endif							/* TWT_ZK_SESSION_H */
