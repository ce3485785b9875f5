#include "base/port.h"

#include "web/api/look.h"

static const char *const node_states[] = {"alive", "gone", "all", NULL};

static const ApiParam nodes_params[] = {
	{"state", API_QUERY, API_TEXT, false, "all without it", .words = node_states},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam page_params[] = {
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam of_type_params[] = {
	{"type", API_QUERY, API_TEXT, false, "Only those that count for this type"},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam runs_params[] = {
	{"name", API_PATH, API_TEXT, true, "The schedule"},
	{"cursor", API_QUERY, API_TIME, false, "The cursor of the page before"},
	LOOK_LIMIT,
};

static const ApiRoute routes[] = {
	{
		"GET", "/nodes", API_VIEWER, "nodes", "Sidecars, running and recently ended.",
		.params = nodes_params, .nparams = lengthof(nodes_params), .schema = "Nodes", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/buckets", API_VIEWER, "buckets", "Buckets, with their tasks at the last count.",
		.params = page_params, .nparams = lengthof(page_params), .schema = "Buckets", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/queues", API_VIEWER, "queues", "The queues of triggers, in the server's memory.",
		.schema = "Queues", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/limits", API_VIEWER, "limits", "Limits of types, with the slots in use.",
		.params = of_type_params, .nparams = lengthof(of_type_params), .schema = "Limits", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/policies", API_VIEWER, "policies", "Policies of types, one for each pattern.",
		.params = of_type_params, .nparams = lengthof(of_type_params), .schema = "Policies", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/pauses", API_VIEWER, "pauses", "Types and buckets whose tasks do not start.",
		.params = page_params, .nparams = lengthof(page_params), .schema = "Pauses", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/schedules", API_VIEWER, "schedules", "Schedules, with their next five times and the outcome of the last one.",
		.params = of_type_params, .nparams = lengthof(of_type_params), .schema = "Schedules", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/schedules/{name}/runs", API_VIEWER, "schedule_runs", "Times of a schedule at which its task was added, and the outcome.",
		.params = runs_params, .nparams = lengthof(runs_params), .schema = "ScheduleTimes", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/listeners", API_VIEWER, "listeners", "The positions of listeners in their topics.",
		.params = page_params, .nparams = lengthof(page_params), .schema = "Listeners", .cache_us = LOOK_LIST_US
	},
};

const ApiTable api_look_rules = {routes, lengthof(routes)};
