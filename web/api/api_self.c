#include "base/port.h"

#include "common/version.h"
#include "web/api/api_self.h"

/* In the order of ApiRole; NULL: nobody has it as such. */
static const char *const role_names[API_ROLES] = {NULL, NULL, "viewer", "operator", "payload"};

static const ApiParam me_params[] = {
	{"name", API_SELF, API_TEXT},
	{"roles", API_SELF, API_WORDS},
	{"version", API_SELF, API_TEXT},
	{"trace_url", API_SELF, API_TEXT},
};

static const ApiRoute routes[] = {
	{
		"GET", "/me", API_ANY, "me", "The person who asks, and what the database has for the person.",
		.params = me_params, .nparams = lengthof(me_params), .schema = "Me", .alone = "me_alone"
	},
};

const ApiTable api_self = {routes, lengthof(routes)};

/* An array literal; the names need no quotes. */
static char *
list_roles(const Person *person)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < API_ROLES; i++)
		if (role_names[i] != NULL && person->role[i] != NULL)
			appendStringInfo(&out, "%s%s", out.len == 0 ? "{" : ",", role_names[i]);
	appendStringInfoString(&out, out.len == 0 ? "{}" : "}");
	return out.data;
}

static char *
value_of(const char *name, const ManageConfig *config, const Person *person)
{
	if (strcmp(name, "name") == 0)
		return pstrdup(person->name);
	if (strcmp(name, "roles") == 0)
		return list_roles(person);
	if (strcmp(name, "version") == 0)
		return pstrdup(TWT_VERSION);
	return config->trace_url == NULL ? NULL : pstrdup(config->trace_url);
}

void
api_self_fill(const ApiRoute *route, const ManageConfig *config, const Person *person, ApiValues *values)
{
	for (int i = 0; i < route->nparams; i++)
		if (route->params[i].from == API_SELF)
			values->values[i] = value_of(route->params[i].name, config, person);
}
