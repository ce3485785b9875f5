#include "base/port.h"

#include "web/api/look.h"

#define ID_CURSOR {"cursor", API_QUERY, API_INTEGER, false, "The cursor of the page before"}

static const char *const states[] = {"open", "resolved", "all", NULL};
static const char *const severities[] = {"page", "ticket", NULL};
static const char *const audits[] = {"tasks", "schedules", "policies", NULL};

static const ApiParam incidents_params[] = {
	{"state", API_QUERY, API_TEXT, false, "open without it", .words = states},
	{"severity", API_QUERY, API_TEXT, .words = severities},
	{"kind", API_QUERY, API_TEXT},
	ID_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam incident_params[] = {
	{"key", API_PATH, API_TEXT, true, "The key of the incident"},
};

static const ApiParam silences_params[] = {
	{"all", API_QUERY, API_BOOLEAN, false, "true: also those that are over"},
	ID_CURSOR,
	LOOK_LIMIT,
};

/* The parameters of web/api/sql/walk.part. */
#define WALK \
	{"person", API_QUERY, API_TEXT, false, "The role that logged in, or the person for whom it acted"}, \
	{"since", API_QUERY, API_TIME}, \
	{"until", API_QUERY, API_TIME}, \
	ID_CURSOR, \
	LOOK_LIMIT

static const ApiParam audit_params[] = {
	WALK,
	{"task", API_QUERY, API_UUID, false, "Changes of this task"},
	{"of", API_QUERY, API_TEXT, false, "Changes of tasks, which is the default, of schedules, or of all other settings", .words = audits},
	{"name", API_QUERY, API_TEXT, false, "The object, such as a schedule or a pattern"},
};

static const char *const read_kinds[] = {"tasks", "searches", NULL};

static const ApiParam reads_params[] = {
	WALK,
	{"task", API_QUERY, API_UUID, false, "Reads of this task"},
	{"of", API_QUERY, API_TEXT, false, "Reads of single tasks, which is the default, or searches in many", .words = read_kinds},
};

static const ApiRoute routes[] = {
	{
		"GET", "/incidents", API_VIEWER, "incidents", "Troubles of now and before, and what to do.",
		.params = incidents_params, .nparams = lengthof(incidents_params), .schema = "Incidents", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/incidents/{key}", API_VIEWER, "incident", "The newest incident of a key, with its messages and earlier ones.",
		.params = incident_params, .nparams = lengthof(incident_params), .schema = "IncidentDetail", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/silences", API_VIEWER, "silences", "Incidents that are not sent for a time.",
		.params = silences_params, .nparams = lengthof(silences_params), .schema = "Silences", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/audit", API_VIEWER, "audit", "Changes by hand: of one task, by one person, in one hour.",
		.params = audit_params, .nparams = lengthof(audit_params), .schema = "Audit", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/payload-reads", API_VIEWER, "payload_reads", "Reads of payloads and searches in them, also those that were denied.",
		.params = reads_params, .nparams = lengthof(reads_params), .schema = "PayloadReads", .cache_us = LOOK_LIST_US
	},
};

const ApiTable api_look_past = {routes, lengthof(routes)};
