#include "base/port.h"

#include "web/manage_config.h"

static const Option options[] = {
	{
		"token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(ManageConfig, token_file),
		.help = "file with lines NAME ROLES HASH, as twtasks-web --new-token prints them"
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
manage_is_wanted(const ManageConfig *config)
{
	return config->tokens != NULL;
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

/* Printed options hold the number of sessions, so that alone is right. */
static bool
check_ways(const ManageConfig *config, const Place *place)
{
	if (manage_is_wanted(config) || (config->read_postgres == NULL && config->trace_url == NULL))
		return true;
	return options_fail(place, "", "nobody could log in; give it a token_file");
}

static bool
settle(void *target, const Place *place)
{
	return read_tokens(target, place) && check_ways(target, place);
}

static void
release(void *target)
{
	person_tokens_free(((ManageConfig *) target)->tokens);
}

const Section manage_section = {
	options, lengthof(options), sizeof(ManageConfig), settle, release
};
