#include "base/port.h"

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

bool
http_is_our_origin(const char *origin, const char *host)
{
	return origin == NULL ||
		(host != NULL && strncmp(origin, "http://", 7) == 0 &&
		 pg_strcasecmp(origin + 7, host) == 0);
}
