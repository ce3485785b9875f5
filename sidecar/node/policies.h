/*-------------------------------------------------------------------------
 *
 * policies.h
 *		What the database says about types, and when it is read again.
 *
 *		from: node.h (on_config)		to: grab.h, execute.h
 *
 * The configuration in the database is read after each connect of the control
 * connection and whenever it has changed.  Other modules that keep something
 * of it there read theirs at the same moments: policies_on_reload().
 *
 * Nothing may be grabbed before everybody has read theirs once
 * (policies_are_read()).  Later, a change counts as soon as it was read; while
 * it is being read, or cannot be, the old configuration stays in force.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICIES_H
#define TWT_POLICIES_H

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"
#include "node/policy_rules.h"

typedef struct Policies Policies;

extern Policies *policies_open(Loop *loop, const Config *config, Node *node);

/* After the node: its answers are for us. */
extern void policies_free(Policies *policies);

/* The configuration in the database is to be read. */
extern void policies_read(Policies *policies);

/* Another configuration file; the one before must stay until this call. */
extern void policies_set_config(Policies *policies, const Config *config);

/*
 * Calls fn each time the configuration is to be read, with the control
 * connection up.  Whoever sends a statement then says so, and what became of
 * it in the end: after a PG_FAILED everything is read again a second later.
 */
extern void policies_on_reload(Policies *policies, LoopFn fn, void *arg);
extern void policies_begin_reading(Policies *policies);
extern void policies_end_reading(Policies *policies, PgOutcome outcome);

/*
 * Calls fn when new policies have come into force: types may be taken now that
 * were not before, and the other way round.
 */
extern void policies_on_change(Policies *policies, LoopFn fn, void *arg);

/*
 * Calls fn when they were read and are as they were: others may have been in
 * force in between, or somebody had them read for nothing, which anybody may.
 */
extern void policies_on_same(Policies *policies, LoopFn fn, void *arg);

/* The shortest time after which tasks of some type rise; 0: none do. */
extern int64 policies_aging_us(const Policies *policies);

/* Whether everything was read at least once. */
extern bool policies_are_read(const Policies *policies);

/*
 * Whether tasks of that type in that bucket (its number in the configuration)
 * are to be taken now: not paused, and for this node to run.  True for a type
 * that no handler runs.
 */
extern bool policies_take(Policies *policies, int bucket, const char *type);

/* How many tasks of that bucket may run here at once; -1: no limit. */
extern int	policies_bucket_max(const Policies *policies, int bucket);

/*
 * The policy in force for a type that a handler runs; the caller takes a
 * reference if it keeps it.  Cost: a look into a hash table.
 */
extern Policy *policies_of(Policies *policies, const char *type);

#endif							/* TWT_POLICIES_H */
