#include "base/port.h"

#include "base/map.h"
#include "lib/ilist.h"
#include "web/api/api_cache.h"

/* About what an entry takes beside its key and its body. */
#define ENTRY_BYTES 500

typedef struct Waiting
{
	slist_node	node;
	HttpRequest *request;
} Waiting;

struct ApiEntry
{
	dlist_node	node;			/* in the order of settling */
	ApiCache   *cache;
	char	   *key;
	const ApiRoute *route;
	LoopTimer  *late;			/* its computation takes too long */
	int64		settled_us;
	ApiAnswer  *answer;			/* NULL: none yet, or a problem */
	int64		bytes;
	bool		is_computing;
	bool		is_late;		/* ... for too long */
	bool		is_forgotten;	/* its key may have another entry by now */
	slist_head	waiting;
};

struct ApiCache
{
	Loop	   *loop;
	Map		   *entries;		/* by key */
	dlist_head	order;			/* the one that was settled first comes first */
	ApiCacheCounts counts;
};

ApiCache *
api_cache_new(Loop *loop)
{
	ApiCache   *cache = palloc0(sizeof(ApiCache));

	cache->loop = loop;
	cache->entries = map_new(0);
	dlist_init(&cache->order);
	return cache;
}

static void
drop_entry(ApiEntry *entry)
{
	Assert(!entry->is_computing);
	if (!entry->is_forgotten)
		map_remove(entry->cache->entries, entry->key);
	dlist_delete(&entry->node);
	entry->cache->counts.bytes -= entry->bytes;
	api_answer_free(entry->answer);
	loop_timer_free(entry->late);
	pfree(entry->key);
	pfree(entry);
}

void
api_cache_free(ApiCache *cache)
{
	while (!dlist_is_empty(&cache->order))
		drop_entry(dlist_head_element(ApiEntry, node, &cache->order));
	map_free(cache->entries);
	pfree(cache);
}

static void
answer_waiting(ApiEntry *entry, const ApiAnswer *answer)
{
	while (!slist_is_empty(&entry->waiting))
	{
		Waiting    *waiting = slist_container(Waiting, node, slist_pop_head_node(&entry->waiting));

		api_answer_send(answer, waiting->request);
		pfree(waiting);
	}
}

static void
on_late(void *arg)
{
	ApiEntry   *entry = arg;
	ApiAnswer  *problem = api_answer_late();

	entry->is_late = true;
	answer_waiting(entry, problem);
	api_answer_free(problem);
}

static ApiEntry *
entry_of(ApiCache *cache, const char *key, const ApiRoute *route)
{
	ApiEntry   *entry = map_get(cache->entries, key);

	if (entry != NULL)
		return entry;
	entry = palloc0(sizeof(ApiEntry));
	entry->cache = cache;
	entry->key = pstrdup(key);
	entry->route = route;
	entry->late = loop_timer_new(cache->loop, on_late, entry);
	slist_init(&entry->waiting);
	dlist_push_tail(&cache->order, &entry->node);
	map_set(cache->entries, entry->key, entry);
	return entry;
}

static void
wait_for_answer(ApiEntry *entry, HttpRequest *request)
{
	Waiting    *waiting = palloc(sizeof(Waiting));

	waiting->request = request;
	slist_push_head(&entry->waiting, &waiting->node);
}

/* Returns false if the request has no answer yet. */
static bool
answer_now(const ApiEntry *entry, int64 age_us, HttpRequest *request)
{
	if (entry->is_late)
	{
		ApiAnswer  *problem = api_answer_late();

		api_answer_send(problem, request);
		api_answer_free(problem);
		return true;
	}
	if (entry->answer == NULL || age_us >= 2 * entry->route->cache_us)
		return false;
	entry->cache->counts.hits++;
	api_answer_send(entry->answer, request);
	return true;
}

static void
compute(ApiEntry *entry)
{
	entry->is_computing = true;
	if (entry->route->late_us > 0)
		loop_timer_start(entry->late, entry->route->late_us);
}

ApiEntry *
api_cache_ask(ApiCache *cache, const char *key, const ApiRoute *route, HttpRequest *request)
{
	ApiEntry   *entry = entry_of(cache, key, route);
	int64		age_us = loop_now_us(cache->loop) - entry->settled_us;
	bool		is_fresh = entry->answer != NULL && age_us < route->cache_us;

	if (!answer_now(entry, age_us, request))
	{
		cache->counts.joined += entry->is_computing;
		wait_for_answer(entry, request);
	}
	if (is_fresh || entry->is_computing)
		return NULL;
	compute(entry);
	return entry;
}

/* Drops answers until the others fit, the oldest ones first. */
static void
make_room(ApiCache *cache)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cache->order)
	{
		ApiEntry   *entry = dlist_container(ApiEntry, node, iter.cur);

		if (cache->counts.bytes <= API_CACHE_BYTES)
			return;
		if (!entry->is_computing)
			drop_entry(entry);
	}
}

static void
keep(ApiEntry *entry, ApiAnswer *answer, int64 size)
{
	ApiCache   *cache = entry->cache;

	api_answer_free(entry->answer);
	entry->answer = answer;
	entry->settled_us = loop_now_us(cache->loop);
	cache->counts.bytes -= entry->bytes;
	entry->bytes = size + (int64) strlen(entry->key) + ENTRY_BYTES;
	cache->counts.bytes += entry->bytes;
	dlist_delete(&entry->node);
	dlist_push_tail(&cache->order, &entry->node);
	make_room(cache);
}

void
api_cache_settle(ApiEntry *entry, ApiAnswer *answer, int64 size)
{
	loop_timer_stop(entry->late);
	entry->is_computing = false;
	entry->is_late = false;
	entry->cache->counts.computed++;
	answer_waiting(entry, answer);
	if (size >= 0 && !entry->is_forgotten)
	{
		keep(entry, answer, size);
		return;
	}
	api_answer_free(answer);
	if (entry->answer == NULL || entry->is_forgotten)
		drop_entry(entry);
}

static bool
is_of_route(const ApiEntry *entry, const char *route)
{
	size_t		len = route == NULL ? 0 : strlen(route);

	return route == NULL || (strncmp(entry->key, route, len) == 0 && entry->key[len] == ' ');
}

void
api_cache_forget(ApiCache *cache, const char *route)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cache->order)
	{
		ApiEntry   *entry = dlist_container(ApiEntry, node, iter.cur);

		if (!is_of_route(entry, route))
			continue;
		if (!entry->is_computing)
			drop_entry(entry);
		else
		{
			map_remove(cache->entries, entry->key);
			entry->is_forgotten = true;
		}
	}
}

void
api_cache_drop_answers(ApiCache *cache)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cache->order)
	{
		ApiEntry   *entry = dlist_container(ApiEntry, node, iter.cur);

		if (!entry->is_computing)
		{
			drop_entry(entry);
			continue;
		}
		cache->counts.bytes -= entry->bytes;
		entry->bytes = 0;
		api_answer_free(entry->answer);
		entry->answer = NULL;
	}
}

ApiCacheCounts
api_cache_counts(const ApiCache *cache)
{
	ApiCacheCounts counts = cache->counts;

	counts.entries = map_count(cache->entries);
	return counts;
}
