/*-------------------------------------------------------------------------
 *
 * hosts.h
 *		The servers that a connection string names, one after the other.
 *
 * libpq would try all servers in one attempt, and spend all of its time on the
 * first that does not answer.  So each attempt targets one server.  We stay
 * with that server until it fails.  libpq would also wait while it looks up a
 * name, so we look names up ourselves and give libpq one address in each
 * attempt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HOSTS_H
#define TWT_HOSTS_H

#include "libpq-fe.h"

typedef struct Hosts Hosts;

/* Takes a string that conninfo_check() accepts. */
extern Hosts *hosts_new(const char *conninfo);
extern void hosts_free(Hosts *hosts);

/* The time limit of an attempt: connect_timeout, or our default. */
extern int64 hosts_timeout_us(const Hosts *hosts);

/* The name to look up before an attempt; NULL: no lookup is needed. */
extern const char *hosts_unknown(const Hosts *hosts);

/* Takes the addresses that the lookup found, separated by commas. */
extern void hosts_found(Hosts *hosts, const char *addresses);

/* Begins to connect under this application name; NULL: out of memory. */
extern PGconn *hosts_connect(const Hosts *hosts, const char *application);

/*
 * Goes on to the next server after a failure.  Returns false when all have
 * failed.
 */
extern bool hosts_next(Hosts *hosts);

/*
 * Notes that the server works.  After its next failure all servers may be
 * tried again.
 */
extern void hosts_keep(Hosts *hosts);

#endif							/* TWT_HOSTS_H */
