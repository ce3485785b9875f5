#include "base/port.h"

#include <unistd.h>

#include "base/address.h"
#include "options/secret_file.h"
#include "web/connections.h"
#include "web/peer.h"
#include "web/web_config.h"

#define TOKEN_MIN_BYTES 16
#define ROLE_MAX_BYTES 63

/* set_config() takes the name "none" for the role that logged in. */
static const char *
check_role(const char *text)
{
	return strcmp(text, "none") == 0 ? "a role cannot be named \"none\"" : NULL;
}

static const Option to_do_options[] = {
	{
		"token_file", OPTION_TEXT, .is_required = true,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(ToDoConfig, token_file),
		.help = "file with bearer tokens for to-do items, one per line"
	},
	{
		"role", OPTION_TEXT, .is_required = true,
		.min = 1, .max = ROLE_MAX_BYTES, .check = check_role,
		.offset = offsetof(ToDoConfig, role),
		.help = "role of the database that reads and answers the items for these tokens"
	},
};

/* A guessed token lets a stranger decide.  Returns false after options_fail(). */
static bool
read_tokens(const Place *place, const char *option, const char *path, char ***tokens)
{
	char	   *reason = NULL;

	*tokens = secret_file_read(path, &reason);
	for (int i = 0; reason == NULL && (*tokens)[i] != NULL; i++)
		if (strlen((*tokens)[i]) < TOKEN_MIN_BYTES)
			reason = pstrdup("a token must have 16 characters at least");
	if (reason == NULL)
		return true;
	(void) options_fail(place, option, "%s", reason);
	pfree(reason);
	return false;
}

static bool
settle_to_do(void *target, const Place *place)
{
	ToDoConfig *to_do = target;

	return read_tokens(place, "token_file", to_do->token_file, &to_do->tokens);
}

static void
release_to_do(void *target)
{
	secret_file_forget(((ToDoConfig *) target)->tokens);
}

static const Section to_do_section = {
	to_do_options, lengthof(to_do_options), sizeof(ToDoConfig), settle_to_do, release_to_do
};

static const Option options[] = {
	{
		"postgres", OPTION_CONNINFO, .fallback = "", .needs_restart = true,
		.min = 0, .max = 8192, .offset = offsetof(WebConfig, postgres),
		.help = "the database, as a libpq connection string or URI"
	},
	{
		"sessions", OPTION_INTEGER, .fallback = "8", .needs_restart = true,
		.min = 1, .max = 100, .offset = offsetof(WebConfig, sessions),
		.help = "most sessions of the database at once: for results, and as many for the to-do items of each role"
	},
	{
		"listen", OPTION_TEXT, .is_required = true, .needs_restart = true,
		.min = 1, .max = 100, .check = address_check,
		.offset = offsetof(WebConfig, listen),
		.help = "address and port of the HTTP server"
	},
	{
		"connections_per_address", OPTION_INTEGER, .fallback = "64",
		.min = 1, .max = CONNECTIONS_MAX, .offset = offsetof(WebConfig, connections_of_one),
		.help = "most connections of one client's address"
	},
	{
		"proxies", OPTION_WORDS,
		.min = 1, .max = 100, .check = peer_check,
		.offset = offsetof(WebConfig, proxies),
		.help = "addresses or networks of proxies, which may have 192 connections together"
	},
	{
		"token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(WebConfig, token_file),
		.help = "file with the accepted bearer tokens, one per line"
	},
	{
		"metrics_token_file", OPTION_TEXT,
		.min = 1, .max = 4095, .check = options_check_path,
		.offset = offsetof(WebConfig, metrics_token_file),
		.help = "file with bearer tokens for GET /metrics alone, one per line; without it, those of token_file"
	},
	{
		"to_do", OPTION_SECTIONS, .section = &to_do_section,
		.min = 1, .max = 100,
		.offset = offsetof(WebConfig, to_do),
		.count_offset = offsetof(WebConfig, nto_do),
		.help = "who may read and answer to-do items"
	},
	{
		"manage", OPTION_SECTION, .section = &manage_section, .offset = offsetof(WebConfig, manage),
		.help = "the management API, and who may use it; without a way to log in there is none"
	},
	{
		"notify", OPTION_SECTION, .section = &notify_section, .offset = offsetof(WebConfig, notify),
		.help = "who hears that no sidecar counts tasks any more; as in the sidecars' file"
	},
	{
		"log", OPTION_SECTION, .section = &log_section,
		.offset = offsetof(WebConfig, log),
		.help = "lines written to stderr"
	},
};

static bool
have_common_token(char *const *tokens, char *const *others)
{
	for (; tokens != NULL && *tokens != NULL; tokens++)
		for (int i = 0; others[i] != NULL; i++)
			if (strcmp(*tokens, others[i]) == 0)
				return true;
	return false;
}

/* A token in two files would have the rights of either. */
static bool
check_to_do(const WebConfig *config, const Place *place)
{
	for (int i = 0; i < config->nto_do; i++)
	{
		bool		is_common = have_common_token(config->tokens, config->to_do[i]->tokens) ||
			have_common_token(config->metrics_tokens, config->to_do[i]->tokens);

		for (int j = 0; j < i; j++)
			is_common |= have_common_token(config->to_do[j]->tokens, config->to_do[i]->tokens);
		if (is_common)
			return options_fail(place, "to_do", "a token of \"%s\" is in another file too",
								config->to_do[i]->token_file);
	}
	return true;
}

static bool
check_metrics(const WebConfig *config, const Place *place)
{
	if (config->metrics_tokens == NULL || !have_common_token(config->tokens, config->metrics_tokens))
		return true;
	return options_fail(place, "metrics_token_file", "a token is in token_file too");
}

/* Whether one of the tokens is one of persons. */
static bool
have_persons_token(const WebConfig *config, char *const *tokens)
{
	for (; tokens != NULL && *tokens != NULL; tokens++)
		if (person_tokens_have(config->manage.tokens, *tokens))
			return true;
	return false;
}

/* A token in two files would have the rights of either. */
static bool
check_manage(const WebConfig *config, const Place *place)
{
	bool		is_common;

	if (config->manage.tokens == NULL)
		return true;
	is_common = have_persons_token(config, config->tokens) ||
		have_persons_token(config, config->metrics_tokens);
	for (int i = 0; i < config->nto_do; i++)
		is_common |= have_persons_token(config, config->to_do[i]->tokens);
	return !is_common || options_fail(place, "manage.token_file", "a token of it is in another file too");
}

static bool
read_metrics_tokens(WebConfig *config, const Place *place)
{
	return config->metrics_token_file == NULL ||
		read_tokens(place, "metrics_token_file", config->metrics_token_file, &config->metrics_tokens);
}

static bool
settle_notify(WebConfig *config, const Place *place)
{
	char		host[256] = "";

	if (!notify_is_wanted(&config->notify))
		return true;
	(void) gethostname(host, sizeof(host) - 1);
	config->notify.line = notify_line(&config->notify, host, NULL, &config->log, place);
	return config->notify.line != NULL;
}

/*
 * Without a token_file, routes that need its tokens are for this machine, or for
 * nobody.  A proxy brings the requests of others to this machine, perhaps with a Host
 * that is ours; where there are hosts, there may be one.
 */
static bool
read_listen(WebConfig *config, const Place *place)
{
	Address		address;
	bool		is_local = address_parse(config->listen, &address) == NULL && address.is_local;

	if (config->token_file != NULL)
		return read_tokens(place, "token_file", config->token_file, &config->tokens);
	if (is_local && config->manage.proxy.user_header == NULL && config->manage.hosts == NULL)
		return true;
	config->tokens = palloc0(sizeof(char *));
	return is_local || manage_is_for_others(&config->manage) ||
		options_fail(place, "listen", "an address that other machines can reach needs a token_file,"
					 " or a way to log in of manage");
}

static bool
settle(void *target, const Place *place)
{
	WebConfig  *config = target;

	return read_metrics_tokens(config, place) && settle_notify(config, place) &&
		read_listen(config, place) && check_metrics(config, place) &&
		check_to_do(config, place) && check_manage(config, place);
}

static void
release(void *target)
{
	secret_file_forget(((WebConfig *) target)->tokens);
	secret_file_forget(((WebConfig *) target)->metrics_tokens);
	pfree(((WebConfig *) target)->notify.line);
}

const Section web_config_section = {
	options, lengthof(options), sizeof(WebConfig), settle, release
};
