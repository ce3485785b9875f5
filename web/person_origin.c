#include "base/port.h"

#include "web/person_origin.h"

static const char *
behind_scheme(const char *origin)
{
	if (pg_strncasecmp(origin, "https://", 8) == 0)
		return origin + 8;
	return pg_strncasecmp(origin, "http://", 7) == 0 ? origin + 7 : NULL;
}

bool
person_origin_is_foreign(const HttpRequest *request, char *const *hosts)
{
	const char *origin = http_header(request, "Origin");
	const char *host = http_header(request, "Host");

	if (origin == NULL)
		return false;
	if (http_header_count(request, "Origin") > 1)
		return true;
	origin = behind_scheme(origin);
	if (origin == NULL || origin[0] == '\0')
		return true;
	if (host != NULL && pg_strcasecmp(origin, host) == 0)
		return false;
	for (; hosts != NULL && *hosts != NULL; hosts++)
		if (pg_strcasecmp(origin, *hosts) == 0)
			return false;
	return true;
}

static bool
changes(const HttpRequest *request)
{
	const char *method = http_method(request);

	return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

/* A form can send other types without a question of the browser to us. */
static bool
is_json(const HttpRequest *request)
{
	const char *type = http_header(request, "Content-Type");

	return type != NULL && pg_strncasecmp(type, "application/json", 16) == 0 &&
		strchr("; \t", type[16]) != NULL && http_header_count(request, "Content-Type") == 1;
}

/* The caller has refused a foreign Origin. */
const char *
person_forgery_fault(const HttpRequest *request, bool must_tell)
{
	const char *site = http_header(request, "Sec-Fetch-Site");

	if (!changes(request))
		return NULL;
	if (!is_json(request))
		return "A change needs the header \"Content-Type: application/json\".";
	if (site != NULL)
		return pg_strcasecmp(site, "same-origin") == 0 && http_header_count(request, "Sec-Fetch-Site") == 1 ? NULL :
			"Changes of other web pages are not taken.";
	if (must_tell && http_header(request, "Origin") == NULL)
		return "A change needs the header Sec-Fetch-Site or Origin, which browsers send.";
	return NULL;
}
