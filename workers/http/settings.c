/*-------------------------------------------------------------------------
 *
 * http_target.c
 *		Where the tasks of an HTTP handler go, and what goes with them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "config/secret_file.h"
#include "workers/http/http_headers.h"
#include "workers/http/settings.h"

static bool
read_keys(HttpTarget *target, const HandlerConfig *config, char **reason)
{
	if (config->secret_file != NULL)
		target->keys = http_keys_read(config->secret_file, reason);
	return config->secret_file == NULL || target->keys != NULL;
}

static bool
read_headers(HttpTarget *target, const HandlerConfig *config, char **reason)
{
	if (config->headers_file == NULL)
		return true;
	target->headers = secret_file_read(config->headers_file, reason);
	for (int i = 0; target->headers != NULL && target->headers[i] != NULL; i++)
	{
		const char *error = http_headers_check(target->headers[i]);

		if (error == NULL)
			continue;
		*reason = psprintf("header %d of the file: %s", i + 1, error);
		return false;
	}
	return target->headers != NULL;
}

static bool
look_for_authorities(const HandlerConfig *config, char **reason)
{
	if (config->ca_file == NULL || access(config->ca_file, R_OK) == 0)
		return true;
	*reason = psprintf("could not read the file: %m");
	return false;
}

HttpTarget *
http_target_new(const HandlerConfig *config, const char **option,
				char **reason)
{
	HttpTarget *target = palloc0(sizeof(HttpTarget));
	const char *error = http_url_parse(config->url, &target->url);

	*option = "http";
	if (error != NULL)
		*reason = pstrdup(error);
	else if (!read_keys(target, config, reason))
		*option = "secret_file";
	else if (!read_headers(target, config, reason))
		*option = "headers_file";
	else if (!look_for_authorities(config, reason))
		*option = "ca_file";
	else
		return target;
	http_target_free(target);
	return NULL;
}

void
http_target_free(HttpTarget *target)
{
	if (target == NULL)
		return;
	http_url_clear(&target->url);
	http_keys_free(target->keys);
	secret_file_forget(target->headers);
	pfree(target);
}

const char *
http_target_choose(const HandlerConfig *config, const char *named,
				   HttpUrl *url)
{
	const char *error;

	if (named == NULL || config->nhosts == 0)
		return http_url_parse(config->url, url);
	error = http_url_parse(named, url);
	if (error != NULL)
		return error;
	for (int i = 0; i < config->nhosts; i++)
		if (http_url_fits(url, config->hosts[i]))
			return NULL;
	http_url_clear(url);
	return "its host is not one that tasks may choose";
}
