/*-------------------------------------------------------------------------
 *
 * http_address.h
 *		Where HTTP is served.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_ADDRESS_H
#define TWT_HTTP_ADDRESS_H

typedef struct HttpAddress
{
	char		host[64];		/* without brackets */
	int			port;
	bool		is_local;		/* of this machine: 127.x.x.x or ::1 */
} HttpAddress;

/*
 * Reads HOST:PORT, an address (an IPv6 one in brackets) or "localhost".  NULL
 * on success, else what is wrong (not palloc'd).
 */
extern const char *http_address_parse(const char *text, HttpAddress *address) MUSTCHECK;

/* A listening socket, or -1 and errno. */
extern int	http_address_listen(const HttpAddress *address);

#endif							/* TWT_HTTP_ADDRESS_H */
