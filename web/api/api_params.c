#include "base/port.h"

#include "web/api/api_body.h"
#include "web/api/api_params.h"

typedef struct Reading
{
	const ApiRoute *route;
	const HttpRequest *request;
	ApiValues  *values;
	char	   *fault;
} Reading;

/* ---- the query ---- */

static int
find_param(const ApiRoute *route, ApiFrom from, const char *name)
{
	for (int i = 0; i < route->nparams; i++)
		if (route->params[i].from == from && strcmp(route->params[i].name, name) == 0)
			return i;
	return -1;
}

static bool
take_query(void *arg, const char *name, const char *value)
{
	Reading    *reading = arg;
	int			i = find_param(reading->route, API_QUERY, name);

	if (i < 0)
		reading->fault = psprintf("This route does not know the parameter \"%.100s\".", name);
	else if (reading->values->values[i] != NULL)
		reading->fault = psprintf("The parameter \"%s\" is there twice.", name);
	else
		reading->values->values[i] = pstrdup(value != NULL ? value : "");
	return reading->fault == NULL;
}

/* ---- the version ---- */

/* Returns the text between the quotes of an ETag; NULL: it is none. */
static char *
unquote_etag(const char *etag)
{
	size_t		len = strlen(etag);

	if (len < 2 || etag[0] != '"' || strchr(etag + 1, '"') != etag + len - 1)
		return NULL;
	return pnstrdup(etag + 1, len - 2);
}

/* The header counts where the body has no version. */
static void
take_version(Reading *reading, char **value)
{
	const char *header = http_header(reading->request, "If-Match");
	char	   *version;

	if (header == NULL)
		return;
	version = unquote_etag(header);
	if (version == NULL)
		reading->fault = pstrdup("The header If-Match must be one ETag, as an answer had it.");
	else if (*value != NULL && strcmp(*value, version) != 0)
		reading->fault = pstrdup("The body and the header If-Match name different versions.");
	if (*value != NULL || reading->fault != NULL)
		pfree(version);
	else
		*value = version;
}

/* ---- all ---- */

static void
take_parts(Reading *reading)
{
	int			n = 0;

	for (int i = 0; i < reading->route->nparams; i++)
		if (reading->route->params[i].from == API_PATH)
			reading->values->values[i] = pstrdup(http_part(reading->request, n++));
}

static void
take_all(Reading *reading)
{
	const ApiRoute *route = reading->route;

	reading->values->n = route->nparams;
	take_parts(reading);
	(void) http_each_query(reading->request, take_query, reading);
	if (reading->fault == NULL)
		reading->fault = api_body_read(route, reading->request, reading->values);
	for (int i = 0; i < route->nparams && reading->fault == NULL; i++)
		if (route->params[i].from == API_VERSION)
			take_version(reading, &reading->values->values[i]);
}

static bool
lacks(const ApiParam *param, const char *value)
{
	return param->is_required && (value == NULL || value[strspn(value, " \t\r\n")] == '\0');
}

/* Judges what was taken. */
static const Problem *
judge_all(const ApiRoute *route, ApiValues *values, char **detail)
{
	for (int i = 0; i < route->nparams; i++)
	{
		const ApiParam *param = &route->params[i];
		char	   *fault;

		if (lacks(param, values->values[i]))
		{
			if (param->from == API_VERSION)
				return problem_of("no_version");
			*detail = psprintf("\"%s\" is missing.", param->name);
			return problem_of("bad_request");
		}
		if (values->values[i] == NULL || param->from == API_SELF)
			continue;
		fault = api_value_judge(param, &values->values[i]);
		if (fault != NULL)
		{
			*detail = psprintf("\"%s\" %s.", param->name, fault);
			pfree(fault);
			return problem_of("bad_request");
		}
	}
	return NULL;
}

const Problem *
api_params_read(const ApiRoute *route, const HttpRequest *request, ApiValues *values, char **detail)
{
	Reading		reading = {route, request, values, NULL};

	memset(values, 0, sizeof(*values));
	*detail = NULL;
	take_all(&reading);
	if (reading.fault == NULL)
		return judge_all(route, values, detail);
	*detail = reading.fault;
	return problem_of("bad_request");
}
