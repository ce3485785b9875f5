/*-------------------------------------------------------------------------
 *
 * listeners.h
 *		The process that makes tasks of messages: twtasks-kafka listen.
 *
 *		from: sidecar.c			to: workers/kafka/listen.c
 *
 * One helper (helper.h) runs all listeners of the configuration, with connections
 * of its own.  It starts when this node may start tasks, after the first word of
 * the database: a node that the database refuses, as in a copy, must not take
 * partitions from the nodes of the original.  A lost connection to the database
 * does not end the process, which waits for the database itself.
 *
 * A reload that changes what the process was told replaces it.  It reports its
 * troubles as lines, each the whole list.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTENERS_H
#define TWT_LISTENERS_H

#include <jansson.h>

#include "node/node.h"

typedef struct Listeners Listeners;

extern Listeners *listeners_open(Loop *loop, const Config *config, Node *node);

/* Starts or ends the process if something has changed. */
extern void listeners_pump(Listeners *listeners);

/* The next pump follows this configuration. */
extern void listeners_reload(Listeners *listeners, const Config *config);

/* The incarnation is gone: the process ends, and starts under the next one. */
extern void listeners_gone(Listeners *listeners);

/* The process ends, and none starts any more. */
extern void listeners_stop(Listeners *listeners);

/* Adds texts that say where no messages are taken, and why. */
extern void listeners_add_troubles(void *listeners, json_t *list);

/*
 * The first of these texts without what a message may have said; NULL: all is well.
 * Valid until the next turn.
 */
extern const char *listeners_first_trouble(Listeners *listeners);

/* Whether there is no process. */
extern bool listeners_are_down(const Listeners *listeners);

/* Kills the process if it still runs. */
extern void listeners_free(Listeners *listeners);

#endif							/* TWT_LISTENERS_H */
