/*-------------------------------------------------------------------------
 *
 * peer.h
 *		A client: its address or its user; and networks of addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PEER_H
#define TWT_PEER_H

#include <sys/types.h>

struct sockaddr;

/* An IPv6 address; an IPv4 address as the IPv6 address that stands for it. */
typedef struct Peer
{
	uint8		bytes[16];
} Peer;

/* The client at the other end of a connection. */
typedef struct HttpPeer
{
	Peer		address;		/* a user has one that no machine has */
	bool		is_unix;		/* came by a Unix socket; user and groups are
								 * the kernel's word */
	uid_t		user;
	gid_t		group;
	gid_t	   *groups;			/* the others */
	int			ngroups;
	char	   *common_name;	/* in its certificate, which is good; or NULL */
} HttpPeer;

typedef struct PeerNetwork
{
	Peer		address;
	int			bits;			/* its members share so many of the 128 */
} PeerNetwork;

typedef struct PeerNetworks
{
	PeerNetwork *all;
	int			n;
} PeerNetworks;

extern Peer peer_of(const struct sockaddr *address);

/* The user at the other end of a Unix socket. */
extern HttpPeer peer_of_socket(int fd);

/* Whether one machine may have both: an IPv6 machine has a network of 64 bits. */
extern bool peer_is_same(const Peer *a, const Peer *b);

/* Reads ADDRESS or ADDRESS/BITS.  Returns NULL, or the fault. */
extern const char *peer_parse(const char *text, PeerNetwork *network) MUSTCHECK;

extern bool peer_is_in(const Peer *peer, const PeerNetwork *network);

/* The check of an option whose words are networks. */
extern const char *peer_check(const char *text) MUSTCHECK;

/*
 * The networks of such an option, which is NULL if it is not set; a word that did not
 * pass its check is left out.  The caller frees them.
 */
extern PeerNetworks peer_networks(char *const *words);
extern void peer_networks_free(PeerNetworks *networks);
extern bool peer_is_in_any(const Peer *peer, const PeerNetworks *networks);

#endif							/* TWT_PEER_H */
