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
	int			code;			/* the answer of getaddrinfo() */
	int			code_errno;
	struct addrinfo *found;
	LookupFn	fn;
	void	   *arg;
};

static void
release(void *what)
{
	Lookup	   *lookup = what;

	if (lookup->found != NULL)
		freeaddrinfo(lookup->found);
	pfree(lookup->host);
	pfree(lookup);
}

static void
look_up(void *what)
{
	Lookup	   *lookup = what;
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

	lookup->code = getaddrinfo(lookup->host, NULL, &hints, &lookup->found);
	lookup->code_errno = errno;
	if (lookup->code != 0)
		lookup->found = NULL;
}

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

static void
answered(void *what)
{
	Lookup	   *lookup = what;
	StringInfoData addresses;
	char	   *error = NULL;

	initStringInfo(&addresses);
	append_addresses(&addresses, lookup->found);
	if (addresses.len == 0)
		error = psprintf("could not translate host name \"%s\" to address: %s", lookup->host,
						 lookup->code == EAI_SYSTEM ? strerror(lookup->code_errno) :
						 lookup->code != 0 ? gai_strerror(lookup->code) : "it has none");
	lookup->fn(lookup->arg, error == NULL ? addresses.data : NULL, error);
	pfree(addresses.data);
	if (error != NULL)
		pfree(error);
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
