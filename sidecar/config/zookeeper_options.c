/*-------------------------------------------------------------------------
 *
 * zookeeper_options.c
 *		How to reach ZooKeeper: the section "zookeeper" of the file.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/hello.h"
#include "options/judged.h"
#include "config/zookeeper_options.h"

static const Option zookeeper_options[] = {
	{
		"servers", OPTION_WORDS, .needs_restart = true,
		.min = 1, .max = 100,
		.offset = offsetof(ZooKeeperConfig, servers),
		.count_offset = offsetof(ZooKeeperConfig, nservers),
		.help = "its servers, as HOST:PORT"
	},
	{
		"group", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 100,
		.offset = offsetof(ZooKeeperConfig, group),
		.help = "nodes of the same group have one leader"
	},
	{
		"digest_file", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 4095,
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

char *
zookeeper_line(const ZooKeeperConfig *config, const char *node, const LogConfig *log,
			   const Place *place)
{
	static const Judged how = {.owner = "zookeeper", .option = "servers"};

	if (config->servers == NULL || config->group == NULL)
	{
		(void) options_fail(place, "leader", "\"zookeeper\" needs zookeeper.servers and zookeeper.group");
		return NULL;
	}
	return judged_hello("zookeeper", hello_make(node, hello_settings(&log_section, log), &zookeeper_section, config),
						&how, place);
}
