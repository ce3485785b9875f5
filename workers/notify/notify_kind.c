/*-------------------------------------------------------------------------
 *
 * notify_kind.c
 *		What each kind of target expects of a message.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/notify/notify_kind.h"

static const char *const states[NOTIFY_STATES] = {"open", "refresh", "acknowledge", "resolve"};

#define OWN_ACTIONS {"open", "refresh", "acknowledge", "resolve"}
#define OWN_LEVELS {"critical", "warning"}
#define ALIAS_PATHS {NULL, NULL, "acknowledge?identifierType=alias", "close?identifierType=alias"}

static const NotifyKind kinds[] = {
	{
		"pagerduty", "https://events.pagerduty.com/v2/enqueue", "pagerduty", "pagerduty",
		.needs_secret = true, .omits_empty = true,
		.actions = {"trigger", "trigger", "acknowledge", "resolve"}, .levels = OWN_LEVELS
	},
	{
		"splunk-oncall", NULL, "splunk-oncall", "splunk-oncall",
		.actions = {"CRITICAL", "CRITICAL", "ACKNOWLEDGEMENT", "RECOVERY"},
		.ticket = "WARNING", .levels = OWN_LEVELS
	},
	{
		"jira-service-management", "https://api.atlassian.com/jsm/ops/integration/v2/alerts",
		"opsgenie", "opsgenie-close",
		.needs_secret = true, .authorization = "GenieKey", .paths = ALIAS_PATHS,
		.actions = OWN_ACTIONS, .levels = {"P1", "P3"}
	},
	{
		"opsgenie", "https://api.opsgenie.com/v2/alerts", "opsgenie", "opsgenie-close",
		.needs_secret = true, .authorization = "GenieKey", .paths = ALIAS_PATHS,
		.actions = OWN_ACTIONS, .levels = {"P1", "P3"}
	},
	{
		"slack", NULL, "slack", "slack", .has_markup = true,
		.actions = {"OPEN", "STILL OPEN", "ACKNOWLEDGED", "RESOLVED"}, .levels = OWN_LEVELS
	},
	{
		"webhook", NULL, "webhook", "webhook", .is_signed = true,
		.actions = OWN_ACTIONS, .levels = OWN_LEVELS
	},
	{
		"alertmanager", NULL, "alertmanager", "alertmanager", .omits_empty = true,
		.actions = OWN_ACTIONS, .levels = OWN_LEVELS
	},
	{
		"command", NULL, "webhook", "webhook", .is_command = true,
		.actions = OWN_ACTIONS, .levels = OWN_LEVELS
	},
};

const NotifyKind *
notify_kind_find(const char *name)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

char *
notify_kind_names(void)
{
	StringInfoData names;

	initStringInfo(&names);
	for (size_t i = 0; i < lengthof(kinds); i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", kinds[i].name);
	return names.data;
}

bool
notify_state_read(const char *name, NotifyState *state)
{
	for (int i = 0; i < NOTIFY_STATES; i++)
		if (name != NULL && strcmp(states[i], name) == 0)
		{
			*state = i;
			return true;
		}
	return false;
}
