#include "base/port.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>

#include "base/iso8601.h"
#include "base/json_member.h"
#include "base/task.h"
#include "base/text.h"
#include "common/trigger.h"
#include "web/api/api_value.h"

/* Digits of a number, and of its exponent: more of them only cost time. */
#define NUMBER_MAX_BYTES 1000

/* ---- texts ---- */

static bool
is_text(const char *value)
{
	return text_is_utf8(value, strlen(value));
}

static bool
is_among(const char *const *words, const char *value)
{
	for (; words != NULL && *words != NULL; words++)
		if (strcmp(*words, value) == 0)
			return true;
	return words == NULL;
}

static char *
list_words(const char *const *words)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "must be ");
	for (int i = 0; words[i] != NULL; i++)
		appendStringInfo(&out, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
	return out.data;
}

static char *
judge_text(const ApiParam *param, const char *value)
{
	int64		max = param->max > 0 ? param->max : API_TEXT_MAX;

	if (!is_text(value))
		return pstrdup("must be text in UTF-8");
	if (!is_among(param->words, value))
		return list_words(param->words);
	return (int64) strlen(value) <= max ? NULL :
		psprintf("must have at most " INT64_FORMAT " bytes", max);
}

static char *
judge_uuid(char **value)
{
	uint8		id[TASK_ID_BYTES];

	if (!trigger_id_read(*value, strlen(*value), id))
		return pstrdup("must be a UUID");
	pfree(*value);
	*value = palloc(TASK_ID_TEXT + 1);
	trigger_id_text(id, *value);
	return NULL;
}

/* Replaces the ids by an array of them as the database writes it. */
static char *
judge_uuids(const ApiParam *param, char **value)
{
	size_t		max = param->max > 0 ? param->max : API_WORDS_MAX;
	size_t		n = 0;
	StringInfoData out;

	initStringInfo(&out);
	for (const char *at = *value; n <= max; at++)
	{
		size_t		len = strcspn(at, ",");
		uint8		id[TASK_ID_BYTES];
		char		text[TASK_ID_TEXT + 1] = "";

		if (!trigger_id_read(at, len, id))
			break;
		trigger_id_text(id, text);
		appendStringInfo(&out, "%s%s", n++ == 0 ? "{" : ",", text);
		at += len;
		if (*at == '\0' && n <= max)
		{
			appendStringInfoChar(&out, '}');
			pfree(*value);
			*value = out.data;
			return NULL;
		}
	}
	pfree(out.data);
	return psprintf("must be a list of at most %zu UUIDs", max);
}

static char *
judge_time(const char *value)
{
	int64		us;

	return iso8601_parse(value, &us) ? NULL :
		pstrdup("must be a time such as 2031-05-06T07:08:09Z");
}

static char *
judge_interval(const char *value)
{
	return is_text(value) && *value != '\0' && strlen(value) <= API_INTERVAL_MAX ? NULL :
		pstrdup("must be an interval such as 90 s");
}

static char *
judge_boolean(const char *value)
{
	return strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ? NULL :
		pstrdup("must be true or false");
}

/* ---- numbers ---- */

static char *
judge_integer(const ApiParam *param, const char *value)
{
	bool		is_bound = param->min != 0 || param->max != 0;
	char	   *end;
	long long	number;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno != 0 || *end != '\0' || !isdigit((unsigned char) value[*value == '-' ? 1 : 0]))
		return pstrdup("must be a whole number");
	if (is_bound && (number < param->min || number > param->max))
		return psprintf("must be " INT64_FORMAT " to " INT64_FORMAT, param->min, param->max);
	return NULL;
}

static char *
judge_number(const char *value)
{
	json_t	   *number = strlen(value) > NUMBER_MAX_BYTES ? NULL :
		json_loads(value, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
	bool		is_number = json_is_real(number);

	json_decref(number);
	return is_number ? NULL : pstrdup("must be a number");
}

static char *
judge_json(const char *value)
{
	json_t	   *json = json_flaw(value, strlen(value)) != NULL ? NULL :
		json_loads(value, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
	bool		is_json = json != NULL;

	json_decref(json);
	return is_json ? NULL : pstrdup("must be JSON");
}

/* ---- words ---- */

static json_t *
split(const char *value)
{
	json_t	   *array = json_array();

	for (;;)
	{
		size_t		len = strcspn(value, ",");

		(void) json_array_append_new(array, json_stringn(value, len));
		if (value[len] == '\0')
			return array;
		value += len + 1;
	}
}

static char *
judge_word(const ApiParam *param, const json_t *word)
{
	if (!json_is_string(word))
		return pstrdup("must be a list of texts");
	if (!is_among(param->words, json_string_value(word)))
		return list_words(param->words);
	return json_string_length(word) <= API_TEXT_MAX ? NULL :
		psprintf("must have words of at most %d bytes", API_TEXT_MAX);
}

static char *
array_literal(const json_t *array)
{
	StringInfoData out;
	size_t		i;
	json_t	   *word;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	json_array_foreach(array, i, word)
	{
		appendStringInfoString(&out, i > 0 ? ",\"" : "\"");
		for (const char *c = json_string_value(word); *c != '\0'; c++)
		{
			if (*c == '"' || *c == '\\')
				appendStringInfoChar(&out, '\\');
			appendStringInfoChar(&out, *c);
		}
		appendStringInfoChar(&out, '"');
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

static char *
judge_array(const ApiParam *param, const json_t *array)
{
	size_t		max = param->max > 0 ? param->max : API_WORDS_MAX;
	size_t		i;
	json_t	   *word;

	if (!json_is_array(array) || json_array_size(array) > max)
		return psprintf("must be a list of at most %zu texts", max);
	json_array_foreach(array, i, word)
	{
		char	   *fault = judge_word(param, word);

		if (fault != NULL)
			return fault;
	}
	return NULL;
}

static char *
judge_words(const ApiParam *param, char **value)
{
	json_t	   *array = param->from == API_BODY ? json_loads(*value, 0, NULL) :
		is_text(*value) ? split(*value) : NULL;
	char	   *fault = judge_array(param, array);

	if (fault == NULL)
	{
		pfree(*value);
		*value = array_literal(array);
	}
	json_decref(array);
	return fault;
}

char *
api_value_judge(const ApiParam *param, char **value)
{
	switch (param->type)
	{
		case API_TEXT:
			return judge_text(param, *value);
		case API_UUID:
			return judge_uuid(value);
		case API_INTEGER:
			return judge_integer(param, *value);
		case API_NUMBER:
			return judge_number(*value);
		case API_BOOLEAN:
			return judge_boolean(*value);
		case API_TIME:
			return judge_time(*value);
		case API_INTERVAL:
			return judge_interval(*value);
		case API_WORDS:
			return judge_words(param, value);
		case API_UUIDS:
			return judge_uuids(param, value);
		case API_JSON:
			return judge_json(*value);
	}
	return NULL;
}

void
api_values_clear(ApiValues *values)
{
	for (int i = 0; i < values->n; i++)
		pfree(values->values[i]);
	values->n = 0;
}
