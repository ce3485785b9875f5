/*-------------------------------------------------------------------------
 *
 * hosts.h
 *		The servers that a connection string names, one after the other.
 *
 * libpq would try all of them in one attempt, and spend all of its time on the
 * first that does not answer.  So each attempt is for one server, that of our
 * turn; it stays the one until it fails.  Nor is libpq to look up a name, since
 * it would wait: it gets the addresses, one in each attempt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HOSTS_H
#define TWT_HOSTS_H

#include "libpq-fe.h"

typedef struct Hosts Hosts;

/* Of a string that conninfo_check() accepts. */
extern Hosts *hosts_new(const char *conninfo);
extern void hosts_free(Hosts *hosts);

/* How long an attempt may take: connect_timeout, or what we think. */
extern int64 hosts_timeout_us(const Hosts *hosts);

/* The name that is to be looked up before an attempt; NULL: none. */
extern const char *hosts_unknown(const Hosts *hosts);

/* What was found: addresses with commas between them. */
extern void hosts_found(Hosts *hosts, const char *addresses);

/* Begins to connect, as this application; NULL: out of memory. */
extern PGconn *hosts_connect(const Hosts *hosts, const char *application);

/* It has failed: on to the next.  False when all of them have. */
extern bool hosts_next(Hosts *hosts);

/* It is of use: all the others are there to be tried again. */
extern void hosts_keep(Hosts *hosts);

#endif							/* TWT_HOSTS_H */
