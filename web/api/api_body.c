#include "base/port.h"

#include <jansson.h>

#include "base/json_member.h"
#include "web/api/api_body.h"

#define LOAD (JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL)

static int
find_param(const ApiRoute *route, const char *name)
{
	for (int i = 0; i < route->nparams; i++)
		if ((route->params[i].from == API_BODY || route->params[i].from == API_VERSION) &&
			strcmp(route->params[i].name, name) == 0)
			return i;
	return -1;
}

static bool
is_string_type(ApiType type)
{
	return type == API_TEXT || type == API_UUID || type == API_TIME || type == API_INTERVAL;
}

/* Numbers may be strings, since JavaScript has no large ones. */
static bool
fits(const json_t *value, ApiType type)
{
	if (is_string_type(type))
		return json_is_string(value);
	if (type == API_INTEGER || type == API_NUMBER)
		return json_is_real(value) || json_is_string(value);
	if (type == API_WORDS)
		return json_is_array(value);
	return type == API_BOOLEAN ? json_is_boolean(value) : true;
}

static const char *
wanted(ApiType type)
{
	if (is_string_type(type))
		return "a string";
	if (type == API_BOOLEAN)
		return "true or false";
	return type == API_WORDS ? "an array of strings" : "a number";
}

/* Returns the fault of the member, palloc'd. */
static char *
take_member(const ApiParam *param, const char *body, const json_t *member, char **value)
{
	size_t		len;
	const char *text = json_member(body, param->name, &len);

	if (text == NULL)
		return psprintf("The name of the member \"%s\" must have no escapes.", param->name);
	if (!fits(member, param->type))
		return psprintf("The member \"%s\" must be %s.", param->name, wanted(param->type));
	*value = json_is_string(member) && param->type != API_JSON ?
		pstrdup(json_string_value(member)) : pnstrdup(text, len);
	return NULL;
}

static char *
take_members(const ApiRoute *route, const char *body, json_t *object, ApiValues *values)
{
	const char *name;
	json_t	   *member;

	json_object_foreach(object, name, member)
	{
		int			i = find_param(route, name);
		char	   *fault;

		if (i < 0)
			return psprintf("This route does not know the member \"%.100s\".", name);
		if (json_is_null(member))
			continue;
		fault = take_member(&route->params[i], body, member, &values->values[i]);
		if (fault != NULL)
			return fault;
	}
	return NULL;
}

char *
api_body_read(const ApiRoute *route, const HttpRequest *request, ApiValues *values)
{
	size_t		len;
	const char *body = http_body(request, &len);
	json_t	   *object;
	char	   *fault;

	if (len == 0)
		return NULL;
	if (json_flaw(body, len) != NULL)
		return psprintf("The body has %s, which the database cannot store.", json_flaw(body, len));
	object = json_loadb(body, len, LOAD, NULL);
	if (!json_is_object(object))
	{
		json_decref(object);
		return pstrdup("The body must be a JSON object, without repeated members.");
	}
	fault = take_members(route, body, object, values);
	json_decref(object);
	return fault;
}
