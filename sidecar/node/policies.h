/*-------------------------------------------------------------------------
 *
 * policies.h
 *		Reads the policies in the database, again after each change.
 *
 *		from: node.h (on_config), sql/policy/policy_of.sql		to: base/policy.h
 *
 * The sidecar reads the configuration in the database after each connect of
 * the control connection, and after each change.  Other modules that keep a
 * part of this configuration read it at the same moments: POLICIES_WANTED.
 *
 * No task may be grabbed before all parts were read once
 * (policies_are_read()).  Later, a change takes effect when it has been read.
 * Until then, and while it cannot be read, the old configuration stays in
 * force.
 *
 * The database sends one policy for each pattern.  It has already merged all
 * less specific patterns into that policy, so the most specific pattern that
 * matches a type decides.  The handler of the configuration file fills in what
 * the policy leaves open.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICIES_H
#define TWT_POLICIES_H

#include "base/loop.h"
#include "base/policy.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Policies Policies;

typedef enum PoliciesEvent
{
	POLICIES_WANTED,			/* read now; the control connection is up */
	POLICIES_CHANGED,			/* new policies are in force */
	POLICIES_SAME,				/* nothing new was read; another configuration
								 * may have been in force for a moment */
	POLICIES_EVENTS
} PoliciesEvent;

extern Policies *policies_open(Loop *loop, const Config *config, Node *node);

/*
 * Call it after the node is freed, since pending answers still use the
 * policies.
 */
extern void policies_free(Policies *policies);

/* Calls fn(arg) at each such event. */
extern void policies_on(Policies *policies, PoliciesEvent event, LoopFn fn, void *arg);

/* Reads the configuration in the database soon. */
extern void policies_read(Policies *policies);

/*
 * A module that sends a statement at POLICIES_WANTED calls
 * policies_begin_reading(), and policies_end_reading() when the statement has
 * ended.  After PG_FAILED all modules read again, a second later.
 */
extern void policies_begin_reading(Policies *policies);
extern void policies_end_reading(Policies *policies, PgOutcome outcome);

/* Whether all modules have read their parts at least once. */
extern bool policies_are_read(const Policies *policies);

/*
 * Sets another configuration.  The previous one must stay valid until this
 * call.
 */
extern void policies_set_config(Policies *policies, const Config *config);

/* The shortest time after which tasks of some type rise; 0: none do. */
extern int64 policies_aging_us(const Policies *policies);

/*
 * Whether this node may start tasks of that type in that bucket (its number in
 * the configuration) now.  True for a type without a handler.
 */
extern bool policies_take(Policies *policies, int bucket, const char *type);

/* The number of tasks of that bucket that may run here at once; -1: no limit. */
extern int	policies_bucket_max(const Policies *policies, int bucket);

/*
 * The policy in force for a type that has a handler.  The caller takes a
 * reference if it keeps the policy.  Cost: one hash lookup.
 */
extern Policy *policies_of(Policies *policies, const char *type);

#endif							/* TWT_POLICIES_H */
