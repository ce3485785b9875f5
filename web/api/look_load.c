#include "base/port.h"

#include "web/api/api_stream.h"
#include "web/api/look.h"

#define TYPE {"type", API_PATH, API_TEXT, true, "The type"}

static const ApiParam types_params[] = {
	{"type", API_QUERY, API_TEXT, false, "A type, or the beginning of types and a *"},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiParam type_params[] = {TYPE};

static const ApiParam stream_params[] = {
	{"task", API_QUERY, API_UUIDS, false, "Tasks whose changes are told", .max = API_STREAM_TASKS},
};

static const ApiRoute routes[] = {
	{
		"GET", "/overview", API_VIEWER, "overview", "All that the first page shows.",
		.schema = "Overview", .cache_us = LOOK_FIRST_PAGE_US, .late_us = API_LATE_US
	},
	{
		"GET", "/stream", API_VIEWER, "stream", "Server-sent events: which answers have changed.  An event \"overview\" is about GET /overview, an event \"task\" about the task that its data names.  After an event \"down\" nothing is told until the database can be read again.",
		.params = stream_params, .nparams = lengthof(stream_params), .is_stream = true
	},
	{
		"GET", "/types", API_VIEWER, "types", "Types with live tasks or tries in the last ten minutes, by name.",
		.params = types_params, .nparams = lengthof(types_params), .schema = "TypeRows", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/types/{type}", API_VIEWER, "type", "One type: its tasks, policy, limits and last hour.",
		.params = type_params, .nparams = lengthof(type_params), .schema = "TypeDetail", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/types/{type}/sub-types", API_VIEWER, "sub_types", "Sub-types among the newest tasks of a type.",
		.params = type_params, .nparams = lengthof(type_params), .schema = "SubTypes", .cache_us = LOOK_COSTLY_US
	},
};

const ApiTable api_look_load = {routes, lengthof(routes)};
