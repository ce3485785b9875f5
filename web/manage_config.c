#include "base/port.h"

#include "web/local_socket.h"
#include "web/manage_config.h"

/* Host headers have such names, with a port if that is not the usual one. */
static const char *
check_host(const char *name)
{
	size_t		len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.");

	if (name[len] == ':')
		len += 1 + strspn(name + len + 1, "0123456789");
	return len > 0 && name[len] == '\0' ? NULL : "it must be a name such as tasks.example.com";
}

static const Option options[] = {
	{
		"socket", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 107, .check = local_socket_check,
		.offset = offsetof(ManageConfig, socket),
		.help = "path of a Unix socket on which the server listens too, for its own group"
	},
	{
		"socket_users", OPTION_SECTIONS, .section = &system_entry_section,
		.min = 1, .max = 1000,
		.offset = offsetof(ManageConfig, socket_users),
		.count_offset = offsetof(ManageConfig, nsocket_users),
		.help = "system users and groups who are logged in by the socket; all others are refused"
	},
	{
		"token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(ManageConfig, token_file),
		.help = "file with lines NAME ROLES HASH, as twtasks-web --new-token prints them"
	},
	{
		"proxy", OPTION_SECTION, .section = &proxy_section, .offset = offsetof(ManageConfig, proxy),
		.help = "a proxy that logs people in, and names them in headers"
	},
	{
		"tls", OPTION_SECTION, .section = &tls_section, .offset = offsetof(ManageConfig, tls),
		.help = "TLS of the whole server, and clients who log in by their certificates"
	},
	{
		"hosts", OPTION_WORDS,
		.min = 1, .max = 100, .check = check_host,
		.offset = offsetof(ManageConfig, hosts),
		.help = "names by which browsers know this server; addresses, localhost and the machine's name are known"
	},
	{
		"read_postgres", OPTION_CONNINFO, .needs_restart = true,
		.min = 0, .max = 8192, .offset = offsetof(ManageConfig, read_postgres),
		.help = "a standby that answers what changes nothing, as a libpq connection string or URI"
	},
	{
		"sessions", OPTION_INTEGER, .fallback = "4", .needs_restart = true,
		.min = 1, .max = 100, .offset = offsetof(ManageConfig, sessions),
		.help = "most sessions of the database at once for what changes nothing, and as many for changes"
	},
	{
		"trace_url", OPTION_TEXT,
		.min = 1, .max = 1000, .offset = offsetof(ManageConfig, trace_url),
		.help = "address of a trace, with {trace_id}, for links of the page"
	},
};

bool
manage_is_for_others(const ManageConfig *config)
{
	return config->tokens != NULL || config->proxy.networks.n > 0 || config->tls.nclients > 0;
}

bool
manage_is_wanted(const ManageConfig *config)
{
	return manage_is_for_others(config) || config->nsocket_users > 0 ||
		config->proxy.user_header != NULL;
}

static bool
read_tokens(ManageConfig *config, const Place *place)
{
	char	   *reason = NULL;

	if (config->token_file == NULL)
		return true;
	config->tokens = person_tokens_read(config->token_file, &reason);
	if (config->tokens != NULL)
		return true;
	(void) options_fail(place, "token_file", "%s", reason);
	pfree(reason);
	return false;
}

static bool
check_socket(const ManageConfig *config, const Place *place)
{
	if (config->socket != NULL)
		return true;
	if (config->nsocket_users > 0)
		return options_fail(place, "socket_users", "they need a socket");
	return config->proxy.from_users == NULL || options_fail(place, "proxy.from_users", "they need a socket");
}

/* Printed options hold the number of sessions, so that alone is right. */
static bool
check_ways(const ManageConfig *config, const Place *place)
{
	if (manage_is_wanted(config) ||
		(config->socket == NULL && config->hosts == NULL && config->read_postgres == NULL && config->trace_url == NULL))
		return true;
	return options_fail(place, "", "nobody could log in; give it socket_users, a token_file, a proxy or clients of tls");
}

static bool
settle(void *target, const Place *place)
{
	person_entries_complete(((ManageConfig *) target)->socket_users);
	return read_tokens(target, place) && check_socket(target, place) && check_ways(target, place);
}

static void
release(void *target)
{
	person_tokens_free(((ManageConfig *) target)->tokens);
}

const Section manage_section = {
	options, lengthof(options), sizeof(ManageConfig), settle, release
};
