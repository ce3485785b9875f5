/*-------------------------------------------------------------------------
 *
 * handler.h
 *		A configured handler: which types it runs, and its slots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HANDLER_H
#define TWT_HANDLER_H

#include "config.h"
#include "runner.h"
#include "slots.h"

typedef struct Handler Handler;

/* config stays the caller's; parent is the node's limit. */
extern Handler *handler_new(const HandlerConfig *config, Limit *parent);
extern void handler_free(Handler *handler);

extern const HandlerConfig *handler_config(const Handler *handler);
extern Limit *handler_limit(const Handler *handler);

/* A reload: the same handler with other figures. */
extern void handler_reload(Handler *handler, const HandlerConfig *config);

/* What execute.c keeps with it. */
extern void *handler_data(const Handler *handler);
extern void handler_set_data(Handler *handler, void *data);

/* "SEND_EMAIL" or "SEND_EMAIL, ..." for messages. */
extern const char *handler_name(const Handler *handler);

#endif							/* TWT_HANDLER_H */
