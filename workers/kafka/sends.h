/*-------------------------------------------------------------------------
 *
 * sends.h
 *		Sends the messages of each task to Kafka.
 *
 *		from: worker_line.h			to: workers/kafka/kafka.h, replies
 *
 * A task gets its reply when the brokers have answered for all of its
 * messages: done when all are acknowledged, otherwise a retry.  An unknown
 * answer counts as a failure, so a message may be sent twice and is never
 * lost.  The header twtasks-id, with the task and the message's place in it,
 * is the same in every attempt.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SENDS_H
#define TWT_SENDS_H

#include "base/loop.h"
#include "base/task.h"
#include "workers/kafka/kafka_settings.h"

typedef struct Sends Sends;

/* Replies are appended to what replies points to. */
extern Sends *sends_new(Loop *loop, StringInfo replies);

/* Frees the tasks without replies. */
extern void sends_free(Sends *sends);

/*
 * Takes the settings.  The new client starts when the old one has its answers;
 * tasks wait meanwhile.
 */
extern void sends_set(Sends *sends, KafkaSettings *settings);

/*
 * Takes the task.  If nothing was sent by start_by_us, the reply gives it
 * back.
 */
extern void sends_start(Sends *sends, Task *task, int64 start_by_us);

/*
 * Replies at once, and sends no more of the task.  Messages that the client has
 * cannot be recalled, and the reply says so.  The task then stays in memory
 * until the brokers have answered, or message.timeout.ms is over.
 */
extern void sends_cancel(Sends *sends, const char *id, int64 version, const char *why);

#endif							/* TWT_SENDS_H */
