/*-------------------------------------------------------------------------
 *
 * task_line.c
 *		The line of a task, as a sidecar writes it to a worker.
 *
 * A sidecar writes valid JSON, so brackets and quotes alone show the end of a
 * value.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "common/base64.h"

#include "workers/lib/task_line.h"

/* A part of the line. */
typedef struct Slice
{
	const char *start;
	size_t		len;
} Slice;

/* Returns the end of the string at p, which begins with a quote. */
static const char *
skip_string(const char *p)
{
	for (p++; *p != '\0' && *p != '"'; p++)
		if (*p == '\\' && p[1] != '\0')
			p++;
	return *p == '"' ? p + 1 : p;
}

static const char *
skip_value(const char *p)
{
	int			depth = 0;

	while (*p != '\0')
	{
		if (*p == '"')
			p = skip_string(p);
		else if (depth == 0 && strchr(",}]", *p) != NULL)
			break;
		else
		{
			depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
			p++;
		}
		if (depth == 0 && (p[-1] == '"' || p[-1] == '}' || p[-1] == ']'))
			break;
	}
	return p;
}

/* Reads the next member of the object; *p is before its name, or at the end. */
static bool
next_member(const char **p, Slice *name, Slice *value)
{
	const char *s = *p + strspn(*p, "{, ");

	if (*s != '"')
		return false;
	name->start = s + 1;
	s = skip_string(s);
	name->len = s - name->start - 1;
	s += strspn(s, ": ");
	value->start = s;
	*p = skip_value(s);
	value->len = *p - s;
	return value->len > 0;
}

static bool
is_null(const Slice *value)
{
	return value->len == 4 && memcmp(value->start, "null", 4) == 0;
}

/* Returns a palloc'd string; NULL: the value is not a string. */
static char *
take_string(const Slice *value)
{
	json_t	   *string;
	char	   *text;

	if (value->start[0] != '"')
		return NULL;
	if (memchr(value->start, '\\', value->len) == NULL)
		return pnstrdup(value->start + 1, value->len - 2);
	string = json_loadb(value->start, value->len, JSON_DECODE_ANY, NULL);
	text = string == NULL ? NULL : pstrdup(json_string_value(string));
	json_decref(string);
	return text;
}

/* A later member of the same name counts. */
static void
replace(char **text, char *newer)
{
	pfree(*text);
	*text = newer;
}

static void
take_data(Task *task, const Slice *value)
{
	if (is_null(value))
		return;
	replace(&task->data, pnstrdup(value->start, value->len));
	task->data_len = value->len;
}

static void
take_payload(Task *task, const Slice *value)
{
	int			len = value->len - 2;

	task->is_binary = true;
	replace(&task->data, palloc0(len + 1));
	task->data_len = Max(pg_b64_decode(value->start + 1, len, (void *) task->data, len), 0);
}

static bool
is_named(const Slice *name, const char *expected)
{
	return name->len == strlen(expected) && memcmp(name->start, expected, name->len) == 0;
}

static void
take_member(Task *task, const Slice *name, const Slice *value, int64 *start_by_us)
{
	if (is_named(name, "id"))
		strlcpy(task->id_text, value->start + 1, Min(sizeof(task->id_text), value->len - 1));
	else if (is_named(name, "version"))
		task->version = strtoll(value->start, NULL, 10);
	else if (is_named(name, "type"))
		replace(&task->type, take_string(value));
	else if (is_named(name, "sub_type"))
		replace(&task->sub_type, take_string(value));
	else if (is_named(name, "key"))
		replace(&task->key, take_string(value));
	else if (is_named(name, "tries"))
		task->tries = strtol(value->start, NULL, 10);
	else if (is_named(name, "max_tries"))
		task->max_tries = strtol(value->start, NULL, 10);
	else if (is_named(name, "deadline"))
		replace(&task->deadline_text, take_string(value));
	else if (is_named(name, "start_by_ms"))
		*start_by_us = MS_TO_US(strtoll(value->start, NULL, 10));
	else if (is_named(name, "data"))
		take_data(task, value);
	else if (is_named(name, "payload_base64") && value->len >= 2)
		take_payload(task, value);
	else if (is_named(name, "context") && !is_null(value))
		replace(&task->context, pnstrdup(value->start, value->len));
}

Task *
task_line_read(const char *line, int64 *start_by_us)
{
	Task	   *task = palloc0(sizeof(Task));
	Slice		name;
	Slice		value;

	*start_by_us = PG_INT64_MAX;
	while (next_member(&line, &name, &value))
		take_member(task, &name, &value, start_by_us);
	if (task->id_text[0] != '\0' && task->version > 0 && task->type != NULL &&
		task->deadline_text != NULL)
		return task;
	task_line_free(task);
	return NULL;
}

void
task_line_free(Task *task)
{
	pfree(task->type);
	pfree(task->sub_type);
	pfree(task->key);
	pfree(task->deadline_text);
	pfree(task->context);
	pfree(task->data);
	pfree(task);
}
