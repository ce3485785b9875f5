#include "base/port.h"

#include <unistd.h>

#include "web/http_access.h"
#include "options/secret_file.h"

/* Compares every token, so that the time does not tell which one matches. */
bool
http_has_token(const char *authorization, char *const *tokens)
{
	bool		fits = false;

	if (authorization == NULL || pg_strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	for (int i = 0; tokens[i] != NULL; i++)
		fits |= secret_is_same(authorization + 7, tokens[i]);
	return fits;
}

bool
http_is_our_host(const char *host)
{
	size_t		len;

	if (host == NULL)
		return true;
	if (host[0] == '[')
		return true;
	len = strcspn(host, ":");
	return (len == 9 && pg_strncasecmp(host, "localhost", len) == 0) ||
		(len > 0 && strspn(host, "0123456789.") >= len);
}

/* The name ends where the host ends, or where its port begins. */
static bool
is_named(const char *host, const char *name)
{
	size_t		len = strlen(name);

	return pg_strncasecmp(host, name, len) == 0 &&
		(host[len] == '\0' || (host[len] == ':' && strchr(name, ':') == NULL));
}

bool
http_is_listed_host(const char *host, char *const *names)
{
	char		own[256] = "";

	if (host == NULL)
		return false;
	if (gethostname(own, sizeof(own) - 1) == 0 && own[0] != '\0' && is_named(host, own))
		return true;
	for (int i = 0; names != NULL && names[i] != NULL; i++)
		if (is_named(host, names[i]))
			return true;
	return false;
}

bool
http_is_our_origin(const char *origin, const char *host)
{
	const char *end;

	if (origin == NULL)
		return true;
	end = strstr(origin, "://");
	return host != NULL && end != NULL && pg_strcasecmp(end + 3, host) == 0 &&
		(strncmp(origin, "http://", 7) == 0 || strncmp(origin, "https://", 8) == 0);
}
