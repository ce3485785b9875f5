/*-------------------------------------------------------------------------
 *
 * api_cache.h
 *		Answers in memory, of which each is computed once for all who ask.
 *
 *		from: api.c
 *
 * A page that many people watch must cost the database what one of them costs.  So
 * an answer belongs to its route, its parameters and the role that read it, and to no
 * person:
 *
 *	 an answer is		until it is					requests
 *	 none				computed the first time		wait for it
 *	 fresh				older than cache_us			get it
 *	 stale				older than twice that		get it, and the first one makes
 *												the caller compute the next one
 *	 old				computed anew				wait for it
 *
 * One computation of an answer is under way at a time.  Problems go to those who
 * wait, and are not kept.  While a computation takes longer than the late_us of its
 * route, requests get a problem, and no stale answer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_API_CACHE_H
#define TWT_API_CACHE_H

#include "base/loop.h"
#include "web/api/api_answer.h"

/* The most bytes of all answers, and of their keys. */
#define API_CACHE_BYTES (16 * 1024 * 1024)

typedef struct ApiCache ApiCache;
typedef struct ApiEntry ApiEntry;

typedef struct ApiCacheCounts
{
	int64		hits;			/* answered from memory */
	int64		joined;			/* waited for the computation of another
								 * request */
	int64		computed;
	int			entries;
	int64		bytes;
} ApiCacheCounts;

extern ApiCache *api_cache_new(Loop *loop);

/* No computation is under way. */
extern void api_cache_free(ApiCache *cache);

/*
 * Takes a request, which gets its answer now or later.  Returns the entry whose
 * answer the caller must compute, for api_cache_settle(); NULL: none.
 */
extern ApiEntry *api_cache_ask(ApiCache *cache, const char *key, const ApiRoute *route,
							   HttpRequest *request) MUSTCHECK;

/* Takes the answer.  size: the bytes of its body; -1: it is a problem. */
extern void api_cache_settle(ApiEntry *entry, ApiAnswer *answer, int64 size);

/*
 * Drops the answers of a route, which the key begins with; NULL: all answers.  Requests
 * that wait get theirs; later ones have it computed anew.
 */
extern void api_cache_forget(ApiCache *cache, const char *route);

/*
 * The database does not answer: drops all answers, and no computation, so that each
 * is late when its time is over.
 */
extern void api_cache_drop_answers(ApiCache *cache);

extern ApiCacheCounts api_cache_counts(const ApiCache *cache);

#endif							/* TWT_API_CACHE_H */
