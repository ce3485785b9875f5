/*-------------------------------------------------------------------------
 *
 * tables.h
 *		The tables of all buckets, and how policies affect them.
 *
 *		from: feed.h (triggers)		to: table.h (table_push)
 *
 * A task that is paused, or not for this node, does not come in, and leaves
 * when a policy says so.  Tasks that wait here for a slot rise where a policy
 * lets them.  Tasks that wait in the database rise there: a sweep gets their
 * risen priority.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLES_H
#define TWT_TABLES_H

#include "base/loop.h"
#include "node/policies.h"
#include "table/table.h"

typedef struct Tables Tables;

/* One table per bucket of the configuration; the buckets stay the caller's. */
extern Tables *tables_open(Loop *loop, Policies *policies, Table **tables, int ntables);

/* After the policies. */
extern void tables_free(Tables *tables);

/* Adds a trigger; logs once each type that this node does not run. */
extern void tables_push(Tables *tables, int bucket, const Trigger *trigger);

#endif							/* TWT_TABLES_H */
