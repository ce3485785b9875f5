#include "base/port.h"

#include "base/address.h"
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
		.help = "address and port of the HTTP server"
	},
	{
		"token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = check_path,
		.offset = offsetof(WebConfig, token_file),
		.help = "file with the accepted bearer tokens, one per line"
	},
	{
		"log", OPTION_SECTION, .section = &log_section,
		.offset = offsetof(WebConfig, log),
		.help = "lines written to stderr"
	},
};

/* A guessed token lets a stranger finish tasks.  Returns a palloc'd fault or NULL. */
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
settle(void *target, const Place *place)
{
	WebConfig  *config = target;
	Address		address;
	char	   *reason;

	if (config->token_file == NULL)
		return (address_parse(config->listen, &address) == NULL && address.is_local) ||
			options_fail(place, "listen", "an address that other machines can reach needs a token_file");
	reason = read_tokens(config);
	if (reason == NULL)
		return true;
	(void) options_fail(place, "token_file", "%s", reason);
	pfree(reason);
	return false;
}

static void
release(void *target)
{
	secret_file_forget(((WebConfig *) target)->tokens);
}

static const Section section = {
	options, lengthof(options), sizeof(WebConfig), settle, release
};

WebConfig *
web_config_read(const char *path, char **error)
{
	return options_read(&section, NULL, path, error);
}

void
web_config_free(WebConfig *config)
{
	options_free(&section, config);
}

void
web_config_print(const WebConfig *config, StringInfo out)
{
	options_print(&section, config, out);
}

const char *
web_config_needs_restart(const WebConfig *from, const WebConfig *to)
{
	return options_needs_restart(&section, from, to);
}
