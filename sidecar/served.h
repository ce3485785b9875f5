/*-------------------------------------------------------------------------
 *
 * served.h
 *		The handlers of this node, their slots, and the tables of their triggers.
 *
 *		from: tables.h (table_push)			to: grab.h, execute.h (execute_take)
 *
 * A type of the configuration has a handler, and each bucket has a table of
 * triggers.  A trigger's slot counts for its type, its handler, its bucket and
 * the node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SERVED_H
#define TWT_SERVED_H

#include "config/config.h"
#include "execute/execute.h"
#include "node/policies.h"
#include "slots/type_limits.h"
#include "table/table.h"

typedef struct Served Served;

/* Opens tables and limits.  config must stay valid until served_reload(). */
extern Served *served_open(Loop *loop, const Config *config);

/* Counts the tasks of all tables; call it once, before triggers come. */
extern void served_set_metrics(Served *served, Metrics *metrics);

/*
 * Adds the handlers; call it once.  From then on limits follow the policies of
 * buckets.
 */
extern void served_add_handlers(Served *served, Policies *policies, Execute *execute);

/* Gives the same handlers the new limits and settings. */
extern void served_reload(Served *served, const Config *config);

/* Writes its gauges for /metrics; labels are the handlers'. */
extern void served_write(const Served *served, StringInfo out, char *const *labels);

/* Frees everything.  The caller has closed all runners. */
extern void served_free(Served *served);

extern Limits *served_all_limits(const Served *served);
extern TypeLimits *served_type_limits(const Served *served);

/* One table per bucket of the configuration. */
extern Table **served_tables(const Served *served);

/*
 * Callbacks for grab.h, whose argument is a Served.  served_next() returns the
 * next trigger to grab, and its table.  It hands triggers to handlers that
 * grab their tasks themselves, and goes on.
 */
extern TableEntry *served_next(void *served, Table **table);
extern bool served_is_ready(void *served);

/*
 * Sets the timer for limits that get room by time.  Call it at the end of each
 * turn.
 */
extern void served_pump(Served *served);

#endif							/* TWT_SERVED_H */
