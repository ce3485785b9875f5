/*-------------------------------------------------------------------------
 *
 * add_json.c
 *		Tasks given as a JSON array of objects.
 *
 * Values become arguments as in jsonb_populate_record(): JSON null is NULL,
 * data and context stay JSON, all other values are read from their text.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "add/add_json.h"
#include "base/json_value.h"

static const struct
{
	const char *name;
	Oid			type;
}			fields[NEW_FIELDS + 1] = {
	[NEW_TYPE] = {"type", TEXTOID},
	[NEW_DATA] = {"data", JSONBOID},
	[NEW_SUB_TYPE] = {"sub_type", TEXTOID},
	[NEW_KEY] = {"key", TEXTOID},
	[NEW_TASK_ID] = {"task_id", UUIDOID},
	[NEW_PRIORITY] = {"priority", INT4OID},
	[NEW_RUN_AFTER] = {"run_after", TIMESTAMPTZOID},
	[NEW_BUCKET] = {"bucket", TEXTOID},
	[NEW_EXPIRES] = {"expires", TIMESTAMPTZOID},
	[NEW_CONTEXT] = {"context", JSONBOID},
	[NEW_PAYLOAD] = {"payload", BYTEAOID},
	[NEW_FIELDS] = {"key_rule", TEXTOID}
};

int
json_count(Jsonb *json)
{
	if (JB_ROOT_IS_SCALAR(json) || !JB_ROOT_IS_ARRAY(json))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tasks must be a JSON array, not %s",
						TextDatumGetCString(DirectFunctionCall1(jsonb_typeof,
																JsonbPGetDatum(json)))),
				 errhint("Write [{\"type\": \"...\"}, ...].")));
	return JB_ROOT_COUNT(json);
}

static void
refuse_name(const char *name, int length)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized name in tasks: \"%.*s\"", length, name),
			 errhint("Each task is an object whose names are parameters of twtasks.add_task().")));
}

static int
find_field(const JsonbValue *name)
{
	for (int i = 0; i <= NEW_FIELDS; i++)
		if ((int) strlen(fields[i].name) == name->val.string.len &&
			memcmp(fields[i].name, name->val.string.val, name->val.string.len) == 0)
			return i;
	refuse_name(name->val.string.val, name->val.string.len);
	return -1;
}

static Datum
convert(JsonbValue *value, Oid type)
{
	if (type == JSONBOID)
		return JsonbPGetDatum(JsonbValueToJsonb(value));
	if (type == TEXTOID && value->type == jbvString)
		return PointerGetDatum(cstring_to_text_with_len(value->val.string.val,
														value->val.string.len));
	switch (type)
	{
		case UUIDOID:
			return DirectFunctionCall1(uuid_in, CStringGetDatum(json_value_text(value)));
		case INT4OID:
			return DirectFunctionCall1(int4in, CStringGetDatum(json_value_text(value)));
		case TIMESTAMPTZOID:
			return DirectFunctionCall3(timestamptz_in, CStringGetDatum(json_value_text(value)),
									   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
		case BYTEAOID:
			return DirectFunctionCall1(byteain, CStringGetDatum(json_value_text(value)));
		default:
			return CStringGetTextDatum(json_value_text(value));
	}
}

static void
unpack_object(JsonbValue *object, NewTask *task)
{
	JsonbIterator *at;
	JsonbIteratorToken token;
	JsonbValue	value;
	int			field = 0;

	if (object->type != jbvBinary || !JsonContainerIsObject(object->val.binary.data))
		refuse_name(JsonbTypeName(object), strlen(JsonbTypeName(object)));
	memset(task->nulls, true, sizeof(task->nulls));
	task->key_rule = KEY_KEPT;
	at = JsonbIteratorInit(object->val.binary.data);
	while ((token = JsonbIteratorNext(&at, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			field = find_field(&value);
		if (token != WJB_VALUE || value.type == jbvNull)
			continue;
		if (field == NEW_FIELDS)
		{
			task->key_rule = key_rule_of(convert(&value, TEXTOID));
			continue;
		}
		task->values[field] = convert(&value, fields[field].type);
		task->nulls[field] = false;
	}
}

void
json_unpack(Jsonb *json, NewTask *tasks, int *number)
{
	JsonbIterator *at = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue	element;
	int			n = 0;

	/* The first token opens the array and must not be skipped. */
	(void) JsonbIteratorNext(&at, &element, false);
	while ((token = JsonbIteratorNext(&at, &element, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		CHECK_FOR_INTERRUPTS();
		*number = n + 1;
		unpack_object(&element, &tasks[n++]);
	}
	*number = 0;
}
