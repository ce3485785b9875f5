/*-------------------------------------------------------------------------
 *
 * handler.h
 *		A configured handler: which types it runs, and its slots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HANDLER_H
#define TWT_HANDLER_H

#include "config/config.h"
#include "execute/runner.h"
#include "node/policies.h"
#include "slots/slots.h"

typedef struct Handler Handler;

/* The caller keeps config and policies.  parent is the limit of the node. */
extern Handler *handler_new(const HandlerConfig *config, Policies *policies,
							Limit *parent);
extern void handler_free(Handler *handler);

extern const HandlerConfig *handler_config(const Handler *handler);
extern Limit *handler_limit(const Handler *handler);

/* The policy in force for a type of this handler: see policies_of(). */
extern Policy *handler_policy(const Handler *handler, const char *type);

/*
 * handler_stuck_us() is the time from the start of a task until the stuck rule
 * may take it: its timeout, the grace, and a margin for the finish.
 * handler_stuck_after_grab_us() counts from the grab.  It adds a timeout and
 * the grace for each task that a worker process may run first.
 */
extern int64 handler_stuck_us(const Handler *handler, int64 timeout_us);
extern int64 handler_stuck_after_grab_us(const Handler *handler,
										 int64 timeout_us);

/*
 * Counts bytes of a task that came into memory, or left it (below 0).  Above
 * config->memory the handler has no free slot.  Call it before the slot is freed,
 * which wakes whatever waits for it.
 */
extern void handler_count_bytes(Handler *handler, int64 bytes);

/* Gives the handler new settings at a reload. */
extern void handler_reload(Handler *handler, const HandlerConfig *config);

/* Data that execute.c attaches to the handler. */
extern void *handler_data(const Handler *handler);
extern void handler_set_data(Handler *handler, void *data);

#endif							/* TWT_HANDLER_H */
