/*-------------------------------------------------------------------------
 *
 * trace_settings.c
 *		Where spans go, as the sidecar says it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/text.h"
#include "options/options.h"
#include "options/secret_file.h"
#include "workers/curl/http_url.h"
#include "workers/notify/trace_settings.h"

static char *
copy_member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text == NULL ? NULL : pstrdup(text);
}

static bool
check_url(const TraceSettings *settings, WorkerFault *fault)
{
	HttpUrl		url = {NULL};
	const char *wrong = settings->url == NULL ? "it is missing" : http_url_parse(settings->url, &url);

	if (wrong == NULL)
		http_url_clear(&url);
	return wrong == NULL || worker_fail(fault, "url", pstrdup(wrong));
}

/* A token of HTTP, a colon, and printable text. */
static bool
is_header(const char *line)
{
	size_t		len = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~");

	return len > 0 && line[len] == ':' && text_is_printable(line);
}

/* The lines are not quoted, since they are secrets. */
static bool
read_headers(TraceSettings *settings, const char *path, WorkerFault *fault)
{
	char	   *reason = NULL;

	if (path == NULL)
		return true;
	if (path[0] != '/')
		return worker_fail(fault, "headers_file", pstrdup("the path must be absolute"));
	settings->headers = secret_file_read(path, &reason);
	if (settings->headers == NULL)
		return worker_fail(fault, "headers_file", reason);
	for (int i = 0; settings->headers[i] != NULL; i++)
		if (!is_header(settings->headers[i]))
			return worker_fail(fault, "headers_file", psprintf("header %d of \"%s\" is not NAME: VALUE", i + 1, path));
	return true;
}

static bool
read_all(TraceSettings *settings, const json_t *hello, WorkerFault *fault)
{
	const json_t *told = json_object_get(hello, "settings");

	settings->node = copy_member(hello, "node");
	settings->url = copy_member(told, "url");
	settings->service = copy_member(told, "service");
	settings->environment = copy_member(told, "environment");
	settings->log.format = options_choice_value(&log_section.options[0], json_string_value(json_object_get(told, "format")));
	settings->log.level = options_choice_value(&log_section.options[1], json_string_value(json_object_get(told, "level")));
	return check_url(settings, fault) &&
		read_headers(settings, json_string_value(json_object_get(told, "headers_file")), fault);
}

TraceSettings *
trace_settings_new(const char *line, WorkerFault *fault)
{
	TraceSettings *settings = palloc0(sizeof(TraceSettings));
	json_t	   *hello = json_loads(line, 0, NULL);
	bool		is_fine = read_all(settings, hello, fault);

	json_decref(hello);
	if (is_fine)
		return settings;
	trace_settings_free(settings);
	return NULL;
}

void
trace_settings_free(TraceSettings *settings)
{
	if (settings == NULL)
		return;
	pfree(settings->url);
	secret_file_forget(settings->headers);
	pfree(settings->service);
	pfree(settings->environment);
	pfree(settings->node);
	pfree(settings);
}
