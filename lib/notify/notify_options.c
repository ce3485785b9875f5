/*-------------------------------------------------------------------------
 *
 * notify_options.c
 *		Where incidents are sent: the section "notify" of the file.
 *
 * twtasks-notify knows the kinds of targets and judges them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "options/hello.h"
#include "options/judged.h"
#include "notify/notify_options.h"

static const Option target_options[] = {
	{
		"name", OPTION_TEXT, .is_required = true,
		.min = 1, .max = 100, .offset = offsetof(TargetConfig, name),
		.help = "its name in twtasks.incident_sent; the database keeps by it what was sent"
	},
	{
		"kind", OPTION_TEXT, .is_required = true,
		.min = 1, .max = 100, .offset = offsetof(TargetConfig, kind),
		.help = "pagerduty, splunk-oncall, jira-service-management, opsgenie, slack, webhook, alertmanager or command"
	},
	{
		"url", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TargetConfig, url),
		.help = "where its messages go; default: the vendor's address, where the kind has one"
	},
	{
		"url_file", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TargetConfig, url_file),
		.help = "in place of url: a file with a URL that is a secret"
	},
	{
		"secret_file", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TargetConfig, secret_file),
		.help = "a file with the routing key or API key, or, for a webhook, the secrets that sign"
	},
	{
		"template", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(TargetConfig, template),
		.help = "a file in place of the shipped template"
	},
	{
		"command", OPTION_ARGV,
		.min = 0, .max = 100, .offset = offsetof(TargetConfig, command),
		.help = "with kind command: the program and its arguments; the message comes on stdin"
	},
};

static const Section target_section = {
	target_options, lengthof(target_options), sizeof(TargetConfig)
};

static const Option notify_options[] = {
	{
		"targets", OPTION_SECTIONS, .section = &target_section,
		.min = 1, .max = 100, .offset = offsetof(NotifyConfig, targets),
		.count_offset = offsetof(NotifyConfig, ntargets),
		.help = "pagers, chats and others that hear of incidents"
	},
	{
		"heartbeat", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(NotifyConfig, heartbeat),
		.help = "a URL that is called each minute while all is well"
	},
	{
		"heartbeat_file", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(NotifyConfig, heartbeat_file),
		.help = "in place of heartbeat: a file with a URL that is a secret"
	},
	{
		"link", OPTION_TEXT,
		.min = 1, .max = 4095, .offset = offsetof(NotifyConfig, link),
		.help = "the URL in messages, for people; {key} in it becomes the incident's key"
	},
};

const Section notify_section = {
	notify_options, lengthof(notify_options), sizeof(NotifyConfig)
};

bool
notify_is_wanted(const NotifyConfig *config)
{
	return config->ntargets > 0 || config->heartbeat != NULL || config->heartbeat_file != NULL;
}

static json_t *
target_json(const TargetConfig *target)
{
	json_t	   *object = hello_settings(&target_section, target);
	json_t	   *command = json_array();

	for (int i = 0; target->command != NULL && target->command[i] != NULL; i++)
		json_array_append_new(command, json_string(target->command[i]));
	json_object_set_new(object, "command", command);
	return object;
}

static json_t *
given_settings(const NotifyConfig *config, const char *environment, const LogConfig *log)
{
	json_t	   *settings = hello_settings(&log_section, log);
	json_t	   *targets = json_array();

	for (int i = 0; i < config->ntargets; i++)
		json_array_append_new(targets, target_json(config->targets[i]));
	json_object_set_new(settings, "targets", targets);
	if (environment != NULL)
		json_object_set_new(settings, "environment", json_string(environment));
	return settings;
}

char *
notify_line(const NotifyConfig *config, const char *node, const char *environment,
			const LogConfig *log, const Place *place)
{
	static const Judged how = {.owner = "notify", .option = "targets"};

	return judged_hello("notify", hello_make(node, given_settings(config, environment, log), &notify_section, config),
						&how, place);
}
