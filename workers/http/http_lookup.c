/*-------------------------------------------------------------------------
 *
 * http_lookup.c
 *		The addresses of the hosts of requests.
 *
 *	 a name is	until						and then
 *	 queued		there is room				asked
 *	 asked		the system answers			known, or gone
 *	 known		KNOWN_US have passed		gone, when it is wanted again or there
 *											are too many
 *
 * A thread cannot be stopped.  So a name stays asked until its answer is there,
 * though nobody waits for it any more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/map.h"
#include "pg/lookup.h"
#include "workers/http/http_lookup.h"

#define ASKED_MAX 16
#define NAMES_MAX 1000
#define KNOWN_US SECONDS_TO_US(60)
#define AGAIN_US MS_TO_US(100)

typedef struct HostName
{
	dlist_node	node;			/* in queued or known, unless asked */
	HttpLookups *lookups;
	char	   *host;
	Lookup	   *asked;			/* NULL: not asked */
	char	   *addresses;		/* NULL: not known */
	int64		until_us;		/* known so long */
	dlist_head	waiting;
} HostName;

struct HttpLookups
{
	Loop	   *loop;
	Map		   *names;
	dlist_head	queued;
	dlist_head	known;			/* the oldest first */
	int			nasked;
	LoopTimer  *timer;			/* the next attempt to ask */
};

static void
free_name(HostName *name)
{
	pfree(name->host);
	pfree(name->addresses);
	pfree(name);
}

static void
tell_all(HostName *name, const char *addresses, const char *error)
{
	while (!dlist_is_empty(&name->waiting))
	{
		HttpLookup *lookup = dlist_head_element(HttpLookup, node, &name->waiting);

		http_lookup_cancel(lookup);
		lookup->fn(lookup->arg, addresses, error);
	}
}

static void
end(HostName *name, const char *addresses, const char *error)
{
	HttpLookups *lookups = name->lookups;

	if (addresses != NULL)
	{
		name->addresses = pstrdup(addresses);
		name->until_us = loop_now_us(lookups->loop) + KNOWN_US;
		dlist_push_tail(&lookups->known, &name->node);
		tell_all(name, name->addresses, NULL);
		return;
	}
	tell_all(name, NULL, error);
	map_remove(lookups->names, name->host);
	free_name(name);
}

static void ask_queued(void *arg);

static void
on_answer(void *arg, const char *addresses, const char *error)
{
	HostName   *name = arg;
	HttpLookups *lookups = name->lookups;

	name->asked = NULL;
	lookups->nasked--;
	end(name, addresses, error);
	ask_queued(lookups);
}

/* When no thread can be started, the names wait. */
static void
ask_queued(void *arg)
{
	HttpLookups *lookups = arg;

	while (lookups->nasked < ASKED_MAX && !dlist_is_empty(&lookups->queued))
	{
		HostName   *name = dlist_head_element(HostName, node, &lookups->queued);

		name->asked = lookup_start(lookups->loop, name->host, on_answer, name);
		if (name->asked == NULL)
		{
			loop_timer_start(lookups->timer, AGAIN_US);
			return;
		}
		dlist_delete(&name->node);
		lookups->nasked++;
	}
}

/* ---- callers ---- */

static void
forget(HostName *name)
{
	map_remove(name->lookups->names, name->host);
	dlist_delete(&name->node);
	free_name(name);
}

static HostName *
add_name(HttpLookups *lookups, const char *host)
{
	HostName   *name = palloc0(sizeof(HostName));

	if (map_count(lookups->names) >= NAMES_MAX && !dlist_is_empty(&lookups->known))
		forget(dlist_head_element(HostName, node, &lookups->known));
	name->lookups = lookups;
	name->host = pstrdup(host);
	dlist_init(&name->waiting);
	map_set(lookups->names, name->host, name);
	dlist_push_tail(&lookups->queued, &name->node);
	return name;
}

const char *
http_lookup_start(HttpLookups *lookups, const char *host, HttpLookup *lookup)
{
	HostName   *name = map_get(lookups->names, host);

	if (name != NULL && name->addresses != NULL)
	{
		if (loop_now_us(lookups->loop) < name->until_us)
			return name->addresses;
		forget(name);
		name = NULL;
	}
	if (name == NULL)
		name = add_name(lookups, host);
	dlist_push_tail(&name->waiting, &lookup->node);
	lookup->is_waiting = true;
	ask_queued(lookups);
	return NULL;
}

void
http_lookup_cancel(HttpLookup *lookup)
{
	if (lookup->is_waiting)
		dlist_delete(&lookup->node);
	lookup->is_waiting = false;
}

/* ---- the whole ---- */

HttpLookups *
http_lookups_new(Loop *loop)
{
	HttpLookups *lookups = palloc0(sizeof(HttpLookups));

	lookups->loop = loop;
	lookups->names = map_new(0);
	lookups->timer = loop_timer_new(loop, ask_queued, lookups);
	dlist_init(&lookups->queued);
	dlist_init(&lookups->known);
	return lookups;
}

void
http_lookups_free(HttpLookups *lookups)
{
	uint64		place = 0;
	HostName   *name;

	while ((name = map_next(lookups->names, &place)) != NULL)
	{
		if (name->asked != NULL)
			lookup_cancel(name->asked);
		map_remove(lookups->names, name->host);
		free_name(name);
		place = 0;
	}
	map_free(lookups->names);
	loop_timer_free(lookups->timer);
	pfree(lookups);
}
