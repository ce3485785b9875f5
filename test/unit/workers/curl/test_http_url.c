/*-------------------------------------------------------------------------
 *
 * test_http_url.c
 *		Which URLs, hosts and addresses an HTTP handler may send to.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "check.h"
#include "workers/curl/http_url.h"

static void
expect_url(const char *text, bool is_https, const char *host, int port)
{
	HttpUrl		url;
	const char *error = http_url_parse(text, &url);

	if (error != NULL)
		fail_msg("%s: %s", text, error);
	if (url.is_https != is_https || strcmp(url.host, host) != 0 || url.port != port)
		fail_msg("%s: %s host \"%s\", port %d", text, url.is_https ? "https" : "http",
				 url.host, url.port);
	http_url_clear(&url);
}

static void
expect_no_url(const char *text, const char *expected)
{
	HttpUrl		url;
	const char *error = http_url_parse(text, &url);

	if (error == NULL || strcmp(error, expected) != 0)
		fail_msg("%s: %s", text, error ? error : "taken");
	assert_null(url.handle);
}

static void
test_urls(void **state)
{
	expect_url("https://api.example.com", true, "api.example.com", 443);
	expect_url("http://api.example.com/a?b#c", false, "api.example.com", 80);
	expect_url("HTTPS://API.Example.COM:8443/", true, "api.example.com", 8443);
	expect_url("https://10.1.2.3:1/", true, "10.1.2.3", 1);
	expect_url("https://[2001:DB8::1]/", true, "[2001:db8::1]", 443);
	expect_url("https://a_b-c.d/", true, "a_b-c.d", 443);

	/* other spellings of an address become the usual one */
	expect_url("https://2130706433/", true, "127.0.0.1", 443);
	expect_url("https://0x7f.1/", true, "127.0.0.1", 443);
	expect_url("https://%65xample.com/", true, "example.com", 443);
	expect_url("https:///example.com", true, "example.com", 443);
}

static void
test_no_urls(void **state)
{
	expect_no_url("", "it is no URL");
	expect_no_url("api.example.com/hook", "it is no URL");
	expect_no_url("ftp://example.com/", "it must begin with https:// or http://");
	expect_no_url("file:///etc/passwd", "it must begin with https:// or http://");
	expect_no_url("gopher://example.com/", "it must begin with https:// or http://");
	expect_no_url("https://me@example.com/", "a user name or password must not be in it");
	expect_no_url("https://me:pw@example.com/", "a user name or password must not be in it");
	expect_no_url("https://good.example@bad.example/", "a user name or password must not be in it");
	expect_no_url("https://[fe80::1%25eth0]/", "an address must not have a zone");
	expect_no_url("https://ex\xc3\xa4mple.com/", "its host must be an ASCII name or an address");
	expect_no_url("https://-a.example/", "its host must be an ASCII name or an address");
	expect_no_url("https://a b/", "it is no URL");
	expect_no_url("https://a\r\nHost: b/", "it is no URL");
	expect_no_url("https://a:99999/", "it is no URL");
	expect_no_url("https://", "it is no URL");
}

static bool
fits(const char *text, const char *pattern)
{
	HttpUrl		url;
	bool		result;

	assert_null(http_url_parse(text, &url));
	assert_null(http_url_check_pattern(pattern));
	result = http_url_fits(&url, pattern);
	http_url_clear(&url);
	return result;
}

static void
test_patterns(void **state)
{
	assert_true(fits("https://a.example/x", "a.example"));
	assert_true(fits("https://A.EXAMPLE/x", "a.Example"));
	assert_true(fits("https://a.example:8443/", "a.example:8443"));
	assert_true(fits("http://a.example/", "http://a.example"));
	assert_true(fits("https://x.a.example/", "*.a.example"));
	assert_true(fits("https://y.x.a.example/", "*.a.example"));
	assert_true(fits("https://[::1]:1/", "[::1]:1"));

	assert_false(fits("https://b.example/", "a.example"));
	assert_false(fits("https://a.example:8443/", "a.example"));
	assert_false(fits("https://a.example/", "a.example:8443"));
	assert_false(fits("http://a.example/", "a.example"));
	assert_false(fits("https://a.example/", "http://a.example"));
	assert_false(fits("http://a.example:443/", "a.example"));
	assert_false(fits("https://a.example/", "*.a.example"));
	assert_false(fits("https://xa.example/", "*.a.example"));
	assert_false(fits("https://a.example.evil.example/", "a.example"));
	assert_false(fits("https://a.example./", "a.example"));
	assert_false(fits("https://evil.example/a.example", "a.example"));
}

static void
test_no_patterns(void **state)
{
	static const char *const wrong[] = {
		"", "*", "*.", "a.*", "a b", "https://a", "ftp://a", "a/b", "a?b", "a#b",
		"me@a", "a:b", "a:0x", "**.a", "http://", "[::1", "\xc3\xa4.example"
	};

	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (http_url_check_pattern(wrong[i]) == NULL)
			fail_msg("taken: \"%s\"", wrong[i]);
}

static bool
is_public(const char *text)
{
	struct sockaddr_in six4 = {.sin_family = AF_INET};
	struct sockaddr_in6 six6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &six4.sin_addr) == 1)
		return http_address_is_public((struct sockaddr *) &six4);
	assert_int_equal(inet_pton(AF_INET6, text, &six6.sin6_addr), 1);
	return http_address_is_public((struct sockaddr *) &six6);
}

static void
test_addresses(void **state)
{
	static const char *const public[] = {
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
		"126.1.1.1", "128.0.0.1", "169.253.1.1", "172.15.0.1", "172.32.0.1",
		"192.167.1.1", "192.169.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"2001:1::1", "2001:db8::1", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"
	};
	static const char *const private[] = {
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
		"127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "240.0.0.1",
		"255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.1.1.1",
		"64:ff9b::10.0.0.1", "2001::1", "2001:0:a00:1::1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "100::1", "fc00::1",
		"fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1"
	};

	for (int i = 0; i < (int) lengthof(public); i++)
		if (!is_public(public[i]))
			fail_msg("not public: %s", public[i]);
	for (int i = 0; i < (int) lengthof(private); i++)
		if (is_public(private[i]))
			fail_msg("public: %s", private[i]);
}

static void
test_texts(void **state)
{
	assert_true(http_ip_is_public("1.1.1.1"));
	assert_true(http_ip_is_public("2a00::1"));
	assert_false(http_ip_is_public("10.0.0.1"));
	assert_false(http_ip_is_public("::1"));
	assert_false(http_ip_is_public("a.example"));
	assert_false(http_ip_is_public(""));
}

static bool
is_same(const char *a, const char *b)
{
	HttpUrl		first;
	HttpUrl		second;
	bool		result;

	assert_null(http_url_parse(a, &first));
	assert_null(http_url_parse(b, &second));
	result = http_url_is_same_host(&first, &second);
	http_url_clear(&first);
	http_url_clear(&second);
	return result;
}

static void
test_same_host(void **state)
{
	assert_true(is_same("https://a.example/x", "https://A.example:443/y"));
	assert_false(is_same("https://a.example/", "https://b.example/"));
	assert_false(is_same("https://a.example/", "https://a.example:8443/"));
	assert_false(is_same("https://a.example:8443/", "http://a.example:8443/"));
}

static void
test_other_families(void **state)
{
	struct sockaddr address = {.sa_family = AF_UNIX};

	assert_false(http_address_is_public(&address));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_no_urls),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_no_patterns),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_same_host),
		cmocka_unit_test(test_other_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
