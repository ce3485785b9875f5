/*-------------------------------------------------------------------------
 *
 * log_look.h
 *		Where the log of a partition begins and ends, without waiting for it.
 *
 *		from: listener.c			to: librdkafka
 *
 * librdkafka's questions about offsets block, so a thread of its own asks them:
 * blocking.h.  The client must live until the thread of a cancelled look ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOG_LOOK_H
#define TWT_LOG_LOOK_H

#include <librdkafka/rdkafka.h>

#include "base/loop.h"
#include "workers/kafka/partition.h"

typedef struct LogLook LogLook;

/* ends: NULL on failure, with the error. */
typedef void (*LogLookFn) (void *arg, const LogEnds *ends, const char *error);

typedef struct LogLookFor
{
	Loop	   *loop;
	rd_kafka_t *client;
	const char *topic;
	int			number;
	int64		young_ms;		/* asks also for the first message at this
								 * time; below 0: does not */
} LogLookFor;

/*
 * Calls fn once, later, and then frees the look.  Returns NULL, with errno, if
 * no thread can be started.
 */
extern LogLook *log_look_start(const LogLookFor *what, LogLookFn fn, void *arg) MUSTCHECK;

/* Cancels the look, and does not call fn. */
extern void log_look_cancel(LogLook *look);

#endif							/* TWT_LOG_LOOK_H */
