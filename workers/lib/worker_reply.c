/*-------------------------------------------------------------------------
 *
 * worker_reply.c
 *		The reply of a bundled worker to a task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "workers/lib/worker_reply.h"

/* A JSON string has no raw line ends, so a line end is white space here. */
static void
append_member(StringInfo out, const char *name, const char *json)
{
	if (json == NULL)
		return;
	appendStringInfo(out, ",\"%s\":", name);
	for (; *json; json++)
		appendStringInfoChar(out, *json == '\n' ? ' ' : *json);
}

void
worker_reply(StringInfo out, const Task *task, const Verdict *verdict)
{
	TaskResult	result = verdict->result == TASK_FAILURE ? TASK_RETRY : verdict->result;

	appendStringInfo(out, "{\"id\":\"%s\",\"version\":" INT64_FORMAT ",\"result\":\"%s\"",
					 task->id_text, task->version, task_result_name(result));
	if (verdict->delay_us != TASK_DELAY_BY_POLICY)
		appendStringInfo(out, ",\"retry_in\":%.6f", verdict->delay_us / 1e6);
	if (verdict->message != NULL)
	{
		appendStringInfoString(out, ",\"message\":\"");
		text_escape_json(out, verdict->message, strlen(verdict->message), SIZE_MAX);
		appendStringInfoChar(out, '"');
	}
	append_member(out, "outcome", verdict->outcome);
	append_member(out, "add", verdict->add);
	appendStringInfoString(out, "}\n");
}
