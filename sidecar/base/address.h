/*-------------------------------------------------------------------------
 *
 * address.h
 *		An address of this machine that a server listens on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADDRESS_H
#define TWT_ADDRESS_H

/* A server that could not listen tries again after so long. */
#define ADDRESS_AGAIN_US SECONDS_TO_US(5)

typedef struct Address
{
	char		host[256];		/* without brackets */
	int			port;
	bool		is_local;		/* this machine's: 127.x.x.x or ::1 */
} Address;

/*
 * Splits HOST:PORT, an IPv6 address in brackets; false if it is none.  The host
 * may be a name, and is_local stays unknown.
 */
extern bool address_split(const char *text, Address *address) MUSTCHECK;

/*
 * Reads HOST:PORT, an address (an IPv6 one in brackets) or "localhost".  NULL
 * on success, else what is wrong (not palloc'd).
 */
extern const char *address_parse(const char *text, Address *address) MUSTCHECK;

/*
 * A listening socket, or -1.  The log has success and failure; several failures
 * in a row, between which *is_down stays true, only once.
 */
extern int	address_listen(const Address *address, bool *is_down);

#endif							/* TWT_ADDRESS_H */
