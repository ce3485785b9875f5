/*-------------------------------------------------------------------------
 *
 * lookup.c
 *		The addresses of a host name, without waiting for them.
 *
 * The loop and the thread share a lookup; the last one to leave frees it.  The
 * thread writes its answer before it signals, and the loop reads only after
 * the signal.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pg/lookup.h"

struct Lookup
{
	atomic_int	users;
	int			fd;				/* readable when there is an answer */
	char	   *host;
	int			code;			/* the answer of getaddrinfo() */
	int			code_errno;
	struct addrinfo *found;
	LoopIo	   *io;
	LookupFn	fn;
	void	   *arg;
};

static void
leave(Lookup *lookup)
{
	if (atomic_fetch_sub(&lookup->users, 1) > 1)
		return;
	if (lookup->found != NULL)
		freeaddrinfo(lookup->found);
	close(lookup->fd);
	pfree(lookup->host);
	pfree(lookup);
}

static void *
look_up(void *arg)
{
	Lookup	   *lookup = arg;
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

	lookup->code = getaddrinfo(lookup->host, NULL, &hints, &lookup->found);
	lookup->code_errno = errno;
	if (lookup->code != 0)
		lookup->found = NULL;
	(void) eventfd_write(lookup->fd, 1);
	leave(lookup);
	return NULL;
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
on_answer(void *arg, int ready)
{
	Lookup	   *lookup = arg;
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
	lookup_cancel(lookup);
}

/*
 * Starts the thread with all signals blocked: the loop's thread handles them.
 */
static int
start_thread(Lookup *lookup)
{
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;
	int			error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, NULL, look_up, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return error;
}

Lookup *
lookup_start(Loop *loop, const char *host, LookupFn fn, void *arg)
{
	int			fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	Lookup	   *lookup;
	int			error;

	if (fd < 0)
		return NULL;
	lookup = palloc0(sizeof(Lookup));
	atomic_init(&lookup->users, 2);
	lookup->fd = fd;
	lookup->host = pstrdup(host);
	lookup->fn = fn;
	lookup->arg = arg;
	error = start_thread(lookup);
	if (error != 0)
	{
		leave(lookup);
		leave(lookup);
		errno = error;
		return NULL;
	}
	lookup->io = loop_io_new(loop, fd, on_answer, lookup);
	loop_io_want(lookup->io, LOOP_READ);
	return lookup;
}

void
lookup_cancel(Lookup *lookup)
{
	loop_io_free(lookup->io);
	leave(lookup);
}
