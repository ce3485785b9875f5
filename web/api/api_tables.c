#include "base/port.h"

#include "web/api/act.h"
#include "web/api/api_route.h"
#include "web/api/api_self.h"
#include "web/api/look.h"
#include "web/api/steer.h"

/* Each file of routes has one. */
const ApiTable *const api_tables[] = {
	&api_self,
	&api_look_load,
	&api_look_tasks,
	&api_look_rules,
	&api_look_past,
	&api_look_more,
	&api_act,
	&api_steer,
	NULL
};

char *
api_route_pattern(const ApiRoute *route)
{
	char	   *pattern = psprintf("%s%s", API_ROOT, route->path);
	char	   *to = pattern;

	for (const char *from = pattern; *from != '\0'; from++)
	{
		if (*from == '{')
		{
			*to++ = '*';
			from = strchr(from, '}');
		}
		else
			*to++ = *from;
	}
	*to = '\0';
	return pattern;
}
