/*-------------------------------------------------------------------------
 *
 * tables.h
 *		The tables of all buckets, and what the policies make of them.
 *
 *		from: queue.h (triggers)		to: table.h (table_push)
 *
 * What is paused, or not for this node, does not come in, and leaves when a
 * policy says so.  What waits for a slot rises where a policy lets it; what
 * waits in the database alone rises there: a sweep gets the priority that it
 * has come to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLES_H
#define TWT_TABLES_H

#include "base/loop.h"
#include "node/policies.h"
#include "table/table.h"

typedef struct Tables Tables;

/* One per bucket of the configuration; they stay the caller's. */
extern Tables *tables_open(Loop *loop, Policies *policies, Table **tables, int ntables);

/* After the policies. */
extern void tables_free(Tables *tables);

/* A trigger came; a type that this node does not run is told about once. */
extern void tables_push(Tables *tables, int bucket, const Trigger *trigger);

#endif							/* TWT_TABLES_H */
