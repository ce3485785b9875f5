/*-------------------------------------------------------------------------
 *
 * local_socket.h
 *		A Unix socket that a server listens on.
 *
 * A server that was killed leaves the file of its socket, on which no other can
 * listen.  So the next one removes the file, but only if nobody listens there.
 * The file PATH.lock, which stays, keeps two servers from doing so at once: the
 * one that listens holds a lock on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOCAL_SOCKET_H
#define TWT_LOCAL_SOCKET_H

typedef struct LocalSocket LocalSocket;

/* Whether a socket may have the path: NULL, or the fault.  For an option. */
extern const char *local_socket_check(const char *path);

extern LocalSocket *local_socket_new(const char *path);

/*
 * Returns a listening socket, or -1.  User and group of the process may connect.
 * It logs success, and the first of several failures.  The caller closes the
 * socket after local_socket_remove().
 */
extern int	local_socket_listen(LocalSocket *local);

/* Removes the file, unless it has become another's. */
extern void local_socket_remove(LocalSocket *local);

extern void local_socket_free(LocalSocket *local);

#endif							/* TWT_LOCAL_SOCKET_H */
