/*-------------------------------------------------------------------------
 *
 * person_proxy.h
 *		A proxy that logs people in, and names the user and groups in headers.
 *
 *		from: manage_config.h, person.h		to: person_entry.h
 *
 * Anybody can send such headers, so only listed addresses may, or listed users at
 * the other end of a Unix socket.  A proxy that passes a header of its client on
 * sends it twice, which is refused.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PERSON_PROXY_H
#define TWT_PERSON_PROXY_H

#include "web/http.h"
#include "web/person_entry.h"

typedef struct ProxyConfig
{
	char	   *user_header;	/* NULL: there is no such proxy */
	char	   *groups_header;	/* NULL: it names no groups */
	char	  **from;			/* addresses and networks, or NULL */
	PeerNetworks networks;		/* the same */
	char	  **from_users;		/* system users, or NULL */
	uid_t	   *ids;			/* the ones that the system knows */
	int			nids;
	PersonEntry **users;
	PersonEntry **groups;
} ProxyConfig;

extern const Section proxy_section;

/* Whether the request has one of the headers. */
extern bool person_proxy_is_used(const ProxyConfig *proxy, const HttpRequest *request);

/* Whether the headers may come from there. */
extern bool person_proxy_is_trusted(const ProxyConfig *proxy, const HttpPeer *peer);

/*
 * Sets the name, which lives as long as the headers, and adds the roles.  Returns
 * the fault of the headers; NULL: none.
 */
extern const char *person_proxy_read(const ProxyConfig *proxy, const HttpRequest *request,
									 Person *person);

#endif							/* TWT_PERSON_PROXY_H */
