/*-------------------------------------------------------------------------
 *
 * test_person.c
 *		The person behind a request, judged by its headers and its peer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>

#include "base/log.h"
#include "check.h"
#include "fake_loop.h"
#include "web/person.h"

#define TOKEN "0123456789012345678901234567890123456789abc"
#define RIGHT "Authorization", "Bearer " TOKEN
#define JSON "Content-Type", "application/json"
#define SAME "Sec-Fetch-Site", "same-origin"
#define OURS "Origin", "https://tasks.example"
#define HOST "Host", "tasks.example"
#define USER "X-User"
#define GROUPS "X-Groups"

/* ---- the only request ---- */

/* Names and values of headers, in pairs. */
static const char *headers[20];
static const char *method;
static HttpPeer peer;

const char *
http_header(const HttpRequest *request, const char *name)
{
	for (int i = 0; headers[i] != NULL; i += 2)
		if (pg_strcasecmp(headers[i], name) == 0)
			return headers[i + 1];
	return NULL;
}

int
http_header_count(const HttpRequest *request, const char *name)
{
	int			n = 0;

	for (int i = 0; headers[i] != NULL; i += 2)
		n += pg_strcasecmp(headers[i], name) == 0;
	return n;
}

const char *
http_method(const HttpRequest *request)
{
	return method;
}

const HttpPeer *
http_peer(const HttpRequest *request)
{
	return &peer;
}

static void
come_from(const char *address)
{
	PeerNetwork network;

	assert_null(peer_parse(address, &network));
	memset(&peer, 0, sizeof(peer));
	peer.address = network.address;
}

static void
come_from_user(uid_t user, gid_t group, gid_t *groups, int ngroups)
{
	memset(&peer, 0, sizeof(peer));
	peer.is_unix = true;
	peer.user = user;
	peer.group = group;
	peer.groups = groups;
	peer.ngroups = ngroups;
}

/* ---- persons ---- */

static char *viewer[] = {"viewer", NULL};
static char *operator[] = {"operator", "payload=pay", "payload", NULL};
static char *payload[] = {"payload", NULL};
static char *hosts[] = {"other.example", "third.example:8443", NULL};
static PersonToken token = {
	.hash = {
		0x0e, 0x4b, 0x32, 0x4f, 0x2b, 0xe3, 0x28, 0x93, 0x13, 0x80, 0x4a, 0x4f, 0x5f, 0x32, 0xe2, 0x68, 0x22, 0x75, 0x3f, 0x7d, 0xb9, 0x85, 0x81, 0x5d, 0xaf, 0xa4, 0x93, 0x2b, 0x9b, 0xa8, 0xf9, 0x63
	}
};
static PersonTokens tokens = {&token, 1};

static SystemUser members[] = {{1002, "bob"}};
static PersonEntry alice = {.user = "alice", .roles = operator, .is_known = true, .id = 1001};
static PersonEntry staff = {.group = "staff", .roles = viewer, .is_known = true, .id = 50, .members = members, .nmembers = 1};
static PersonEntry gone = {.user = "root", .roles = operator};
static PersonEntry *socket_users[] = {&gone, &alice, &staff, NULL};

static PersonEntry carol = {.user = "carol", .roles = payload};
static PersonEntry *proxy_users[] = {&carol, NULL};
static PersonEntry ops = {.group = "ops", .roles = operator};
static PersonEntry all = {.group = "all of us", .roles = viewer};
static PersonEntry *proxy_groups[] = {&ops, &all, NULL};
static PersonEntry robot = {.user = "robot 7", .roles = operator};
static PersonEntry *clients[] = {&robot, NULL};
static PeerNetwork network;
static uid_t proxy_ids[] = {33};

static ManageConfig config = {
	.socket_users = socket_users, .nsocket_users = 3, .tokens = &tokens, .hosts = hosts,
	.tls = {.clients = clients, .nclients = 1},
	.proxy = {
		.user_header = USER, .groups_header = GROUPS, .networks = {&network, 1},
		.ids = proxy_ids, .nids = 1, .users = proxy_users, .groups = proxy_groups
	}
};
static Persons *persons;
static const PersonRefusal *refusal;

static const Person *
judge(const char *const *of_request)
{
	const Person *person;
	int			n = 0;

	for (; of_request[n] != NULL; n++)
		headers[n] = of_request[n];
	headers[n] = NULL;
	person = persons_judge(persons, NULL, &refusal);
	assert_int_equal(person == NULL, refusal != NULL);
	return person;
}

/* The request with these headers is refused with the status. */
#define expect_refused(wanted, ...) \
	do { \
		const char *const of_request[] = {__VA_ARGS__ __VA_OPT__(,) NULL}; \
		assert_null(judge(of_request)); \
		assert_int_equal(refusal->status, wanted); \
	} while (0)

/* The request with these headers is the person's. */
#define expect_person(wanted, ...) \
	do { \
		const char *const of_request[] = {__VA_ARGS__ __VA_OPT__(,) NULL}; \
		const Person *found = judge(of_request); \
		if (found == NULL) \
			fail_msg("refused: %s", refusal->detail); \
		else \
			assert_string_equal(found->name, wanted); \
	} while (0)

/* The person of the last request. */
static const Person *
person_of_last(void)
{
	return persons_judge(persons, NULL, &refusal);
}

/* ---- tokens ---- */

static void
test_token(void **state)
{
	expect_person("alice", RIGHT);
	expect_person("alice", "authorization", "bearer " TOKEN);
	expect_refused(401);
	expect_refused(401, "Authorization", "");
	expect_refused(401, "Authorization", "Bearer ");
	expect_refused(401, "Authorization", "Bearer");
	expect_refused(401, "Authorization", TOKEN);
	expect_refused(401, "Authorization", "Basic " TOKEN);
	expect_refused(401, "Authorization", "Bearer  " TOKEN);
	expect_refused(401, "Authorization", "Bearer " TOKEN " ");
	expect_refused(401, "Authorization", "Bearer " TOKEN "d");
	expect_refused(401, "Authorization", "Bearer 1123456789012345678901234567890123456789abc");
}

static void
expect_roles(char **roles, const char *any, const char *look, const char *change, const char *read)
{
	const char *const wanted[API_ROLES] = {NULL, any, look, change, read};
	const char *const of_request[] = {RIGHT, NULL};
	const Person *person;

	token.roles = roles;
	person = judge(of_request);
	assert_non_null(person);
	for (int i = 0; i < API_ROLES; i++)
	{
		assert_int_equal(wanted[i] == NULL, person->role[i] == NULL);
		if (wanted[i] != NULL)
			assert_string_equal(wanted[i], person->role[i]);
	}
}

static void
test_roles(void **state)
{
	char	   *all_of_them[] = {"payload", "payload=pay", "viewer", "operator", NULL};

	expect_roles(viewer, "twtasks_viewer", "twtasks_viewer", NULL, NULL);
	expect_roles(operator, "twtasks_viewer", "twtasks_viewer", "twtasks_operator", "pay");
	expect_roles(payload, "twtasks_payload_viewer", NULL, NULL, "twtasks_payload_viewer");
	expect_roles(all_of_them, "twtasks_viewer", "twtasks_viewer", "twtasks_operator", "twtasks_payload_viewer");
	token.roles = viewer;
}

/* Several roles that lack a GRANT have a line each, once a minute. */
static void
test_lacking_roles(void **state)
{
	uint64		lines = log_lines(TWT_LOG_ERROR);

	loop_time += SECONDS_TO_US(60);
	assert_null(persons_trouble(persons));
	for (int i = 0; i < 5; i++)
	{
		persons_lack_role(persons, "lacking one", NULL);
		persons_lack_role(persons, "lacking two", NULL);
	}
	assert_int_equal(log_lines(TWT_LOG_ERROR) - lines, 2);
	loop_time += SECONDS_TO_US(60);
	persons_lack_role(persons, "lacking one", NULL);
	assert_int_equal(log_lines(TWT_LOG_ERROR) - lines, 3);
	for (int i = 0; i < 100; i++)
	{
		char	   *role = psprintf("role %d", i);

		persons_lack_role(persons, role, NULL);
		pfree(role);
	}
	assert_int_equal(log_lines(TWT_LOG_ERROR) - lines, 3 + 15);
	assert_non_null(persons_trouble(persons));
	loop_time += SECONDS_TO_US(90);
	assert_null(persons_trouble(persons));
}

/* A reload replaces the configuration, and a token may be gone. */
static void
test_reload(void **state)
{
	static const ManageConfig none;

	expect_person("alice", RIGHT);
	persons_set_config(persons, &none);
	expect_refused(401, RIGHT);
	persons_set_config(persons, &config);
	expect_person("alice", RIGHT);
}

/* Wrong tokens of one address lock nobody out. */
static void
test_failures(void **state)
{
	uint64		lines = log_lines(TWT_LOG_WARN);

	loop_time += SECONDS_TO_US(60);
	for (int i = 0; i < 30; i++)
		expect_refused(401, "Authorization", "Bearer wrong");
	expect_refused(429, "Authorization", "Bearer wrong");
	expect_person("alice", RIGHT);
	expect_refused(401);
	expect_refused(429, "Authorization", "Bearer wrong");
	come_from("10.0.0.8");
	expect_refused(401, "Authorization", "Bearer wrong");
	come_from("10.0.0.7");
	assert_int_equal(log_lines(TWT_LOG_WARN) - lines, 1);
	loop_time += SECONDS_TO_US(60);
	expect_refused(401, "Authorization", "Bearer wrong");
	assert_int_equal(log_lines(TWT_LOG_WARN) - lines, 2);
}

/* More addresses than are remembered. */
static void
test_many_addresses(void **state)
{
	for (int i = 0; i < 300; i++)
	{
		char	   *address = psprintf("10.1.%d.%d", i / 100, i % 100);

		loop_time++;
		come_from(address);
		expect_refused(401, "Authorization", "Bearer wrong");
		pfree(address);
	}
	come_from("10.0.0.7");
}

/* ---- a proxy ---- */

static void
test_proxy(void **state)
{
	come_from("10.2.3.4");
	expect_person("carol", USER, "carol");
	assert_true(person_of_last()->is_ambient);
	assert_string_equal(person_of_last()->role[API_PAYLOAD], "twtasks_payload_viewer");
	assert_null(person_of_last()->role[API_VIEWER]);
	expect_person("dave", USER, "dave", GROUPS, "all of us");
	assert_null(person_of_last()->role[API_OPERATOR]);
	expect_person("dave", USER, "dave", GROUPS, " ,x,all of us , ops");
	assert_string_equal(person_of_last()->role[API_OPERATOR], "twtasks_operator");
	expect_person("carol", USER, "carol", GROUPS, "ops");
	expect_refused(403, USER, "dave");
	expect_refused(403, USER, "dave", GROUPS, "");
	expect_refused(403, USER, "dave", GROUPS, "op,opsx,all,of us,OPS");
	come_from("10.0.0.7");
}

static void
test_proxy_faults(void **state)
{
	char	   *name = palloc0(202);

	memset(name, 'n', 201);
	come_from("10.2.3.4");
	expect_refused(400, USER, "");
	expect_refused(400, USER, "carol", USER, "carol");
	expect_refused(400, USER, "carol", GROUPS, "ops", GROUPS, "all of us");
	expect_refused(400, USER, "ca\xffrol", GROUPS, "ops");
	expect_refused(400, USER, name, GROUPS, "ops");
	expect_refused(401, GROUPS, "ops");
	expect_refused(401);
	expect_person("nnn", USER, name + 198, GROUPS, "ops");
	come_from("10.0.0.7");
	pfree(name);
}

/* A token names the person, also behind a proxy that says another name. */
static void
test_proxy_token(void **state)
{
	come_from("10.2.3.4");
	expect_person("alice", RIGHT, USER, "carol");
	expect_refused(401, "Authorization", "Bearer wrong", USER, "carol");
	expect_person("carol", "Authorization", "Basic d2hvOmV2ZXI=", USER, "carol");
	come_from("10.0.0.7");
}

/* Only the proxy may name a user. */
static void
test_strangers(void **state)
{
	uint64		lines = log_lines(TWT_LOG_WARN);

	expect_refused(400, USER, "carol");
	expect_refused(400, "x-user", "carol", RIGHT);
	expect_refused(400, GROUPS, "ops", RIGHT);
	expect_refused(400, USER, "", RIGHT);
	come_from("::1");
	expect_refused(400, USER, "carol");
	come_from_user(1001, 1, NULL, 0);
	expect_refused(400, USER, "carol");
	come_from_user(33, 33, NULL, 0);
	expect_person("carol", USER, "carol");
	come_from("10.0.0.7");
	assert_int_equal(log_lines(TWT_LOG_WARN) - lines, 1);
	loop_time += SECONDS_TO_US(60);
	expect_refused(400, USER, "carol");
	assert_int_equal(log_lines(TWT_LOG_WARN) - lines, 2);
}

/* ---- the Unix socket ---- */

static void
test_socket(void **state)
{
	gid_t		groups[] = {7, 50};

	come_from_user(1001, 1, NULL, 0);
	expect_person("alice");
	assert_true(person_of_last()->is_ambient);
	assert_string_equal(person_of_last()->role[API_OPERATOR], "twtasks_operator");
	come_from_user(1002, 1, groups, 2);
	expect_person("bob");
	assert_null(person_of_last()->role[API_OPERATOR]);
	come_from_user(1003, 50, NULL, 0);
	expect_person("uid 1003");
	come_from_user(1001, 50, groups, 1);
	expect_person("alice");
	assert_string_equal(person_of_last()->role[API_OPERATOR], "twtasks_operator");
	come_from_user(1003, 50, NULL, 0);
	token.name = "tom";
	expect_person("tom", RIGHT);
	token.name = "alice";
	come_from("10.0.0.7");
}

/* Neither root nor the proxy has rights without an entry. */
static void
test_socket_strangers(void **state)
{
	gid_t		groups[] = {7, 51};
	uint64		lines = log_lines(TWT_LOG_WARN);

	come_from_user(0, 0, NULL, 0);
	expect_refused(401);
	come_from_user(1003, 1, groups, 2);
	expect_refused(401);
	assert_string_equal(refusal->detail, "The list socket_users does not have the system user of this connection.");
	expect_refused(401, "Authorization", "Bearer wrong");
	expect_person("alice", RIGHT);
	assert_int_equal(log_lines(TWT_LOG_WARN) - lines, 2);
	alice.id = 33;
	come_from_user(33, 33, NULL, 0);
	expect_refused(401);
	alice.id = 1001;
	come_from("10.0.0.7");
}

/* ---- certificates ---- */

static void
test_certificates(void **state)
{
	char		robot_name[] = "robot 7";
	char		other_name[] = "robot";
	char		odd_name[] = "robot\n7";

	peer.common_name = robot_name;
	expect_person("robot 7");
	assert_true(person_of_last()->is_ambient);
	assert_string_equal(person_of_last()->role[API_OPERATOR], "twtasks_operator");
	expect_person("alice", RIGHT);
	expect_refused(401, "Authorization", "Bearer wrong");
	method = "POST";
	expect_person("robot 7", JSON);
	expect_refused(403, "Content-Type", "text/plain");
	expect_refused(403, JSON, "Sec-Fetch-Site", "cross-site");
	method = "GET";
	peer.common_name = other_name;
	expect_refused(403);
	peer.common_name = odd_name;
	expect_refused(403);
	come_from("10.2.3.4");
	peer.common_name = robot_name;
	expect_person("carol", USER, "carol");
	come_from("10.0.0.7");
}

/* ---- web pages of others ---- */

static void
test_origins(void **state)
{
	expect_person("alice", RIGHT, OURS, HOST);
	expect_person("alice", RIGHT, "Origin", "http://Tasks.Example", HOST);
	expect_person("alice", RIGHT, "Origin", "https://other.example", "Host", "127.0.0.1:9180");
	expect_person("alice", RIGHT, "Origin", "https://third.example:8443", "Host", "127.0.0.1:9180");
	expect_refused(403, RIGHT, "Origin", "https://other.example:8443", HOST);
	expect_refused(403, RIGHT, "Origin", "https://third.example", HOST);
	expect_refused(403, RIGHT, "Origin", "https://evil.example", HOST);
	expect_refused(403, RIGHT, "Origin", "https://tasks.example.evil", HOST);
	expect_refused(403, RIGHT, "Origin", "https://tasks.example:1", HOST);
	expect_refused(403, RIGHT, "Origin", "ftp://tasks.example", HOST);
	expect_refused(403, RIGHT, "Origin", "tasks.example", HOST);
	expect_refused(403, RIGHT, "Origin", "null", HOST);
	expect_refused(403, RIGHT, "Origin", "", HOST);
	expect_refused(403, RIGHT, "Origin", "https://", "Host", "");
	expect_refused(403, RIGHT, OURS);
	expect_refused(403, RIGHT, OURS, OURS, HOST);
}

/* A browser logs in at the proxy by itself, so each change must come from our page. */
static void
test_proxy_changes(void **state)
{
	come_from("10.2.3.4");
	method = "POST";
	expect_person("carol", USER, "carol", JSON, SAME);
	expect_person("carol", USER, "carol", JSON, SAME, OURS, HOST);
	expect_person("carol", USER, "carol", "Content-Type", "application/json; charset=utf-8", OURS, HOST);
	expect_refused(403, USER, "carol", JSON);
	expect_refused(403, USER, "carol", SAME);
	expect_refused(403, USER, "carol", "Content-Type", "text/plain", SAME);
	expect_refused(403, USER, "carol", "Content-Type", "application/jsonx", SAME);
	expect_refused(403, USER, "carol", JSON, "Content-Type", "text/plain", SAME);
	expect_refused(403, USER, "carol", JSON, "Sec-Fetch-Site", "same-site");
	expect_refused(403, USER, "carol", JSON, "Sec-Fetch-Site", "cross-site", OURS, HOST);
	expect_refused(403, USER, "carol", JSON, "Sec-Fetch-Site", "none");
	expect_refused(403, USER, "carol", JSON, SAME, SAME);
	expect_refused(403, USER, "carol", JSON, SAME, "Origin", "https://evil.example", HOST);
	method = "PUT";
	expect_refused(403, USER, "carol", JSON);
	method = "DELETE";
	expect_refused(403, USER, "carol", JSON);
	method = "HEAD";
	expect_person("carol", USER, "carol", "Sec-Fetch-Site", "cross-site");
	method = "GET";
	expect_person("carol", USER, "carol", "Sec-Fetch-Site", "cross-site");
	come_from("10.0.0.7");
}

/* Programs use the socket and tokens, and tell no page. */
static void
test_other_changes(void **state)
{
	method = "POST";
	expect_person("alice", RIGHT);
	expect_person("alice", RIGHT, "Sec-Fetch-Site", "cross-site");
	come_from_user(1001, 1, NULL, 0);
	expect_person("alice", JSON);
	expect_refused(403, "Content-Type", "text/plain");
	expect_refused(403, JSON, "Sec-Fetch-Site", "cross-site");
	expect_refused(403, JSON, "Origin", "https://evil.example", HOST);
	come_from("10.0.0.7");
	method = "GET";
}

static int
set_up(void **state)
{
	token.name = "alice";
	token.roles = viewer;
	method = "GET";
	loop_time = SECONDS_TO_US(1000);
	assert_null(peer_parse("10.2.0.0/16", &network));
	come_from("10.0.0.7");
	persons = persons_open(NULL, &config);
	return 0;
}

static int
tear_down(void **state)
{
	persons_close(persons);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_lacking_roles),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_proxy_faults),
		cmocka_unit_test(test_proxy_token),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_socket_strangers),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_proxy_changes),
		cmocka_unit_test(test_other_changes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
