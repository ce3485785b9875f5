/*-------------------------------------------------------------------------
 *
 * worker_input.c
 *		The lines that a worker process reads.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <limits.h>

#include "common/base64.h"

#include "base/text.h"
#include "protocol/worker_input.h"

#define append_literal(out, text) \
	appendBinaryStringInfo(out, text, sizeof(text) - 1)

static void
append_string(StringInfo out, const char *text)
{
	if (text == NULL)
	{
		append_literal(out, "null");
		return;
	}
	appendStringInfoCharMacro(out, '"');
	text_escape_json(out, text, strlen(text), INT_MAX);
	appendStringInfoCharMacro(out, '"');
}

static void
append_int(StringInfo out, int64 value)
{
	char		digits[32];

	appendBinaryStringInfo(out, digits,
						   snprintf(digits, sizeof(digits), INT64_FORMAT,
									value));
}

/* JSON strings have no raw line ends, so a line end is white space here. */
static void
append_json(StringInfo out, const char *json, size_t len)
{
	char	   *end;
	char	   *p;

	if (json == NULL)
	{
		append_literal(out, "null");
		return;
	}
	appendBinaryStringInfo(out, json, len);
	end = out->data + out->len;
	for (p = end - len; (p = memchr(p, '\n', end - p)); p++)
		*p = ' ';
}

static void
append_base64(StringInfo out, const char *bytes, size_t len)
{
	int			room = pg_b64_enc_len(len);
	int			n;

	appendStringInfoCharMacro(out, '"');
	enlargeStringInfo(out, room);
	n = pg_b64_encode((const void *) bytes, len, out->data + out->len, room);
	out->len += Max(n, 0);
	out->data[out->len] = '\0';
	appendStringInfoCharMacro(out, '"');
}

static void
append_task(StringInfo out, const Task *task, int64 start_by_us)
{
	append_literal(out, "{\"id\":\"");
	appendBinaryStringInfo(out, task->id_text, TASK_ID_TEXT);
	append_literal(out, "\",\"version\":");
	append_int(out, task->version);
	append_literal(out, ",\"type\":");
	append_string(out, task->type);
	append_literal(out, ",\"sub_type\":");
	append_string(out, task->sub_type);
	if (task->key != NULL)
	{
		append_literal(out, ",\"key\":");
		append_string(out, task->key);
	}
	append_literal(out, ",\"tries\":");
	append_int(out, task->tries);
	append_literal(out, ",\"max_tries\":");
	if (task->max_tries == 0)
		append_literal(out, "null");
	else
		append_int(out, task->max_tries);
	append_literal(out, ",\"deadline\":");
	append_string(out, task->deadline_text);
	append_literal(out, ",\"start_by_ms\":");
	append_int(out, start_by_us / 1000);
	if (task->is_binary && task->data)
	{
		append_literal(out, ",\"payload_base64\":");
		append_base64(out, task->data, task->data_len);
	}
	else
	{
		append_literal(out, ",\"data\":");
		append_json(out, task->data, task->data_len);
	}
	append_literal(out, ",\"context\":");
	append_json(out, task->context, task->context ? strlen(task->context) : 0);
	append_literal(out, "}");
}

void
worker_input_add_task(StringInfo out, const Task *task, int64 start_by_us)
{
	append_task(out, task, start_by_us);
	append_literal(out, "\n");
}

void
worker_input_add_to_batch(StringInfo out, const Task *task, int64 start_by_us, bool is_first)
{
	if (is_first)
		append_literal(out, "{\"tasks\":[");
	else
		append_literal(out, ",");
	append_task(out, task, start_by_us);
}

void
worker_input_end_batch(StringInfo out)
{
	append_literal(out, "]}\n");
}

void
worker_input_add_cancel(StringInfo out, const Task *task, const char *reason)
{
	append_literal(out, "{\"cancel\":\"");
	appendBinaryStringInfo(out, task->id_text, TASK_ID_TEXT);
	append_literal(out, "\",\"version\":");
	append_int(out, task->version);
	append_literal(out, ",\"reason\":");
	append_string(out, reason);
	append_literal(out, "}\n");
}
