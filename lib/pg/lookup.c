/*-------------------------------------------------------------------------
 *
 * lookup.c
 *		The addresses of a host name, without waiting for them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include "base/blocking.h"
#include "pg/lookup.h"

struct Lookup
{
	Blocking   *blocking;
	char	   *host;
	char	   *addresses;
	char	   *error;
	LookupFn	fn;
	void	   *arg;
};

static void
append_addresses(StringInfo out, const struct addrinfo *found)
{
	char		text[NI_MAXHOST];

	for (; found != NULL; found = found->ai_next)
	{
		if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text),
						NULL, 0, NI_NUMERICHOST) != 0)
			continue;
		appendStringInfo(out, "%s%s", out->len > 0 ? "," : "", text);
	}
}

char *
lookup_now(const char *host, char **error)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int			code = getaddrinfo(host, NULL, &hints, &found);
	int			code_errno = errno;
	StringInfoData addresses;

	initStringInfo(&addresses);
	if (code == 0)
	{
		append_addresses(&addresses, found);
		freeaddrinfo(found);
	}
	if (addresses.len > 0)
		return addresses.data;
	pfree(addresses.data);
	*error = psprintf("could not translate host name \"%s\" to address: %s", host,
					  code == EAI_SYSTEM ? strerror(code_errno) :
					  code != 0 ? gai_strerror(code) : "it has none");
	return NULL;
}

static void
release(void *what)
{
	Lookup	   *lookup = what;

	pfree(lookup->host);
	pg_free(lookup->addresses);
	pg_free(lookup->error);
	pfree(lookup);
}

static void
look_up(void *what)
{
	Lookup	   *lookup = what;

	lookup->addresses = lookup_now(lookup->host, &lookup->error);
}

static void
answered(void *what)
{
	Lookup	   *lookup = what;

	lookup->fn(lookup->arg, lookup->addresses, lookup->error);
}

Lookup *
lookup_start(Loop *loop, const char *host, LookupFn fn, void *arg)
{
	static const BlockingCall call = {look_up, answered, release};
	Lookup	   *lookup = palloc0(sizeof(Lookup));
	Blocking   *blocking;

	lookup->host = pstrdup(host);
	lookup->fn = fn;
	lookup->arg = arg;
	blocking = blocking_start(loop, &call, lookup);
	if (blocking == NULL)
		return NULL;
	lookup->blocking = blocking;
	return lookup;
}

void
lookup_cancel(Lookup *lookup)
{
	blocking_cancel(lookup->blocking);
}
