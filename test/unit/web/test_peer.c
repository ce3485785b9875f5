/*-------------------------------------------------------------------------
 *
 * test_peer.c
 *		Addresses of clients, and networks of proxies.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "check.h"
#include "web/peer.h"

static Peer
peer(const char *text)
{
	struct sockaddr_in ipv4 = {.sin_family = AF_INET};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
		return peer_of((struct sockaddr *) &ipv4);
	assert_int_equal(inet_pton(AF_INET6, text, &ipv6.sin6_addr), 1);
	return peer_of((struct sockaddr *) &ipv6);
}

static bool
is_same(const char *a, const char *b)
{
	Peer		one = peer(a);
	Peer		other = peer(b);

	return peer_is_same(&one, &other);
}

static void
test_same(void **state)
{
	assert_true(is_same("10.0.0.1", "10.0.0.1"));
	assert_true(is_same("10.0.0.1", "::ffff:10.0.0.1"));
	assert_false(is_same("10.0.0.1", "10.0.0.2"));
	assert_false(is_same("::ffff:10.0.0.1", "::ffff:10.0.0.2"));
	assert_true(is_same("2001:db8:0:1::1", "2001:db8:0:1::2"));
	assert_false(is_same("2001:db8:0:1::1", "2001:db8:0:2::1"));
}

static bool
is_in(const char *text, const char *network)
{
	Peer		one = peer(text);
	PeerNetwork parsed;

	assert_null(peer_parse(network, &parsed));
	return peer_is_in(&one, &parsed);
}

static void
test_networks(void **state)
{
	assert_true(is_in("10.0.0.1", "10.0.0.1"));
	assert_true(is_in("::ffff:10.0.0.1", "10.0.0.1"));
	assert_false(is_in("10.0.0.2", "10.0.0.1"));
	assert_true(is_in("10.0.3.255", "10.0.0.0/22"));
	assert_false(is_in("10.0.4.0", "10.0.0.0/22"));
	assert_true(is_in("1.2.3.4", "0.0.0.0/0"));
	assert_false(is_in("2001:db8::1", "0.0.0.0/0"));
	assert_true(is_in("2001:db8::1", "2001:db8::/32"));
	assert_false(is_in("2001:db9::1", "2001:db8::/32"));
	assert_true(is_in("1.2.3.4", "::/0"));
	assert_true(is_in("2001:db8::1", "2001:db8::1/128"));
}

static void
test_faults(void **state)
{
	static const char *const texts[] = {
		"", "proxy.example", "10.0.0", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/8x",
		"10.0.0.1/ 8", "10.0.0.1/8/8", "::1/129", "::1/99999999999999999999", "[::1]", "10.0.0.1:80"
	};
	PeerNetwork network;

	for (int i = 0; i < (int) lengthof(texts); i++)
		if (peer_parse(texts[i], &network) == NULL)
			fail_msg("taken: %s", texts[i]);
}

static void
test_any(void **state)
{
	char	   *words[] = {"10.0.0.1", "proxy.example", "2001:db8::/32", NULL};
	PeerNetworks networks = peer_networks(words);
	Peer		first = peer("10.0.0.1");
	Peer		last = peer("2001:db8::7");
	Peer		other = peer("10.0.0.2");

	assert_int_equal(networks.n, 2);
	assert_true(peer_is_in_any(&first, &networks));
	assert_true(peer_is_in_any(&last, &networks));
	assert_false(peer_is_in_any(&other, &networks));
	peer_networks_free(&networks);
	networks = peer_networks(NULL);
	assert_false(peer_is_in_any(&first, &networks));
	peer_networks_free(&networks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
