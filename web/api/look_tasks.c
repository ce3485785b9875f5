#include "base/port.h"

#include "web/api/look.h"

#define TASK_ID {"id", API_PATH, API_UUID, true, "The task"}

static const char *const statuses[] = {"WAITING", "SUBMITTED", "PROCESSING", "ERROR", "HELD", "DONE", "FAILED", "CANCELLED", NULL};

static const ApiParam tasks_params[] = {
	{"id", API_QUERY, API_UUIDS, false, "Only these tasks; all other parameters count for nothing", .max = 200},
	{"status", API_QUERY, API_WORDS, false, "Any of these", .words = statuses},
	{"type", API_QUERY, API_TEXT, false, "A type, or the beginning of types and a *"},
	{"bucket", API_QUERY, API_TEXT},
	{"priority", API_QUERY, API_INTEGER, .min = 0, .max = 9},
	{"key", API_QUERY, API_TEXT, false, "The task with that key"},
	{"key_prefix", API_QUERY, API_TEXT, false, "Keys that begin so"},
	{"sub_type", API_QUERY, API_TEXT},
	{"node", API_QUERY, API_TEXT, false, "The name of the node that grabbed or finished them"},
	{"error", API_QUERY, API_TEXT, false, "A text in their error"},
	{"added_by", API_QUERY, API_TEXT, false, "The role that added them"},
	{"since", API_QUERY, API_TIME, false, "They entered their status then or later"},
	{"until", API_QUERY, API_TIME, false, "They entered their status before then"},
	LOOK_CURSOR,
	LOOK_LIMIT,
	{"budget", API_QUERY, API_INTEGER, false, "Look at so many tasks at most; 20000 without it, and 100000 for ERROR and HELD", .min = 1, .max = 100000},
};

static const ApiParam task_params[] = {TASK_ID};

static const ApiParam life_params[] = {
	TASK_ID,
	{"cursor", API_QUERY, API_INTEGER, false, "The cursor of the answer before, for earlier events", .min = 1, .max = 1000000},
	{"limit", API_QUERY, API_INTEGER, false, "At most so many events; 200 without it", .min = 1, .max = 200},
};

static const ApiParam attempts_params[] = {
	TASK_ID,
	{"cursor", API_QUERY, API_INTEGER, false, "The cursor of the answer before, for earlier tries", .min = 1, .max = 1000000},
	LOOK_LIMIT,
};

static const ApiParam stuck_params[] = {
	{"type", API_QUERY, API_TEXT, false, "A type, or the beginning of types and a *"},
	{"each", API_QUERY, API_INTEGER, false, "At most so many of each type; 20 without it", .min = 1, .max = 1000},
};

static const ApiParam errors_params[] = {
	{"type", API_QUERY, API_TEXT, false, "A type, or the beginning of types and a *"},
	LOOK_LIMIT,
};

static const ApiParam unknown_params[] = {
	{"type", API_QUERY, API_TEXT, false, "A type, or the beginning of types and a *"},
	LOOK_CURSOR,
	LOOK_LIMIT,
};

static const ApiRoute routes[] = {
	{
		"GET", "/tasks", API_VIEWER, "tasks", "A page of the tasks that match a filter, live and finished, newest first.",
		.params = tasks_params, .nparams = lengthof(tasks_params), .schema = "Tasks", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/tasks/{id}", API_VIEWER, "task", "One task.  The ETag is its version; a task with progress has none.",
		.params = task_params, .nparams = lengthof(task_params), .schema = "TaskDetail", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/tasks/{id}/life", API_VIEWER, "task_life", "All that is known of the life of a task.",
		.params = life_params, .nparams = lengthof(life_params), .schema = "Life", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/tasks/{id}/attempts", API_VIEWER, "task_attempts", "The tries of a task, with their errors.",
		.params = attempts_params, .nparams = lengthof(attempts_params), .schema = "Attempts", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/tasks/{id}/why", API_VIEWER, "task_why", "Why a task does not run now, or what it does.",
		.params = task_params, .nparams = lengthof(task_params), .schema = "Why", .cache_us = LOOK_LIST_US
	},
	{
		"GET", "/stuck", API_VIEWER, "stuck", "Tasks that should have moved on, and the likely reason.",
		.params = stuck_params, .nparams = lengthof(stuck_params), .schema = "StuckTasks", .cache_us = LOOK_COSTLY_US
	},
	{
		"GET", "/errors", API_VIEWER, "errors", "Tasks in ERROR, grouped by the shape of their errors.",
		.params = errors_params, .nparams = lengthof(errors_params), .schema = "ErrorGroups", .cache_us = LOOK_COSTLY_US
	},
	{
		"GET", "/unknown", API_VIEWER, "unknown", "Tasks that may have had their effect, although nobody reported it.",
		.params = unknown_params, .nparams = lengthof(unknown_params), .schema = "UnknownOutcomes", .cache_us = LOOK_LIST_US
	},
};

const ApiTable api_look_tasks = {routes, lengthof(routes)};
