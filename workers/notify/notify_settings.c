/*-------------------------------------------------------------------------
 *
 * notify_settings.c
 *		Where incidents are sent, as the sidecar says it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "options/secret_file.h"
#include "workers/curl/http_url.h"
#include "workers/notify/notify_settings.h"
#include "workers/notify/notify_template.h"

#define TEMPLATE_MAX_BYTES (64 * 1024)

/* One target while it is read; its faults are about "targets[i].NAME". */
typedef struct Reading
{
	const json_t *told;
	NotifyTarget *target;
	int			i;
	WorkerFault *fault;
} Reading;

static const char *
member(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* Takes the palloc'd reason.  Returns false. */
static bool
fail(const Reading *reading, const char *setting, char *reason)
{
	char	   *place = psprintf("targets[%d].%s", reading->i, setting);

	(void) worker_fail(reading->fault, place, reason);
	pfree(place);
	return false;
}

/* ---- URLs and secrets ---- */

/* The first line of the file; NULL, with a palloc'd reason: it cannot be read. */
static char *
read_line(const char *path, char **reason)
{
	char	  **lines;
	char	   *line;

	if (path[0] != '/')
	{
		*reason = pstrdup("the path must be absolute");
		return NULL;
	}
	lines = secret_file_read(path, reason);
	if (lines == NULL)
		return NULL;
	line = pstrdup(lines[0]);
	secret_file_forget(lines);
	return line;
}

static const char *
url_fault(const char *text)
{
	HttpUrl		url = {NULL};
	const char *fault = http_url_parse(text, &url);

	if (fault == NULL)
		http_url_clear(&url);
	return fault;
}

/* A URL of a file is not quoted. */
static bool
read_url(const Reading *reading)
{
	NotifyTarget *target = reading->target;
	const char *url = member(reading->told, "url");
	const char *path = member(reading->told, "url_file");
	const char *fault;
	char	   *reason = NULL;

	target->is_url_secret = path != NULL;
	if (path != NULL && url != NULL)
		return fail(reading, "url_file", pstrdup("a target has one of url and url_file"));
	if (url == NULL)
		url = target->kind->url;
	if (path == NULL && url == NULL)
		return fail(reading, "url", psprintf("kind %s needs one, or url_file", target->kind->name));
	target->url = path != NULL ? read_line(path, &reason) : pstrdup(url);
	if (target->url == NULL)
		return fail(reading, "url_file", reason);
	fault = url_fault(target->url);
	return fault == NULL || fail(reading, path != NULL ? "url_file" : "url", pstrdup(fault));
}

static bool
read_secret(const Reading *reading)
{
	NotifyTarget *target = reading->target;
	const char *path = member(reading->told, "secret_file");
	char	   *reason = NULL;

	if (path == NULL)
		return !target->kind->needs_secret ||
			fail(reading, "secret_file", psprintf("kind %s needs one", target->kind->name));
	if (target->kind->is_signed)
		target->keys = http_keys_read(path, &reason);
	else
		target->secret = read_line(path, &reason);
	return target->keys != NULL || target->secret != NULL || fail(reading, "secret_file", reason);
}

/* ---- templates ---- */

/* Where it was installed; a program that was not finds it in a folder above its own. */
static char *
template_path(const char *name)
{
	char		self[PATH_MAX];
	ssize_t		len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char	   *directory;
	char	   *path;

	if (len < 0)
	{
		log_line(TWT_LOG_FATAL, "notify", "could not find the templates beside this program by /proc/self/exe: %m");
		program_exit(EXIT_NO_RESOURCES);
	}
	self[len] = '\0';
	directory = dirname(self);
	path = psprintf("%s/../share/twtasks/notify/%s.tmpl", directory, name);
	while (access(path, R_OK) != 0 && strlen(directory) > 1)
	{
		directory = dirname(directory);
		pfree(path);
		path = psprintf("%s/share/notify/%s.tmpl", directory, name);
	}
	return path;
}

/* NULL, with a palloc'd reason: the file cannot be read, or is not a template. */
static char *
read_template(const char *path, char **reason)
{
	FILE	   *file = fopen(path, "re");
	char	   *text = palloc0(TEMPLATE_MAX_BYTES + 1);
	size_t		len = 0;

	if (file == NULL)
		*reason = psprintf("could not open \"%s\": %s", path, strerror(errno));
	else
	{
		len = fread(text, 1, TEMPLATE_MAX_BYTES + 1, file);
		if (ferror(file))
			*reason = psprintf("could not read \"%s\"", path);
		else if (len > TEMPLATE_MAX_BYTES)
			*reason = psprintf("\"%s\" is too large", path);
		fclose(file);
	}
	text[Min(len, TEMPLATE_MAX_BYTES)] = '\0';
	if (*reason == NULL)
		*reason = notify_template_check(text);
	if (*reason == NULL)
		return text;
	pfree(text);
	return NULL;
}

static char *
read_shipped(const char *name, char **reason)
{
	char	   *path = template_path(name);
	char	   *text = read_template(path, reason);

	pfree(path);
	return text;
}

/* A template of the user stands for all states. */
static bool
read_templates(const Reading *reading)
{
	NotifyTarget *target = reading->target;
	const char *path = member(reading->told, "template");
	char	   *reason = NULL;

	if (path != NULL && path[0] != '/')
		return fail(reading, "template", pstrdup("the path must be absolute"));
	target->template = path != NULL ? read_template(path, &reason) :
		read_shipped(target->kind->template, &reason);
	if (target->template != NULL)
		target->later = path != NULL && target->kind->paths[NOTIFY_RESOLVE] == NULL ? pstrdup(target->template) :
			read_shipped(target->kind->later, &reason);
	return target->later != NULL || fail(reading, "template", reason);
}

/* ---- a target ---- */

static bool
read_command(const Reading *reading)
{
	const json_t *list = json_object_get(reading->told, "command");
	size_t		n = json_array_size(list);
	const char *program = json_string_value(json_array_get(list, 0));

	if (n == 0)
		return fail(reading, "command", pstrdup("kind command needs a program and its arguments"));
	if (program == NULL || program[0] != '/' || access(program, X_OK) != 0)
		return fail(reading, "command", pstrdup("its first word must be the absolute path of a program"));
	reading->target->argv = palloc0((n + 1) * sizeof(char *));
	for (size_t i = 0; i < n; i++)
		reading->target->argv[i] = pstrdup(json_string_value(json_array_get(list, i)));
	return true;
}

static bool
read_kind(const Reading *reading)
{
	const char *name = member(reading->told, "kind");
	char	   *names;

	reading->target->kind = notify_kind_find(name == NULL ? "" : name);
	if (reading->target->kind != NULL)
		return true;
	names = notify_kind_names();
	(void) fail(reading, "kind", psprintf("a kind is one of %s", names));
	pfree(names);
	return false;
}

static bool
read_target(const Reading *reading)
{
	const char *name = member(reading->told, "name");

	reading->target->name = pstrdup(name == NULL ? "" : name);
	return read_kind(reading) &&
		(reading->target->kind->is_command ? read_command(reading) : read_url(reading)) &&
		read_secret(reading) && read_templates(reading);
}

static bool
read_targets(NotifySettings *settings, const json_t *list, WorkerFault *fault)
{
	int			n = (int) json_array_size(list);

	settings->targets = palloc0(Max(n, 1) * sizeof(NotifyTarget));
	for (int i = 0; i < n; i++)
	{
		Reading		reading = {json_array_get(list, i), &settings->targets[i], i, fault};

		settings->ntargets++;
		if (!read_target(&reading))
			return false;
		if (notify_settings_target(settings, reading.target->name) != reading.target)
			return fail(&reading, "name", pstrdup("another target has this name"));
	}
	return true;
}

/* ---- the whole ---- */

static bool
read_heartbeat(NotifySettings *settings, const json_t *told, WorkerFault *fault)
{
	const char *path = member(told, "heartbeat_file");
	const char *setting = path != NULL ? "heartbeat_file" : "heartbeat";
	const char *wrong;
	char	   *reason = NULL;

	settings->is_heartbeat_secret = path != NULL;
	if (path != NULL && member(told, "heartbeat") != NULL)
		return worker_fail(fault, setting, pstrdup("there is one of heartbeat and heartbeat_file"));
	if (path == NULL && member(told, "heartbeat") == NULL)
		return true;
	settings->heartbeat = path != NULL ? read_line(path, &reason) : pstrdup(member(told, "heartbeat"));
	if (settings->heartbeat == NULL)
		return worker_fail(fault, setting, reason);
	wrong = url_fault(settings->heartbeat);
	return wrong == NULL || worker_fail(fault, setting, pstrdup(wrong));
}

static bool
read_all(NotifySettings *settings, const json_t *told, WorkerFault *fault)
{
	const char *environment = member(told, "environment");
	const char *link = member(told, "link");

	settings->environment = pstrdup(environment == NULL ? "" : environment);
	settings->link = link == NULL ? NULL : pstrdup(link);
	settings->log.format = options_choice_value(&log_section.options[0], member(told, "format"));
	settings->log.level = options_choice_value(&log_section.options[1], member(told, "level"));
	return read_heartbeat(settings, told, fault) &&
		read_targets(settings, json_object_get(told, "targets"), fault);
}

NotifySettings *
notify_settings_new(const char *line, WorkerFault *fault)
{
	NotifySettings *settings = palloc0(sizeof(NotifySettings));
	json_t	   *hello = json_loads(line, 0, NULL);
	bool		is_fine = read_all(settings, json_object_get(hello, "settings"), fault);

	json_decref(hello);
	if (is_fine)
		return settings;
	notify_settings_free(settings);
	return NULL;
}

static void
free_target(NotifyTarget *target)
{
	pfree(target->name);
	text_forget(target->url);
	text_forget(target->secret);
	http_keys_free(target->keys);
	pfree(target->template);
	pfree(target->later);
	for (int i = 0; target->argv != NULL && target->argv[i] != NULL; i++)
		pfree(target->argv[i]);
	pfree(target->argv);
}

void
notify_settings_free(NotifySettings *settings)
{
	if (settings == NULL)
		return;
	for (int i = 0; i < settings->ntargets; i++)
		free_target(&settings->targets[i]);
	pfree(settings->targets);
	pfree(settings->environment);
	pfree(settings->link);
	text_forget(settings->heartbeat);
	pfree(settings);
}

const NotifyTarget *
notify_settings_target(const NotifySettings *settings, const char *name)
{
	for (int i = 0; i < settings->ntargets; i++)
		if (strcmp(settings->targets[i].name, name) == 0)
			return &settings->targets[i];
	return NULL;
}
