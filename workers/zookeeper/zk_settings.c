/*-------------------------------------------------------------------------
 *
 * zk_settings.c
 *		How to reach ZooKeeper, as the sidecar says it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/address.h"
#include "options/secret_file.h"
#include "workers/zookeeper/zk_settings.h"

static const char *
member(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static bool
fail(WorkerFault *fault, const char *setting, const char *reason)
{
	return worker_fail(fault, setting, pstrdup(reason));
}

/* A server in the list of the library has nothing else beside it. */
static bool
check_server(const char *text)
{
	Address		address;

	return text != NULL && address_split(text, &address) &&
		address.host[strcspn(address.host, " ,/@")] == '\0';
}

static bool
read_servers(ZkSettings *settings, const json_t *list, WorkerFault *fault)
{
	int			n = (int) json_array_size(list);

	if (n == 0)
		return fail(fault, "servers", "the list is empty");
	settings->servers = palloc0(n * sizeof(char *));
	while (settings->nservers < n)
	{
		const char *server = json_string_value(json_array_get(list, settings->nservers));

		if (!check_server(server))
		{
			char	   *place = psprintf("servers[%d]", settings->nservers);

			(void) worker_fail_value(fault, place, server == NULL ? "" : server,
									 "a server is HOST:PORT, an IPv6 address in brackets");
			pfree(place);
			return false;
		}
		settings->servers[settings->nservers++] = pstrdup(server);
	}
	return true;
}

/* The group is a part of a path. */
static bool
read_group(ZkSettings *settings, const char *group, WorkerFault *fault)
{
	if (group == NULL)
		return fail(fault, "group", "the key is missing");
	if (group[0] == '\0' || strcmp(group, ".") == 0 || strcmp(group, "..") == 0 ||
		group[strspn(group, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._-")] != '\0')
		return worker_fail_value(fault, "group", group, "a group has letters, digits and . _ -");
	settings->group = pstrdup(group);
	return true;
}

/* ZooKeeper itself refuses a wrong digest only when nodes connect. */
static bool
check_digest(const char *path, WorkerFault *fault)
{
	char	   *reason = NULL;
	char	  **lines = secret_file_read(path, &reason);
	bool		is_fine = lines != NULL && strchr(lines[0], ':') != NULL;

	if (!is_fine)
		(void) fail(fault, "digest_file", reason != NULL ? reason :
					"the first line of the file must be USER:PASSWORD");
	secret_file_forget(lines);
	pfree(reason);
	return is_fine;
}

static bool
read_digest(ZkSettings *settings, const char *path, WorkerFault *fault)
{
	if (path == NULL)
		return true;
	if (path[0] != '/')
		return worker_fail_value(fault, "digest_file", path, "the path must be absolute");
	settings->digest_file = pstrdup(path);
	return check_digest(path, fault);
}

static bool
read_session(ZkSettings *settings, double seconds, WorkerFault *fault)
{
	settings->session_us = (int64) (seconds * 1e6 + 0.5);
	return settings->session_us > 0 || fail(fault, "session", "the time must be positive");
}

static bool
read_all(ZkSettings *settings, const json_t *hello, WorkerFault *fault)
{
	const json_t *told = json_object_get(hello, "settings");
	const char *node = member(hello, "node");

	settings->node = pstrdup(node == NULL ? "" : node);
	settings->log.format = options_choice_value(&log_section.options[0], member(told, "format"));
	settings->log.level = options_choice_value(&log_section.options[1], member(told, "level"));
	return read_servers(settings, json_object_get(told, "servers"), fault) &&
		read_group(settings, member(told, "group"), fault) &&
		read_digest(settings, member(told, "digest_file"), fault) &&
		read_session(settings, json_number_value(json_object_get(told, "session")), fault);
}

ZkSettings *
zk_settings_new(const char *line, WorkerFault *fault)
{
	ZkSettings *settings = palloc0(sizeof(ZkSettings));
	json_t	   *hello = json_loads(line, 0, NULL);
	bool		is_fine = read_all(settings, hello, fault);

	json_decref(hello);
	if (is_fine)
		return settings;
	zk_settings_free(settings);
	return NULL;
}

void
zk_settings_free(ZkSettings *settings)
{
	if (settings == NULL)
		return;
	for (int i = 0; i < settings->nservers; i++)
		pfree(settings->servers[i]);
	pfree(settings->servers);
	pfree(settings->node);
	pfree(settings->group);
	pfree(settings->digest_file);
	pfree(settings);
}
