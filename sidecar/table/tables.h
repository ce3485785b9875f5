/*-------------------------------------------------------------------------
 *
 * tables.h
 *		The tables of all buckets, and how policies affect them.
 *
 *		from: feed.h (triggers)		to: table.h (table_push)
 *
 * A task that is paused or not for this node is not added, and is removed when
 * a policy changes.  Tasks that wait here for a slot rise in priority if their
 * policy says so.  Tasks that wait in the database rise there: a sweep reads
 * their risen priority.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLES_H
#define TWT_TABLES_H

#include "base/loop.h"
#include "node/policies.h"
#include "table/table.h"

typedef struct Tables Tables;

/*
 * Opens with one table per bucket of the configuration.  The caller keeps the
 * tables.
 */
extern Tables *tables_open(Loop *loop, Policies *policies, Table **tables, int ntables);

/* Call it after policies_free(). */
extern void tables_free(Tables *tables);

/* Adds a trigger; logs once each type that this node does not run. */
extern void tables_push(Tables *tables, int bucket, const Trigger *trigger);

/* Guesses whether the trigger's task could start on this node at once: table.h. */
extern bool tables_can_start(Tables *tables, int bucket, const Trigger *trigger);

#endif							/* TWT_TABLES_H */
