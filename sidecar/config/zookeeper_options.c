/*-------------------------------------------------------------------------
 *
 * zookeeper_options.c
 *		How to reach ZooKeeper: the section "zookeeper" of the file.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/address.h"
#include "options/secret_file.h"
#include "config/zookeeper_options.h"

static const char *
check_server(const char *text)
{
	Address		address;

	if (address_split(text, &address) && address.host[strcspn(address.host, " ,/@")] == '\0')
		return NULL;
	return "a server is HOST:PORT, an IPv6 address in brackets";
}

static const char *
check_group(const char *text)
{
	if (strcmp(text, ".") != 0 && strcmp(text, "..") != 0 &&
		text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789._-")] == '\0')
		return NULL;
	return "a group has letters, digits and . _ -";
}

static const char *
check_file(const char *text)
{
	return text[0] == '/' ? NULL : "the path must be absolute";
}

static const Option zookeeper_options[] = {
	{
		"servers", OPTION_WORDS, .needs_restart = true,
		.min = 1, .max = 100, .check = check_server,
		.offset = offsetof(ZooKeeperConfig, servers),
		.count_offset = offsetof(ZooKeeperConfig, nservers),
		.help = "its servers, as HOST:PORT"
	},
	{
		"group", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 100, .check = check_group,
		.offset = offsetof(ZooKeeperConfig, group),
		.help = "nodes of the same group have one leader"
	},
	{
		"digest_file", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 4095, .check = check_file,
		.offset = offsetof(ZooKeeperConfig, digest_file),
		.help = "a file with USER:PASSWORD, which only these nodes know"
	},
	{
		"session", OPTION_DURATION, .fallback = "10s", .needs_restart = true,
		.min = MS_TO_US(500), .max = SECONDS_TO_US(600),
		.offset = offsetof(ZooKeeperConfig, session_us),
		.help = "silence after which ZooKeeper removes a node from the election"
	},
	{
		"fallback", OPTION_DURATION, .fallback = "30s", .needs_restart = true,
		.min = 0, .max = SECONDS_TO_US(86400),
		.offset = offsetof(ZooKeeperConfig, fallback_us),
		.help = "time without ZooKeeper after which PostgreSQL chooses the leader"
	},
};

const Section zookeeper_section = {
	zookeeper_options, lengthof(zookeeper_options), sizeof(ZooKeeperConfig)
};

/* ZooKeeper itself refuses a wrong digest only when nodes connect. */
static bool
check_digest(const char *path, const Place *place)
{
	char	   *reason = NULL;
	char	  **lines = secret_file_read(path, &reason);
	bool		is_fine = lines != NULL && strchr(lines[0], ':') != NULL;

	if (!is_fine)
		(void) options_fail(place, "zookeeper.digest_file", "%s",
							reason != NULL ? reason : "the first line of the file must be USER:PASSWORD");
	secret_file_forget(lines);
	pfree(reason);
	return is_fine;
}

bool
zookeeper_options_complete(const ZooKeeperConfig *config, const Place *place)
{
	if (config->servers == NULL || config->group == NULL)
		return options_fail(place, "leader", "\"zookeeper\" needs zookeeper.servers and zookeeper.group");
	return config->digest_file == NULL || check_digest(config->digest_file, place);
}
