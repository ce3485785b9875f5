/*-------------------------------------------------------------------------
 *
 * notify_template.c
 *		The text of a message: a file of JSON with ${names}.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>

#include "base/text.h"
#include "workers/notify/notify_template.h"

static const char *const names[NAME_END] = {
	"summary", "severity", "key", "state", "count", "since", "detail", "hint",
	"url", "environment", "database", "id", "action", "level", "dedup_key",
	"ends", "secret"
};

/* Returns the place of the name, or -1. */
static int
find_name(const char *name, size_t len)
{
	int			i = NAME_END - 1;

	while (i >= 0 && (strlen(names[i]) != len || memcmp(names[i], name, len) != 0))
		i--;
	return i;
}

static void
append_escaped(StringInfo out, const char *value)
{
	text_escape_json(out, value, strlen(value), SIZE_MAX);
}

/* As Slack and its relatives want it. */
static char *
without_markup(const char *value)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *value != '\0'; value++)
		if (*value == '&')
			appendStringInfoString(&text, "&amp;");
		else if (*value == '<')
			appendStringInfoString(&text, "&lt;");
		else if (*value == '>')
			appendStringInfoString(&text, "&gt;");
		else
			appendStringInfoChar(&text, *value);
	return text.data;
}

static bool
is_number(const char *value)
{
	size_t		digits = strspn(value, "0123456789");

	return digits > 0 && digits < 18 && value[digits] == '\0' && (value[0] != '0' || digits == 1);
}

static void
append_value(StringInfo out, const char *value, const NotifyValues *values, bool is_inside)
{
	char	   *text = values->has_markup ? without_markup(value) : pstrdup(value);

	if (is_inside)
		append_escaped(out, text);
	else if (is_number(text))
		appendStringInfoString(out, text);
	else
	{
		appendStringInfoChar(out, '"');
		append_escaped(out, text);
		appendStringInfoChar(out, '"');
	}
	pfree(text);
}

/* The length of ${name} at text; 0: there is none.  *name is -1 if it is unknown. */
static size_t
read_name(const char *text, int *name)
{
	const char *end;

	if (text[0] != '$' || text[1] != '{')
		return 0;
	end = strchr(text, '}');
	*name = end == NULL ? -1 : find_name(text + 2, end - text - 2);
	return end == NULL ? strlen(text) : (size_t) (end - text) + 1;
}

void
notify_template_render(const char *text, const NotifyValues *values, StringInfo out)
{
	bool		is_inside = false;

	while (*text != '\0')
	{
		int			name = -1;
		size_t		len = read_name(text, &name);

		if (len > 0)
			append_value(out, name < 0 || values->of[name] == NULL ? "" : values->of[name], values, is_inside);
		else
		{
			/* an escape, whose second character may be a quote */
			len = is_inside && text[0] == '\\' && text[1] != '\0' ? 2 : 1;
			is_inside ^= text[0] == '"';
			appendBinaryStringInfo(out, text, (int) len);
		}
		text += len;
	}
}

static char *
check_names(const char *text)
{
	for (text = strstr(text, "${"); text != NULL; text = strstr(text + 2, "${"))
	{
		int			name = -1;
		size_t		len = read_name(text, &name);

		if (name < 0)
			return psprintf("the template has an unknown name: %.*s", (int) Min(len, 40), text);
	}
	return NULL;
}

/* Simple values must make JSON. */
char *
notify_template_check(const char *text)
{
	NotifyValues values = {.of = {[NAME_COUNT] = "1"}};
	StringInfoData out;
	json_error_t error;
	json_t	   *json;
	char	   *fault = check_names(text);

	if (fault != NULL)
		return fault;
	initStringInfo(&out);
	notify_template_render(text, &values, &out);
	json = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
	if (json == NULL)
		fault = psprintf("the template does not make JSON: line %d: %s", error.line, error.text);
	json_decref(json);
	pfree(out.data);
	return fault;
}
