#include "base/port.h"

#include "web/api/api_value.h"
#include "web/api/openapi_params.h"

static json_t *
word_list(const char *const *words)
{
	json_t	   *list = json_array();

	for (; *words != NULL; words++)
		(void) json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *
text_schema(const ApiParam *param)
{
	json_t	   *schema = json_pack("{s:s}", "type", "string");

	if (param->words != NULL)
		(void) json_object_set_new(schema, "enum", word_list(param->words));
	else
		(void) json_object_set_new(schema, "maxLength", json_integer(param->max > 0 ? param->max : API_TEXT_MAX));
	if (param->is_required && param->words == NULL)
		(void) json_object_set_new(schema, "minLength", json_integer(1));
	return schema;
}

static json_t *
uuid_schema(void)
{
	return json_pack("{s:s,s:s}", "type", "string", "format", "uuid");
}

static json_t *
list_schema(const ApiParam *param)
{
	json_t	   *word = param->type == API_UUIDS ? uuid_schema() : json_pack("{s:s}", "type", "string");

	if (param->words != NULL)
		(void) json_object_set_new(word, "enum", word_list(param->words));
	else if (param->type == API_WORDS)
		(void) json_object_set_new(word, "maxLength", json_integer(API_TEXT_MAX));
	return json_pack("{s:s,s:o,s:I,s:I}", "type", "array", "items", word, "minItems", (json_int_t) (param->is_required || param->type == API_UUIDS),
					 "maxItems", (json_int_t) (param->max > 0 ? param->max : API_WORDS_MAX));
}

/* Members of bodies may be strings, since JavaScript has no large numbers. */
static json_t *
number_schema(const ApiParam *param, const char *type)
{
	bool		is_member = param->from == API_BODY || param->from == API_VERSION;
	json_t	   *schema = is_member ? json_pack("{s:[s,s]}", "type", type, "string") :
		json_pack("{s:s}", "type", type);

	if (param->type == API_INTEGER)
		(void) json_object_set_new(schema, "format", json_string("int64"));
	if (is_member)
		(void) json_object_set_new(schema, "pattern",
								   json_string(param->type == API_INTEGER ? "^-?[0-9]{1,18}$" : "^-?[0-9]{1,18}(\\.[0-9]{1,18})?$"));
	if (param->min != 0 || param->max != 0)
	{
		(void) json_object_set_new(schema, "minimum", json_integer(param->min));
		(void) json_object_set_new(schema, "maximum", json_integer(param->max));
	}
	return schema;
}

static json_t *
schema_of_type(const ApiParam *param)
{
	switch (param->type)
	{
		case API_UUID:
			return uuid_schema();
		case API_INTEGER:
			return number_schema(param, "integer");
		case API_NUMBER:
			return number_schema(param, "number");
		case API_BOOLEAN:
			return json_pack("{s:s}", "type", "boolean");
		case API_TIME:
			return json_pack("{s:s,s:s}", "type", "string", "format", "date-time");
		case API_INTERVAL:
			return json_pack("{s:s,s:i,s:i}", "type", "string", "minLength", 1, "maxLength", API_INTERVAL_MAX);
		case API_WORDS:
		case API_UUIDS:
			return list_schema(param);
		case API_JSON:
			return json_object();
		case API_TEXT:
			break;
	}
	return text_schema(param);
}

/* ---- parameters ---- */

static json_t *
parameter(const ApiParam *param)
{
	bool		is_path = param->from == API_PATH;
	json_t	   *object = json_pack("{s:s,s:s,s:b}", "name", param->name, "in", is_path ? "path" : "query",
								   "required", is_path || param->is_required);
	json_t	   *schema = schema_of_type(param);

	if (param->help != NULL)
		(void) json_object_set_new(object, "description", json_string(param->help));
	if (param->type == API_JSON)
		(void) json_object_set_new(object, "content", json_pack("{s:{s:o}}", "application/json", "schema", schema));
	else
		(void) json_object_set_new(object, "schema", schema);
	if (param->type == API_WORDS || param->type == API_UUIDS)
		(void) json_object_set_new(object, "explode", json_false());
	return object;
}

static json_t *
if_match(void)
{
	return json_pack("{s:s,s:s,s:b,s:s,s:{s:s,s:s}}", "name", "If-Match", "in", "header", "required", false,
					 "description", "The ETag of an answer, in place of the member of the body.",
					 "schema", "type", "string", "pattern", "^\"[!#-~]{1,100}\"$");
}

json_t *
openapi_parameters(const ApiRoute *route)
{
	json_t	   *list = json_array();

	for (int i = 0; i < route->nparams; i++)
	{
		const ApiParam *param = &route->params[i];

		if (param->from == API_PATH || param->from == API_QUERY)
			(void) json_array_append_new(list, parameter(param));
		else if (param->from == API_VERSION)
			(void) json_array_append_new(list, if_match());
	}
	return list;
}

/* ---- the body ---- */

/* A member that may be absent may be null, too. */
static void
allow_null(json_t *schema)
{
	json_t	   *type = json_object_get(schema, "type");
	json_t	   *words = json_object_get(schema, "enum");

	if (type == NULL)
		return;
	if (words != NULL)
		(void) json_array_append_new(words, json_null());
	if (json_is_array(type))
		(void) json_array_append_new(type, json_string("null"));
	else
		(void) json_object_set_new(schema, "type", json_pack("[O,s]", type, "null"));
}

static void
add_member(const ApiParam *param, json_t *members, json_t *required)
{
	bool		is_required = param->is_required && param->from == API_BODY;
	json_t	   *schema = schema_of_type(param);

	if (is_required)
		(void) json_array_append_new(required, json_string(param->name));
	else
		allow_null(schema);
	if (param->help != NULL)
		(void) json_object_set_new(schema, "description", json_string(param->help));
	(void) json_object_set_new(members, param->name, schema);
}

json_t *
openapi_body(const ApiRoute *route)
{
	json_t	   *members = json_object();
	json_t	   *required = json_array();
	json_t	   *body = NULL;

	for (int i = 0; i < route->nparams; i++)
		if (route->params[i].from == API_BODY || route->params[i].from == API_VERSION)
			add_member(&route->params[i], members, required);
	if (json_object_size(members) > 0)
		body = json_pack("{s:b,s:{s:{s:{s:s,s:b,s:O,s:O}}}}", "required", json_array_size(required) > 0,
						 "content", "application/json", "schema", "type", "object", "additionalProperties", false,
						 "properties", members, "required", required);
	json_decref(members);
	json_decref(required);
	return body;
}
