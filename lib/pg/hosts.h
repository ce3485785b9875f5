/*-------------------------------------------------------------------------
 *
 * hosts.h
 *		The servers that a connection string names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HOSTS_H
#define TWT_HOSTS_H

#include "libpq-fe.h"

#include "pg/wire.h"

typedef struct Hosts Hosts;

/* Takes a string that conninfo_check() accepts. */
extern Hosts *hosts_new(const char *conninfo);
extern void hosts_free(Hosts *hosts);

/* At least one. */
extern int	hosts_count(const Hosts *hosts);

/* How long an address may take to answer: connect_timeout, or our default. */
extern int64 hosts_timeout_us(const Hosts *hosts);

/* The name of a server that has to be looked up; NULL: none has. */
extern const char *hosts_name(const Hosts *hosts, int server);

/*
 * Begins to connect to a server under this application name; NULL: out of memory.
 * The address belongs to its name; NULL: none.
 */
extern PGconn *hosts_connect(const Hosts *hosts, int server, const char *address,
							 const char *application);

/*
 * Adds an array of text: the address of the connection, as host:port/database, and then
 * the addresses of all servers that the string names.
 */
extern void hosts_add_addresses(const char *conninfo, const PGconn *conn, WireParams *params);

#endif							/* TWT_HOSTS_H */
