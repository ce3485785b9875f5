/*-------------------------------------------------------------------------
 *
 * listener.h
 *		Reads topics, and stores their messages as tasks.
 *
 *		from: listen_settings.h			to: share.h, workers/kafka/kafka.h
 *
 * A listener has a consumer and a session of its own, so it waits for no other
 * one.  The group gives it partitions: its shares.  A share is fetched from the
 * time when the database has told its offset.
 *
 * The consumer starts each fetch at the offset that belongs to the assignment,
 * and never seeks: nothing that was fetched for another offset can be taken for
 * a gap.  For that it assigns all its shares anew soon after one gets a position.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LISTENER_H
#define TWT_LISTENER_H

#include <jansson.h>

#include "base/loop.h"
#include "workers/kafka/listen_settings.h"

typedef struct Listener Listener;

/*
 * Begins to read; the settings stay the caller's.  Calls on_broken with
 * arg if only a new process can go on.  Returns NULL on failure, which is logged.
 */
extern Listener *listener_start(Loop *loop, const char *postgres,
								const ListenerSettings *settings, LoopFn on_broken,
								void *arg) MUSTCHECK;

/*
 * Adds a text to the list for the listener, and for each of its partitions, if no
 * message is taken there and the database does not know why.  The list ends at some
 * length.
 */
extern void listener_add_troubles(Listener *listener, json_t *list);

/*
 * Lets the calls under way end, leaves the group, and calls fn once, with arg,
 * also if that takes too long.  Nothing frees a listener but the end of the
 * process: threads of librdkafka may still work for it.
 */
extern void listener_close(Listener *listener, LoopFn fn, void *arg);

#endif							/* TWT_LISTENER_H */
