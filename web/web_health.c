#include "base/port.h"

#include <microhttpd.h>

#include "common/version.h"
#include "web/web_health.h"

struct WebHealth
{
	const Results *results;
	const ToDo *to_do;
	const Persons *persons;
};

static void
serve_health(void *arg, HttpRequest *request)
{
	const WebHealth *health = arg;
	const char *trouble = results_trouble(health->results);
	const char *roles = persons_trouble(health->persons);
	char	   *json;

	if (trouble == NULL)
		trouble = to_do_trouble(health->to_do);
	json = psprintf("{\"status\":\"%s\",\"roles\":\"%s\",\"version\":\"" TWT_VERSION "\"}\n",
					trouble != NULL ? trouble : "ok", roles != NULL ? roles : "ok");
	http_answer(request, trouble != NULL ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, json);
	pfree(json);
}

static const HttpRoute routes[] = {
	{"GET", "/health", .is_open = true, .serve = serve_health},
};

WebHealth *
web_health_open(Http *http, const Results *results, const ToDo *to_do, const Persons *persons)
{
	WebHealth  *health = palloc0(sizeof(WebHealth));

	health->results = results;
	health->to_do = to_do;
	health->persons = persons;
	http_add_routes(http, routes, lengthof(routes), health);
	return health;
}

void
web_health_close(WebHealth *health)
{
	pfree(health);
}
