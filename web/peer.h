/*-------------------------------------------------------------------------
 *
 * peer.h
 *		The address of a client, and networks of addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PEER_H
#define TWT_PEER_H

struct sockaddr;

/* An IPv6 address; an IPv4 address as the IPv6 address that stands for it. */
typedef struct Peer
{
	uint8		bytes[16];
} Peer;

typedef struct PeerNetwork
{
	Peer		address;
	int			bits;			/* its members share so many of the 128 */
} PeerNetwork;

extern Peer peer_of(const struct sockaddr *address);

/* Whether one machine may have both: an IPv6 machine has a network of 64 bits. */
extern bool peer_is_same(const Peer *a, const Peer *b);

/* Reads ADDRESS or ADDRESS/BITS.  Returns NULL, or the fault. */
extern const char *peer_parse(const char *text, PeerNetwork *network) MUSTCHECK;

extern bool peer_is_in(const Peer *peer, const PeerNetwork *network);

#endif							/* TWT_PEER_H */
