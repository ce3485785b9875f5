#include "base/port.h"

#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "base/text.h"
#include "options/secret_file.h"
#include "workers/http/http_headers.h"
#include "workers/http/settings.h"

#define CONCURRENCY 50
#define CONNECT_TIMEOUT_US SECONDS_TO_US(10)
#define MAX_OUTPUT (64 * 1024)
#define SECRET_MIN 8			/* bytes of a word of a header that is hidden */

static const char *
get_text(const HttpSettings *settings, const char *name)
{
	return json_string_value(json_object_get(settings->json, name));
}

/*
 * Returns an array that ends in NULL; a value that is not text counts as
 * empty.
 */
static char **
get_words(const HttpSettings *settings, const char *name)
{
	const json_t *list = json_object_get(settings->json, name);
	size_t		n = json_array_size(list);
	char	  **words = palloc0((n + 1) * sizeof(char *));

	for (size_t i = 0; i < n; i++)
	{
		const char *word = json_string_value(json_array_get(list, i));

		words[i] = unconstify(char *, word != NULL ? word : "");
	}
	return words;
}

static double
get_number(const HttpSettings *settings, const char *name, double fallback)
{
	const json_t *number = json_object_get(settings->json, name);

	return json_is_number(number) ? json_number_value(number) : fallback;
}

static bool
read_url(HttpSettings *settings, WorkerFault *fault)
{
	const char *text = get_text(settings, "http");
	const char *error;

	if (text == NULL)
		return worker_fail(fault, "http", pstrdup("the key is missing"));
	error = http_url_parse(text, &settings->url);
	return error == NULL || worker_fail_value(fault, "http", text, error);
}

static bool
read_hosts(HttpSettings *settings, WorkerFault *fault)
{
	settings->hosts = get_words(settings, "hosts");
	for (int i = 0; settings->hosts[i] != NULL; i++)
	{
		const char *error = http_url_check_pattern(settings->hosts[i]);
		char		place[32];

		if (error == NULL)
			continue;
		snprintf(place, sizeof(place), "hosts[%d]", i);
		return worker_fail_value(fault, place, settings->hosts[i], error);
	}
	return true;
}

static bool
read_keys(HttpSettings *settings, WorkerFault *fault)
{
	const char *path = get_text(settings, "secret_file");
	char	   *reason;

	if (path == NULL)
		return true;
	settings->keys = http_keys_read(path, &reason);
	return settings->keys != NULL || worker_fail(fault, "secret_file", reason);
}

static bool
is_entry(const HttpSettings *settings, const char *pattern)
{
	for (int i = 0; settings->hosts[i] != NULL; i++)
		if (strcmp(settings->hosts[i], pattern) == 0)
			return true;
	return false;
}

static bool
read_host_keys(HttpSettings *settings, WorkerFault *fault)
{
	json_t	   *files = json_object_get(settings->json, "secret_files");
	const char *pattern;
	const json_t *path;

	settings->host_keys = palloc0((json_object_size(files) + 1) * sizeof(HttpHostKeys));
	json_object_foreach(files, pattern, path)
	{
		HttpHostKeys *own = &settings->host_keys[settings->nhost_keys];
		char	   *reason;

		if (!is_entry(settings, pattern))
			return worker_fail_value(fault, "secret_files", pattern, "it is no entry of \"hosts\"");
		if (!json_is_string(path))
			return worker_fail_value(fault, "secret_files", pattern, "its value must be the path of a file");
		own->pattern = pattern;
		own->keys = http_keys_read(json_string_value(path), &reason);
		if (own->keys == NULL)
			return worker_fail(fault, "secret_files", reason);
		settings->nhost_keys++;
	}
	return true;
}

static bool
read_headers(HttpSettings *settings, WorkerFault *fault)
{
	const char *path = get_text(settings, "headers_file");
	char	   *reason;

	if (path == NULL)
		return true;
	settings->headers = secret_file_read(path, &reason);
	if (settings->headers == NULL)
		return worker_fail(fault, "headers_file", reason);
	for (int i = 0; settings->headers[i] != NULL; i++)
	{
		const char *error = http_headers_check(settings->headers[i]);

		if (error != NULL)
			return worker_fail(fault, "headers_file",
							   psprintf("header %d of the file: %s", i + 1, error));
	}
	return true;
}

static bool
read_authorities(HttpSettings *settings, WorkerFault *fault)
{
	settings->ca_file = get_text(settings, "ca_file");
	return settings->ca_file == NULL || access(settings->ca_file, R_OK) == 0 ||
		worker_fail(fault, "ca_file", psprintf("could not read the file: %m"));
}

static void
read_rest(HttpSettings *settings)
{
	const char *networks = get_text(settings, "networks");
	const char *resend = get_text(settings, "resend");

	settings->is_public_only = networks == NULL || strcmp(networks, "any") != 0;
	settings->may_resend = resend != NULL && strcmp(resend, "unanswered") == 0;
	settings->statuses = get_words(settings, "statuses");
	settings->connect_timeout_us =
		rint(get_number(settings, "connect_timeout", CONNECT_TIMEOUT_US / 1e6) * 1e6);
	settings->max_output = get_number(settings, "max_output", MAX_OUTPUT);
	settings->concurrency = get_number(settings, "concurrency", CONCURRENCY);
}

HttpSettings *
http_settings_new(const char *hello, WorkerFault *fault)
{
	HttpSettings *settings = palloc0(sizeof(HttpSettings));
	json_t	   *object = json_loads(hello, 0, NULL);

	settings->json = json_incref(json_object_get(object, "settings"));
	json_decref(object);
	if (read_url(settings, fault) && read_hosts(settings, fault) &&
		read_keys(settings, fault) && read_host_keys(settings, fault) && read_headers(settings, fault) &&
		read_authorities(settings, fault))
	{
		read_rest(settings);
		return settings;
	}
	http_settings_free(settings);
	return NULL;
}

void
http_settings_free(HttpSettings *settings)
{
	if (settings == NULL)
		return;
	http_url_clear(&settings->url);
	http_keys_free(settings->keys);
	for (int i = 0; i < settings->nhost_keys; i++)
		http_keys_free(settings->host_keys[i].keys);
	pfree(settings->host_keys);
	secret_file_forget(settings->headers);
	pfree(settings->hosts);
	pfree(settings->statuses);
	json_decref(settings->json);
	pfree(settings);
}

const char *
http_settings_choose(const HttpSettings *settings, const char *named, HttpUrl *url)
{
	const char *error;

	if (named == NULL || settings->hosts[0] == NULL)
		return http_url_copy(&settings->url, url);
	error = http_url_parse(named, url);
	if (error != NULL)
		return error;
	for (int i = 0; settings->hosts[i] != NULL; i++)
		if (http_url_fits(url, settings->hosts[i]))
			return NULL;
	http_url_clear(url);
	return "its host is not one that tasks may choose";
}

/* Whether a pattern is nearer to a host that both fit. */
static bool
is_nearer(const char *pattern, const char *other)
{
	bool		is_wild = strstr(pattern, "*.") != NULL;
	bool		is_other_wild = strstr(other, "*.") != NULL;

	return is_wild == is_other_wild ? strlen(pattern) > strlen(other) : is_other_wild;
}

const HttpKeys *
http_settings_keys(const HttpSettings *settings, const HttpUrl *url)
{
	const HttpHostKeys *best = NULL;

	for (int i = 0; i < settings->nhost_keys; i++)
	{
		const HttpHostKeys *own = &settings->host_keys[i];

		if (http_url_fits(url, own->pattern) && (best == NULL || is_nearer(own->pattern, best->pattern)))
			best = own;
	}
	return best != NULL ? best->keys : settings->keys;
}

/*
 * A server may repeat a part of what it was sent where it refuses it, such as the second
 * word of "Bearer SECRET" or the value of a cookie.  A short word, such as a version, is
 * not a secret.
 */
static char *
hide_words(char *text, const char *value)
{
	static const char between[] = " ;,=\"";

	while (*(value += strspn(value, between)) != '\0')
	{
		size_t		len = strcspn(value, between);
		char	   *word = pnstrdup(value, len);

		if (len >= SECRET_MIN)
			text = text_without(text, word);
		text_forget(word);
		value += len;
	}
	return text;
}

char *
http_settings_redact(const HttpSettings *settings, char *text)
{
	for (char **line = settings->headers; line != NULL && *line != NULL; line++)
		text = hide_words(text, strchr(*line, ':') + 1);
	return text;
}
