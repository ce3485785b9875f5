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

#include "datatype/timestamp.h"

#include "base/rows.h"
#include "policy/type_policy.h"

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

/*
 * The on_end function of a type whose tasks an extension adds and follows:
 * such functions are in our inner schema.  NULL: the type is nobody's.
 */
extern const char *policy_own_function(const TypePolicy *policy);

/*
 * Since when the task of that row can run, whether it runs by now or waits.  A grab
 * leaves next_event_time, which says from when a task counts as stuck in the queue.
 * A task that was handed on has another one, so that nobody knows any more.  After a
 * change of queue_time the answer for tasks queued before is off by the difference,
 * but never before their creation.
 */
extern TimestampTz policy_runnable(TupleTableSlot *row);

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
