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
append_outcome(StringInfo out, const char *outcome)
{
	appendStringInfoString(out, ",\"outcome\":");
	for (; *outcome; outcome++)
		appendStringInfoChar(out, *outcome == '\n' ? ' ' : *outcome);
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
	if (verdict->outcome != NULL)
		append_outcome(out, verdict->outcome);
	appendStringInfoString(out, "}\n");
}
