/*-------------------------------------------------------------------------
 *
 * task_json.c
 *		Tasks of TwTasks, as twtasks.import_tasks() takes them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/pattern.h"
#include "tools/ctl_show.h"
#include "tools/import/task_json.h"
#include "tools/import/unpack.h"

/* Data that TwTasks writes for a task with a context and no data. */
#define NO_DATA "\xc2\xae"

/* Columns that need no more than quotes. */
static const char *const plain[] = {
	"id", "type", "sub_type", "key", "status", "version", "tries", "priority", "next_event_time", "state_time", "created", "node"
};

static void
append_member(StringInfo out, const char *name)
{
	appendStringInfo(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", name);
}

static void
append_bytes(StringInfo out, const char *name, const StringInfoData *bytes)
{
	static const char digits[] = "0123456789abcdef";
	char	   *to;

	append_member(out, name);
	enlargeStringInfo(out, 2 * bytes->len + 10);
	appendStringInfoString(out, "\"\\\\x");
	to = out->data + out->len;
	for (int i = 0; i < bytes->len; i++)
	{
		*to++ = digits[(unsigned char) bytes->data[i] >> 4];
		*to++ = digits[(unsigned char) bytes->data[i] & 15];
	}
	out->len += 2 * bytes->len;
	appendStringInfoChar(out, '"');
}

/* A column with packed bytes, and the one with the number of their format. */
typedef struct Column
{
	const char *bytes;
	const char *format;
} Column;

static const Column data_column = {"data", "data_format"};
static const Column context_column = {"context", "context_format"};

/* Unpacks the bytes in a column, if there are any, up to a limit. */
static const char *
unpack_column(const PGresult *page, int row, const Column *column, size_t limit, StringInfo out)
{
	const char *text = show_value(page, row, column->bytes);
	const char *number = show_value(page, row, column->format);
	const char *fault;
	Bytes		packed;
	unsigned char *bytes;

	if (text == NULL)
		return NULL;
	bytes = PQunescapeBytea((const unsigned char *) text, &packed.len);
	if (bytes == NULL)
		return "memory is out";
	packed.bytes = bytes;
	fault = unpack(number ? (int) strtol(number, NULL, 10) : 0, packed, limit, out);
	PQfreemem(bytes);
	return fault;
}

static bool
is_no_data(const StringInfoData *data)
{
	return data->len == (int) strlen(NO_DATA) && memcmp(data->data, NO_DATA, strlen(NO_DATA)) == 0;
}

static bool
is_json(const char *type, const Patterns *json)
{
	for (int i = 0; type != NULL && i < json->n; i++)
		if (pattern_fit(json->patterns[i], type) > 0)
			return true;
	return false;
}

/* The data is in its own table, or, of old tasks, in the one of tasks. */
static void
append_data(StringInfo out, const PGresult *page, int row, const StringInfoData *data)
{
	const char *old = show_value(page, row, "old_data");
	StringInfoData text;

	if (show_value(page, row, "data") != NULL && !is_no_data(data))
		append_bytes(out, "payload", data);
	else if (old != NULL)
	{
		initStringInfo(&text);
		appendStringInfoString(&text, old);
		append_bytes(out, "payload", &text);
		pfree(text.data);
	}
}

static void
append_task(StringInfo out, const PGresult *page, int row, const Patterns *json)
{
	appendStringInfoChar(out, '{');
	for (size_t i = 0; i < lengthof(plain); i++)
		if (show_value(page, row, plain[i]) != NULL)
		{
			append_member(out, plain[i]);
			show_json_text(out, show_value(page, row, plain[i]));
		}
	append_member(out, "is_json");
	appendStringInfoString(out, is_json(show_value(page, row, "type"), json) ? "true" : "false");
}

const char *
task_json(StringInfo out, const PGresult *page, int row, const Patterns *json)
{
	StringInfoData data;
	StringInfoData context;
	const char *fault;

	if (strcmp(show_value(page, row, "too_large"), "t") == 0)
		return "it is too large for a message";
	initStringInfo(&data);
	initStringInfo(&context);
	fault = unpack_column(page, row, &data_column, TASK_BYTES_MAX, &data);
	if (fault == NULL)
		fault = unpack_column(page, row, &context_column, TASK_BYTES_MAX - data.len, &context);
	if (fault == NULL)
	{
		append_task(out, page, row, json);
		append_data(out, page, row, &data);
		if (show_value(page, row, "context") != NULL)
			append_bytes(out, "context", &context);
		appendStringInfoChar(out, '}');
	}
	pfree(data.data);
	pfree(context.data);
	return fault;
}
