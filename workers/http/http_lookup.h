/*-------------------------------------------------------------------------
 *
 * http_lookup.h
 *		The addresses of the hosts of requests.
 *
 *		from: requests.c			to: pg/lookup.h
 *
 * libcurl would start a thread for each request that needs a name, so we look
 * names up for it: each name once at a time, and few names at once.  An answer is
 * used for a minute, and a failure by the requests that wait for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HTTP_LOOKUP_H
#define TWT_HTTP_LOOKUP_H

#include "base/loop.h"
#include "lib/ilist.h"

typedef struct HttpLookups HttpLookups;

/* addresses: numeric, separated by commas; NULL: error says why. */
typedef void (*HttpLookupFn) (void *arg, const char *addresses, const char *error);

/* A caller that waits for an answer. */
typedef struct HttpLookup
{
	dlist_node	node;
	HttpLookupFn fn;
	void	   *arg;
	bool		is_waiting;
} HttpLookup;

extern HttpLookups *http_lookups_new(Loop *loop);

/* Nobody may wait. */
extern void http_lookups_free(HttpLookups *lookups);

/*
 * Returns the addresses if they are known.  Otherwise calls lookup->fn once,
 * later; fn must start no lookup.  lookup must stay where it is until then, or
 * until it is cancelled.
 */
extern const char *http_lookup_start(HttpLookups *lookups, const char *host,
									 HttpLookup *lookup) MUSTCHECK;

/* Does nothing if the lookup does not wait. */
extern void http_lookup_cancel(HttpLookup *lookup);

#endif							/* TWT_HTTP_LOOKUP_H */
