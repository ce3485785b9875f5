#include "base/port.h"

#include "web/api/look.h"

static const char *const object_states[] = {"blocked", "queued", "all", NULL};
static const char *const outcome_states[] = {"undecided", "problem", "decided", "all", NULL};

static const ApiParam page_params[] = {
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam objects_params[] = {
	{"stream", API_PATH, API_TEXT, true, "The stream"},
	{"state", API_QUERY, API_TEXT, false, "Those that stand still, those with events that no head task carries, or all", .words = object_states},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam kind_params[] = {
	{"kind", API_PATH, API_TEXT, true, "The kind"},
};

static const ApiParam outcomes_params[] = {
	{"kind", API_QUERY, API_TEXT, true, "The kind"},
	{"state", API_QUERY, API_TEXT, false, "undecided without it; problem: undecided, and stands still", .words = outcome_states},
	{"prefix", API_QUERY, API_TEXT, false, "The beginning of the identifiers"},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam outcome_params[] = {
	{"kind", API_PATH, API_TEXT, true, "The kind"},
	{"identifier", API_PATH, API_TEXT, true, "The identifier"},
};

static const ApiParam to_do_params[] = {
	{"kind", API_QUERY, API_TEXT, false, "The kind"},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiRoute routes[] = {
	{
		"GET", "/streams", API_VIEWER, "streams", "Streams of ordered events.",
		.params = page_params, .nparams = lengthof(page_params), .schema = "Streams", .cache_us = LOOK_LIST_US, .extension = "twtasks_events"
	},
	{
		"GET", "/streams/{stream}/objects", API_VIEWER, "stream_objects", "Objects of a stream, with their head tasks.",
		.params = objects_params, .nparams = lengthof(objects_params), .schema = "StreamObjects", .cache_us = LOOK_LIST_US, .extension = "twtasks_events"
	},
	{
		"GET", "/kinds", API_VIEWER, "kinds", "Kinds of task, with the number of undecided identifiers.",
		.params = page_params, .nparams = lengthof(page_params), .schema = "Kinds", .cache_us = LOOK_LIST_US, .extension = "twtasks_kinds"
	},
	{
		"GET", "/kinds/{kind}/{identifier}", API_VIEWER, "outcome", "One identifier of a kind, with its steps and the machine of its kind.",
		.params = outcome_params, .nparams = lengthof(outcome_params), .schema = "OutcomeDetail", .cache_us = LOOK_LIST_US, .extension = "twtasks_kinds"
	},
	{
		"GET", "/kind-machines/{kind}", API_VIEWER, "kind_machine", "The machine of a kind.",
		.params = kind_params, .nparams = lengthof(kind_params), .schema = "Machine", .cache_us = LOOK_LIST_US, .extension = "twtasks_kinds"
	},
	{
		"GET", "/outcomes", API_VIEWER, "outcomes", "Identifiers of a kind.",
		.params = outcomes_params, .nparams = lengthof(outcomes_params), .schema = "Outcomes", .cache_us = LOOK_LIST_US, .extension = "twtasks_kinds"
	},
	{
		"GET", "/to-do", API_VIEWER, "to_do", "Open items of the kinds that the person may read.",
		.params = to_do_params, .nparams = lengthof(to_do_params), .schema = "ToDo", .cache_us = LOOK_LIST_US, .extension = "twtasks_kinds"
	},
};

const ApiTable api_look_more = {routes, lengthof(routes)};
