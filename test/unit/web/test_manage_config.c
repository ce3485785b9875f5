/*-------------------------------------------------------------------------
 *
 * test_manage_config.c
 *		The section "manage" of the configuration file of twtasks-web.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <pwd.h>

#include "web_config_text.h"

#define OLD_TOKEN "0123456789012345678901234567890123456789abc"
#define HASH "0e4b324f2be3289313804a4f5f32e26822753f7db985815dafa4932b9ba8f963"
#define OTHER_HASH "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

static void
test_section(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\nmanage:\n  token_file: @\n"
								  "  read_postgres: 'host=standby password=s3cret'\n  sessions: 7\n"
								  "  trace_url: 'https://traces.example/{trace_id}'\n");
	StringInfoData printed;

	assert_true(manage_is_wanted(&config->manage));
	assert_int_equal(config->manage.tokens->n, 1);
	assert_int_equal(config->manage.sessions, 7);
	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	assert_null(strstr(printed.data, "s3cret"));
	assert_null(strstr(printed.data, OTHER_HASH));
	options_free(&web_config_section, config);
	pfree(printed.data);
}

/* Without a way to log in there is no API, and the printed options are right. */
static void
test_without(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\n");
	StringInfoData printed;

	assert_false(manage_is_wanted(&config->manage));
	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	options_free(&web_config_section, config);
	config = read_web(printed.data);
	assert_false(manage_is_wanted(&config->manage));
	options_free(&web_config_section, config);
	pfree(printed.data);
	expect_error(":2:9: manage: nobody could log in", "listen: localhost:1\nmanage: {trace_url: 'https://x'}\n");
}

static void
test_tokens(void **state)
{
	expect_error(":2:22: manage.token_file: line 1: it must be a name",
				 "listen: localhost:1\nmanage: {token_file: &}\n");
	expect_error("manage.token_file: could not open the file: No such file",
				 "listen: localhost:1\nmanage: {token_file: /nowhere}\n");
	expect_error("manage.token_file: invalid value \"people\": the path must be absolute",
				 "listen: localhost:1\nmanage: {token_file: people}\n");
}

/* Names of the system become numbers. */
static void
test_socket(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\nmanage:\n  socket: /tmp/web.sock\n  socket_users:\n"
								  "  - {user: daemon, roles: [viewer, payload=pay]}\n"
								  "  - {group: daemon, roles: [operator]}\n");
	HttpPeer	peer = {.is_unix = true, .user = 65534, .group = 1};
	Person		person = {0};

	assert_true(manage_is_wanted(&config->manage));
	assert_false(manage_is_for_others(&config->manage));
	assert_null(person_entries_peer(config->manage.socket_users, &peer, &person));
	assert_null(person.role[API_PAYLOAD]);
	assert_string_equal(person.role[API_OPERATOR], "twtasks_operator");
	peer.user = 1;
	assert_string_equal(person_entries_peer(config->manage.socket_users, &peer, &person), "daemon");
	assert_string_equal(person.role[API_PAYLOAD], "pay");
	options_free(&web_config_section, config);
	expect_error("manage.socket_users: they need a socket",
				 "listen: localhost:1\nmanage: {socket_users: [{user: daemon, roles: [viewer]}]}\n");
	expect_error("manage: nobody could log in", "listen: localhost:1\nmanage: {socket: /tmp/web.sock}\n");
	expect_error("listen: an address that other machines can reach needs a token_file",
				 "listen: '0.0.0.0:1'\nmanage: {socket: /tmp/web.sock, socket_users: [{user: daemon, roles: [viewer]}]}\n");
}

/* The system's users, as these tests see them: one of the group daemon, and one of bin. */
static int	nwalks;
static int	nusers;

void
setpwent(void)
{
	nwalks++;
	nusers = 0;
}

struct passwd *
getpwent(void)
{
	static struct passwd users[] = {
		{.pw_name = "ada", .pw_uid = 4711, .pw_gid = 1}, {.pw_name = "bob", .pw_uid = 4712, .pw_gid = 2}
	};

	return nusers < (int) lengthof(users) ? &users[nusers++] : NULL;
}

/* One walk through all users completes all groups, since a directory may have many. */
static void
test_primary_groups(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\nmanage:\n  socket: /tmp/web.sock\n  socket_users:\n"
								  "  - {group: daemon, roles: [viewer]}\n"
								  "  - {group: bin, roles: [viewer]}\n"
								  "  - {group: daemon, roles: [operator]}\n");
	HttpPeer	peer = {.is_unix = true, .user = 4711, .group = 1};
	Person		person = {0};

	assert_int_equal(nwalks, 1);
	assert_string_equal(person_entries_peer(config->manage.socket_users, &peer, &person), "ada");
	assert_string_equal(person.role[API_OPERATOR], "twtasks_operator");
	peer.user = 4712;
	assert_null(person_entries_peer(config->manage.socket_users, &peer, &person));
	peer.group = 2;
	assert_string_equal(person_entries_peer(config->manage.socket_users, &peer, &person), "bob");
	options_free(&web_config_section, config);
	nwalks = 0;
	options_free(&web_config_section, read_web("listen: localhost:1\nmanage: {socket: /tmp/web.sock,"
											   " socket_users: [{user: daemon, roles: [viewer]}]}\n"));
	assert_int_equal(nwalks, 0);
}

static void
expect_user_error(const char *expected, const char *entry)
{
	char	   *lines = psprintf("listen: localhost:1\nmanage: {socket: /tmp/web.sock, socket_users: [%s]}\n", entry);

	expect_error(expected, lines);
	pfree(lines);
}

static void
test_socket_users(void **state)
{
	expect_user_error("manage.socket_users[0]: an entry has a user or a group", "{roles: [viewer]}");
	expect_user_error("manage.socket_users[0]: an entry has a user or a group", "{user: a, group: b, roles: [viewer]}");
	expect_user_error("manage.socket_users[0].roles: the key is missing", "{user: a}");
	expect_user_error("manage.socket_users[0].roles: the list must not be empty", "{user: a, roles: []}");
	expect_user_error("manage.socket_users[0].roles[0]: invalid value \"boss\": a role is viewer, operator, payload or payload=ROLE",
					  "{user: a, roles: [boss]}");
}

/* A user who has left the system stops nothing, and has no rights. */
static void
test_unknown_user(void **state)
{
	char	   *error = NULL;
	WebConfig  *config = read_lines("listen: localhost:1\nmanage: {socket: /tmp/web.sock,"
									" socket_users: [{user: root, roles: [viewer]}, {user: nobody at all, roles: [operator]}]}\n", &error);
	HttpPeer	peer = {.is_unix = true};
	Person		person = {0};

	assert_non_null(config);
	assert_non_null(strstr(error, "manage.socket_users[1].user: the system does not know it"));
	assert_string_equal(person_entries_peer(config->manage.socket_users, &peer, &person), "root");
	assert_null(person.role[API_OPERATOR]);
	options_free(&web_config_section, config);
	pfree(error);
}

static void
test_proxy(void **state)
{
	WebConfig  *config = read_web("listen: '0.0.0.0:1'\nmanage:\n  proxy:\n    user_header: X-Forwarded-User\n"
								  "    groups_header: X-Forwarded-Groups\n    from: [10.0.0.7, '10.1.0.0/16']\n"
								  "    groups: [{group: ops, roles: [operator]}]\n"
								  "    users: [{user: 'alice@example.com', roles: [payload]}]\n"
								  "  hosts: [tasks.example.com, 'localhost:8443']\n");
	HttpPeer	peer = {0};
	PeerNetwork network;

	assert_null(peer_parse("10.1.2.3", &network));
	peer.address = network.address;
	assert_true(person_proxy_is_trusted(&config->manage.proxy, &peer));
	peer.is_unix = true;
	assert_false(person_proxy_is_trusted(&config->manage.proxy, &peer));
	assert_string_equal(config->manage.hosts[1], "localhost:8443");
	options_free(&web_config_section, config);
}

static void
expect_proxy_error(const char *expected, const char *proxy)
{
	char	   *lines = psprintf("listen: localhost:1\nmanage: {proxy: {%s}}\n", proxy);

	expect_error(expected, lines);
	pfree(lines);
}

static void
test_proxy_errors(void **state)
{
	expect_proxy_error("manage.proxy.user_header: the key is missing", "from: [10.0.0.7]");
	expect_proxy_error("manage.proxy.from: name the addresses", "user_header: X-User");
	expect_proxy_error("manage.proxy.groups: nobody would have a role", "user_header: X-User, from: [10.0.0.7]");
	expect_proxy_error("manage.proxy.groups_header: groups and groups_header need each other",
					   "user_header: X-User, from: [10.0.0.7], groups: [{group: ops, roles: [viewer]}]");
	expect_proxy_error("manage.proxy.groups_header: groups and groups_header need each other",
					   "user_header: X-User, groups_header: G, from: [10.0.0.7], users: [{user: a, roles: [viewer]}]");
	expect_proxy_error("manage.proxy.user_header: invalid value \"X User\"", "user_header: X User");
	expect_proxy_error("manage.proxy.user_header: invalid value \"Authorization\"", "user_header: Authorization");
	expect_proxy_error("manage.proxy.from[0]: invalid value \"proxy.example\"", "user_header: X-User, from: [proxy.example]");
	expect_proxy_error("manage.proxy.from_users: they need a socket",
					   "user_header: X-User, from_users: [daemon], users: [{user: a, roles: [viewer]}]");
	expect_error("manage.hosts[0]: invalid value \"https://x\"", "listen: localhost:1\nmanage: {hosts: ['https://x']}\n");
}

static void
expect_tls_error(const char *expected, const char *tls)
{
	char	   *lines = psprintf("listen: localhost:1\nmanage: {tls: {%s}}\n", tls);

	expect_error(expected, lines);
	pfree(lines);
}

static void
test_tls_errors(void **state)
{
	expect_tls_error("manage.tls.certificate_file: the key is missing", "key_file: /nowhere");
	expect_tls_error("manage.tls.certificate_file: the key is missing", "clients: [{name: robot, roles: [viewer]}]");
	expect_tls_error("manage.tls.key_file: the key is missing", "certificate_file: /nowhere");
	expect_tls_error("manage.tls: ", "certificate_file: /nowhere, key_file: /nowhere");
	expect_tls_error("manage.tls.clients: clients and client_ca_file need each other",
					 "certificate_file: /nowhere, key_file: /nowhere, client_ca_file: /nowhere");
	expect_tls_error("manage.tls.clients: clients and client_ca_file need each other",
					 "certificate_file: /nowhere, key_file: /nowhere, clients: [{name: robot, roles: [viewer]}]");
	expect_tls_error("manage.tls.clients[0].name: the key is missing", "clients: [{roles: [viewer]}]");
}

/* A token in two files would have the rights of either. */
static void
test_common_token(void **state)
{
	static const char *const files[] = {
		"listen: localhost:1\nmanage: {token_file: @}\ntoken_file: &\n",
		"listen: localhost:1\nmanage: {token_file: @}\nmetrics_token_file: &\n",
		"listen: localhost:1\nmanage: {token_file: @}\nto_do: [{token_file: &, role: r}]\n",
	};

	for (int i = 0; i < 3; i++)
	{
		options_free(&web_config_section, read_web(files[i]));
		write_secret(people, "alice viewer " HASH "\n");
		expect_error(":2:22: manage.token_file: a token of it is in another file too", files[i]);
		write_secret(people, "alice viewer " OTHER_HASH "\n");
	}
}

/* Other machines can finish no tasks without a token_file. */
static void
test_beyond_this_machine(void **state)
{
	WebConfig  *config = read_web("listen: '0.0.0.0:1'\nmanage: {token_file: @}\n");

	assert_non_null(config->tokens);
	assert_null(config->tokens[0]);
	options_free(&web_config_section, config);
	config = read_web("listen: '127.0.0.1:1'\nmanage: {token_file: @}\n");
	assert_null(config->tokens);
	options_free(&web_config_section, config);
	config = read_web("listen: '127.0.0.1:1'\nmanage: {proxy: {user_header: X-User, from: [127.0.0.1],"
					  " users: [{user: a, roles: [viewer]}]}}\n");
	assert_non_null(config->tokens);
	assert_null(config->tokens[0]);
	options_free(&web_config_section, config);
	config = read_web("listen: '127.0.0.1:1'\nmanage: {token_file: @, hosts: [tasks.example.com]}\n");
	assert_non_null(config->tokens);
	assert_null(config->tokens[0]);
	options_free(&web_config_section, config);
	expect_error("listen: an address that other machines can reach needs a token_file, or a way to log in of manage",
				 "listen: '0.0.0.0:1'\n");
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(people, sizeof(people), "%s/people", directory);
	snprintf(tokens, sizeof(tokens), "%s/tokens", directory);
	write_secret(people, "alice viewer " OTHER_HASH "\n");
	write_secret(tokens, OLD_TOKEN "\n");
	return 0;
}

static int
tear_down(void **state)
{
	unlink(people);
	unlink(tokens);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_section),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_primary_groups),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_socket_users),
		cmocka_unit_test(test_unknown_user),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_proxy_errors),
		cmocka_unit_test(test_tls_errors),
		cmocka_unit_test(test_common_token),
		cmocka_unit_test(test_beyond_this_machine),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
