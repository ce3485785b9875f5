/*-------------------------------------------------------------------------
 *
 * address.h
 *		An address of this machine that a server listens on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADDRESS_H
#define TWT_ADDRESS_H

/* Delay before a server that could not listen tries again. */
#define ADDRESS_AGAIN_US SECONDS_TO_US(5)

typedef struct Address
{
	char		host[256];		/* without brackets */
	int			port;
	bool		is_local;		/* this machine's: 127.x.x.x or ::1 */
} Address;

/*
 * Splits HOST:PORT, with an IPv6 address in brackets.  Returns false if the
 * text has another form.  The host may be a name; is_local is not set.
 */
extern bool address_split(const char *text, Address *address) MUSTCHECK;

/*
 * Reads HOST:PORT, where HOST is an address (IPv6 in brackets) or "localhost".
 * Returns NULL on success, else the fault (not palloc'd).
 */
extern const char *address_parse(const char *text, Address *address) MUSTCHECK;

/* The same, for an option: returns only the fault. */
extern const char *address_check(const char *text);

/*
 * Returns a listening socket, or -1.  It logs success and failure.  While
 * *is_down stays true, it logs only the first of several failures.
 */
extern int	address_listen(const Address *address, bool *is_down);

#endif							/* TWT_ADDRESS_H */
