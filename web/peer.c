#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/words.h"
#include "web/peer.h"

/* An address with this beginning is for packets that are thrown away (RFC 6666). */
#define USER_BYTE 1

#define IPV4_BITS 96
#define MACHINE_BITS 64

/* The beginning of all addresses that stand for IPv4 addresses. */
static const uint8 ipv4[12] = {[10] = 0xff,[11] = 0xff};

Peer
peer_of(const struct sockaddr *address)
{
	Peer		peer = {0};

	if (address->sa_family == AF_INET)
	{
		memcpy(peer.bytes, ipv4, sizeof(ipv4));
		memcpy(peer.bytes + sizeof(ipv4), &((const struct sockaddr_in *) address)->sin_addr, 4);
	}
	else if (address->sa_family == AF_INET6)
		memcpy(peer.bytes, &((const struct sockaddr_in6 *) address)->sin6_addr, 16);
	return peer;
}

/* A user has the same address in all its groups. */
static Peer
address_of_user(uid_t user)
{
	Peer		peer = {.bytes = {USER_BYTE}};

	memcpy(peer.bytes + 4, &user, sizeof(user));
	return peer;
}

/* The kernel tells how many there are, if there is no room for them. */
static void
ask_groups(int fd, HttpPeer *peer)
{
	socklen_t	len = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
		return;
	peer->groups = palloc(len);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer->groups, &len) == 0)
		peer->ngroups = len / sizeof(gid_t);
}

HttpPeer
peer_of_socket(int fd)
{
	HttpPeer	peer = {.is_unix = true, .user = (uid_t) -1, .group = (gid_t) -1};
	struct ucred cred;
	socklen_t	len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
	{
		peer.user = cred.uid;
		peer.group = cred.gid;
		ask_groups(fd, &peer);
	}
	peer.address = address_of_user(peer.user);
	return peer;
}

static bool
have_same_bits(const Peer *a, const Peer *b, int bits)
{
	int			rest = bits % 8;

	return memcmp(a->bytes, b->bytes, bits / 8) == 0 &&
		(rest == 0 || (a->bytes[bits / 8] ^ b->bytes[bits / 8]) >> (8 - rest) == 0);
}

bool
peer_is_same(const Peer *a, const Peer *b)
{
	bool		is_ipv4 = memcmp(a->bytes, ipv4, sizeof(ipv4)) == 0;

	return have_same_bits(a, b, is_ipv4 ? 128 : MACHINE_BITS);
}

const char *
peer_parse(const char *text, PeerNetwork *network)
{
	size_t		len = strcspn(text, "/");
	char	   *address = pnstrdup(text, len);
	int			least = 0;
	char	   *end;

	memcpy(network->address.bytes, ipv4, sizeof(ipv4));
	network->bits = -1;
	if (inet_pton(AF_INET, address, network->address.bytes + sizeof(ipv4)) == 1)
		least = IPV4_BITS;
	else if (inet_pton(AF_INET6, address, network->address.bytes) != 1)
		least = -1;
	pfree(address);
	if (least < 0)
		return "it must be an address such as 10.0.0.7 or a network such as 10.0.0.0/24";
	network->bits = 128;
	if (text[len] == '\0')
		return NULL;
	network->bits = least + (int) Min(strtoul(text + len + 1, &end, 10), 1000);
	if (text[len + 1] < '0' || text[len + 1] > '9' || *end != '\0' || network->bits > 128)
		return "the number behind the slash is not one of bits of the address";
	return NULL;
}

bool
peer_is_in(const Peer *peer, const PeerNetwork *network)
{
	return have_same_bits(peer, &network->address, network->bits);
}

const char *
peer_check(const char *text)
{
	PeerNetwork network;

	return peer_parse(text, &network);
}

PeerNetworks
peer_networks(char *const *words)
{
	int			n = words_count(words);
	PeerNetworks networks = {palloc0((n + 1) * sizeof(PeerNetwork)), 0};

	for (int i = 0; i < n; i++)
		if (peer_parse(words[i], &networks.all[networks.n]) == NULL)
			networks.n++;
	return networks;
}

void
peer_networks_free(PeerNetworks *networks)
{
	pfree(networks->all);
	networks->all = NULL;
	networks->n = 0;
}

bool
peer_is_in_any(const Peer *peer, const PeerNetworks *networks)
{
	for (int i = 0; i < networks->n; i++)
		if (peer_is_in(peer, &networks->all[i]))
			return true;
	return false;
}
