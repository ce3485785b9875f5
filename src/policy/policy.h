/*-------------------------------------------------------------------------
 *
 * policy.h
 *		The configuration of types and buckets, as this session knows it.
 *
 *		from: sql/policy/configure_type.sql		to: policy_apply.h, grab.c, finish.c
 *
 * The session reads the tables at first use and after each change: see
 * table_cache.h.
 *
 * Several patterns may match a type.  Each option comes from the most special
 * pattern that sets it.  A type is paused when any of the patterns is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_H
#define TWT_POLICY_H

#include "utils/jsonb.h"

/* The part of a DONE task that the history keeps; the labels of twtasks.done_rule. */
typedef enum DoneRule
{
	DONE_KEEP,
	DONE_CLEAR,					/* all but data and payload */
	DONE_DELETE					/* nothing */
} DoneRule;

/* All policies of a type, merged.  Valid until the next call of this module. */
typedef struct TypePolicy
{
	const char *bucket;			/* NULL: not set */
	int			priority;		/* -1: not set */
	int64		queue_time_us;	/* 30 minutes when not set */
	int64		expires_after_us;	/* 0: not set */
	int			when_done;		/* a DoneRule; DONE_KEEP when not set */
	const char *intercept;		/* a function; NULL: none */
	char	  **nodes;			/* patterns, NULL-terminated; NULL: all */
	int64		aging_us;		/* wait after which a task rises by one; 0:
								 * never */
	int64		timeout_us;		/* -1: not set */
	const char *stuck;			/* a label of stuck_rule; NULL: not set */
	const char *stuck_function; /* NULL: none */
	Jsonb	   *retry;			/* NULL: not set */
	const char *retry_function; /* NULL: none */
	int			resets_tries;	/* true when not set */
	const char *on_end;			/* a function; NULL: none */
	int			waits_for_deadline; /* takeover; false when not set */
} TypePolicy;

/* Make the caches; once per process, from _PG_init(). */
extern void policy_init(void);
extern void policy_open_init(void);

/*
 * The policy of a type; never NULL.  Costs a look into a hash table, or nothing
 * while nothing is configured.  May read the tables and raise their errors.
 */
extern const TypePolicy *policy_find(const char *type);

/* The same for a text Datum, which is copied only if something is configured. */
extern const TypePolicy *policy_of_text(Datum type);

/* Whether any policy names a function for on_end.  Costs nothing. */
extern bool policy_any_on_end(void);

/* The priority that a task reaches after being SUBMITTED for waited_us. */
extern int	policy_risen(Datum type, int priority, int64 waited_us);

/* Whether tasks can be added to the bucket. */
extern bool policy_bucket_exists(const char *bucket);

/*
 * Whether a node of that name may start tasks of that type in that bucket now;
 * all are text.  Costs nothing while nothing is paused or bound to nodes.
 */
extern bool policy_may_grab(Datum type, Datum bucket, Datum node);

/* Whether that type or that bucket is paused; whether anything is. */
extern bool policy_is_paused(const char *type, const char *bucket);
extern bool policy_any_pause(void);

#endif							/* TWT_POLICY_H */
