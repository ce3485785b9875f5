/*-------------------------------------------------------------------------
 *
 * web_config.c
 *		The configuration file of twtasks-web.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/address.h"
#include "config/config_load.h"
#include "config/secret_file.h"
#include "web/web_config.h"

#define TOKEN_MIN_BYTES 16

static const char *
check_listen(const char *text)
{
	Address		address;

	return address_parse(text, &address);
}

static const char *
check_path(const char *text)
{
	return text[0] == '/' ? NULL : "the path must be absolute";
}

static const Option options[] = {
	{
		"postgres", OPTION_CONNINFO, .fallback = "", .needs_restart = true,
		.min = 0, .max = 8192, .offset = offsetof(WebConfig, postgres),
		.help = "the database, as a libpq connection string or URI"
	},
	{
		"listen", OPTION_TEXT, .is_required = true, .needs_restart = true,
		.min = 1, .max = 100, .check = check_listen,
		.offset = offsetof(WebConfig, listen),
		.help = "address and port where HTTP is served"
	},
	{
		"token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = check_path,
		.offset = offsetof(WebConfig, token_file),
		.help = "file with the bearer tokens that are accepted there, one per line"
	},
	{
		"log", OPTION_SECTION, .section = &log_section,
		.offset = offsetof(WebConfig, log),
		.help = "what is written to stderr"
	},
};

static const Section section = {options, lengthof(options), sizeof(WebConfig)};

/* Whoever guesses a token can finish tasks.  The reason is palloc'd. */
static char *
read_tokens(WebConfig *config)
{
	char	   *reason = NULL;

	config->tokens = secret_file_read(config->token_file, &reason);
	for (int i = 0; reason == NULL && config->tokens[i] != NULL; i++)
		if (strlen(config->tokens[i]) < TOKEN_MIN_BYTES)
			reason = pstrdup("a token must have 16 characters at least");
	return reason;
}

static bool
settle(void *target, const RawSection *raw, const ConfigSource *source, char **error)
{
	WebConfig  *config = target;
	Address		address;
	char	   *reason;

	if (config->token_file == NULL)
	{
		if (address_parse(config->listen, &address) == NULL && address.is_local)
			return true;
		*error = config_source_message(source, "listen", "an address that other machines "
									   "can reach needs a token_file");
		return false;
	}
	reason = read_tokens(config);
	if (reason == NULL)
		return true;
	*error = config_source_message(source, "token_file", "%s", reason);
	pfree(reason);
	return false;
}

WebConfig *
web_config_read(const char *path, char **error)
{
	WebConfig  *config = palloc0(sizeof(WebConfig));

	if (config_load(path, &section, config, settle, error))
		return config;
	web_config_free(config);
	return NULL;
}

void
web_config_free(WebConfig *config)
{
	secret_file_forget(config->tokens);
	config_clear(&section, config);
	pfree(config);
}

void
web_config_print(const WebConfig *config, StringInfo out)
{
	config_print_options(&section, config, out);
}

const char *
web_config_needs_restart(const WebConfig *from, const WebConfig *to)
{
	return config_first_change(&section, from, to);
}
