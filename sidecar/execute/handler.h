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

/* config and policies stay the caller's; parent is the node's limit. */
extern Handler *handler_new(const HandlerConfig *config, Policies *policies,
							Limit *parent);
extern void handler_free(Handler *handler);

extern const HandlerConfig *handler_config(const Handler *handler);
extern Limit *handler_limit(const Handler *handler);

/* The policy in force for a type that it runs: policies_of(). */
extern Policy *handler_policy(const Handler *handler, const char *type);

/*
 * From when a task's time runs until the stuck rule may take the task: its
 * timeout, and what it takes to end it and to tell.  From its grab it is more
 * for a worker: one timeout in which it may wait for a process, and one for
 * each task that the process does first.
 */
extern int64 handler_stuck_us(const Handler *handler, int64 timeout_us);
extern int64 handler_stuck_after_grab_us(const Handler *handler,
										 int64 timeout_us);

/* A reload: the same handler with other figures. */
extern void handler_reload(Handler *handler, const HandlerConfig *config);

/* The data that execute.c keeps with it. */
extern void *handler_data(const Handler *handler);
extern void handler_set_data(Handler *handler, void *data);

#endif							/* TWT_HANDLER_H */
