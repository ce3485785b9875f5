/*-------------------------------------------------------------------------
 *
 * act.c
 *		Routes that change tasks, and those that read what tasks carry.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "web/api/act.h"

#define REASON {"reason", API_BODY, API_TEXT, true, "Why, for the audit"}
#define RUN_AFTER_HELP "When it runs; a past time means now"

/* Parameters of one task's change. */
#define TASK {"id", API_PATH, API_UUID, true, "The task"}, \
	{"version", API_VERSION, API_INTEGER, true, "The version of the task on which you decided"}, \
	REASON

static const ApiParam task_params[] = {TASK};

static const ApiParam reschedule_params[] = {
	TASK, {"run_after", API_BODY, API_TIME, true, RUN_AFTER_HELP}
};

static const ApiParam prioritize_params[] = {
	TASK, {"priority", API_BODY, API_INTEGER, true, "0, the most urgent, to 9", .min = 0, .max = 9}
};

static const ApiParam release_params[] = {
	TASK, {"run_after", API_BODY, API_TIME, false, RUN_AFTER_HELP "; absent: its old time, or ERROR if it was held in ERROR"}
};

static const ApiParam reopen_params[] = {
	TASK, {"run_after", API_BODY, API_TIME, false, RUN_AFTER_HELP "; absent: now"}
};

static const ApiParam finish_params[] = {
	TASK, {"happened", API_BODY, API_BOOLEAN, true, "Whether the effect of the task is known to have happened"}
};

static const char *const actions[] = {"resume", "reschedule", "prioritize", "cancel", "fail", "hold", "release", "reopen", "confirm", NULL};

static const ApiParam changes_params[] = {
	{"action", API_BODY, API_TEXT, true, "What is done to each task", actions},
	{"filter", API_BODY, API_JSON, false,
		"An object: type (a type, or the beginning of types and a *), sub_type, bucket, status (an array), error, since, until, key, key_prefix, node, added_by"},
	{"reason", API_BODY, API_TEXT, false, "Why, for the audit; required unless dry_run is true"},
	{"dry_run", API_BODY, API_BOOLEAN, false, "Make the changes, report them, and take them back"},
	{"max_tasks", API_BODY, API_INTEGER, false, "At most so many tasks; 1000 if absent", .min = 1, .max = 5000},
	{"run_after", API_BODY, API_TIME, false, "For reschedule, release and reopen"},
	{"newest_first", API_BODY, API_BOOLEAN, false, "The order, by the time of entering the status"},
	{"ids", API_BODY, API_WORDS, false, "The tasks of the preview, or some of them; required unless dry_run is true", .max = 5000},
	{"expect", API_BODY, API_INTEGER, false, "Do nothing if more tasks than these match the filter by now", .min = 0, .max = 10000},
	{"priority", API_BODY, API_INTEGER, false, "For prioritize: 0, the most urgent, to 9", .min = 0, .max = 9},
};

static const char *const statuses[] = {"WAITING", "SUBMITTED", "PROCESSING", "ERROR", "HELD", "DONE", "FAILED", "CANCELLED", NULL};

static const char *const forms[] = {"json", "text", "base64", NULL};

static const ApiParam payload_params[] = {
	{"id", API_PATH, API_UUID, true, "The task"},
	REASON,
	{"as", API_BODY, API_TEXT, false,
	"json: data as JSON, payload in base64; text: both as text; base64: both in base64. json if absent", forms},
};

static const ApiParam search_params[] = {
	{"data", API_BODY, API_JSON, true, "What the data of a task must contain, as by the operator @> of PostgreSQL"},
	REASON,
	{"status", API_BODY, API_WORDS, false, "Any of these", .words = statuses},
	{"type", API_BODY, API_TEXT, false, "A type, or the beginning of types and a *"},
	{"bucket", API_BODY, API_TEXT},
	{"sub_type", API_BODY, API_TEXT},
	{"since", API_BODY, API_TIME, false, "They entered their status then or later"},
	{"until", API_BODY, API_TIME, false, "They entered their status before then"},
	{"cursor", API_BODY, API_TEXT, false, "The cursor of the page before"},
	{"limit", API_BODY, API_INTEGER, false, "At most so many items; 50 if absent", .min = 1, .max = 200},
	{"budget", API_BODY, API_INTEGER, false, "Look at so many tasks at most; 20000 if absent", .min = 1, .max = 100000},
};

static const ApiParam to_do_params[] = {
	{"name", API_PATH, API_TEXT, true, "The list of items"},
	{"identifier", API_PATH, API_TEXT, true, "The item"},
	{"data", API_BODY, API_JSON, true, "The answer, as the contract of the item has it"},
};

static const ApiRoute routes[] = {
	{
		"POST", "/tasks/{id}/resume", API_OPERATOR, "resume_task", "Let a task in ERROR or WAITING run now.",
		task_params, lengthof(task_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/reschedule", API_OPERATOR, "reschedule_task", "Give a WAITING task another time to run.",
		reschedule_params, lengthof(reschedule_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/prioritize", API_OPERATOR, "prioritize_task", "Give a task that does not run another priority.",
		prioritize_params, lengthof(prioritize_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/cancel", API_OPERATOR, "cancel_task",
		"Cancel a task that has not started; ask the handler of a running one to stop.",
		task_params, lengthof(task_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/fail", API_OPERATOR, "fail_task", "Give up a task in ERROR.",
		task_params, lengthof(task_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/hold", API_OPERATOR, "hold_task", "Keep a task from running until it is released.",
		task_params, lengthof(task_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/release", API_OPERATOR, "release_task", "Let a HELD task go on.",
		release_params, lengthof(release_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/reopen", API_OPERATOR, "reopen_task", "Run a FAILED or CANCELLED task again.",
		reopen_params, lengthof(reopen_params), "TaskChange"
	},
	{
		"POST", "/tasks/{id}/finish", API_OPERATOR, "finish_task",
		"Decide on a task of unknown outcome: it happened and the task is DONE, or it did not and the task runs again.",
		finish_params, lengthof(finish_params), "TaskChange"
	},
	{
		"POST", "/changes", API_OPERATOR, "change_tasks", "Make the same change to the tasks of a preview, or make a preview.",
		changes_params, lengthof(changes_params), "Changes"
	},
	{
		"POST", "/tasks/{id}/payload", API_PAYLOAD, "read_payload",
		"Read what a task carries.  The audit has each request, also for a task that may not be read or does not exist.",
		payload_params, lengthof(payload_params), "Payload", .first = "request_payload"
	},
	{
		"POST", "/payload-search", API_PAYLOAD, "search_payloads",
		"Search in the data of tasks, newest first.  The audit has each request.  Tasks whose payload the role may not read are not found.",
		search_params, lengthof(search_params), "FoundTasks", .first = "request_search"
	},
	{
		"POST", "/to-do/{name}/{identifier}", API_OPERATOR, "answer_to_do", "Answer a to-do item of the extension twtasks_kinds.",
		to_do_params, lengthof(to_do_params), "ToDoAnswer", .extension = "twtasks_kinds"
	},
};

const ApiTable api_act = {routes, lengthof(routes)};
