/*-------------------------------------------------------------------------
 *
 * kafka.h
 *		A client of Kafka on the event loop.
 *
 *		from: kafka_conf.h			to: librdkafka
 *
 * librdkafka works in threads of its own, which call none of our functions.
 * Each delivery report, message or error is an event in one queue, and an
 * eventfd wakes the loop for it.  Without a client there is neither a thread
 * nor a socket.
 *
 * A consumer is a member of a group, which shares out the partitions of its
 * topics.  Each change of the shares is an event.  The shares change only when
 * each member concerned has answered.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_H
#define TWT_KAFKA_H

#include <librdkafka/rdkafka.h>

#include "base/loop.h"

typedef struct Kafka Kafka;

/* The event is valid only during the call, which must not free the client. */
typedef void (*KafkaEventFn) (void *arg, rd_kafka_event_t * event);

/*
 * Takes conf, in which the caller must not enable events.  Returns NULL on
 * failure, with a palloc'd reason.
 */
extern Kafka *kafka_producer_new(Loop *loop, rd_kafka_conf_t * conf, char **reason) MUSTCHECK;

/*
 * Like kafka_producer_new(), for a consumer.  conf has the group, and which
 * offsets are stored and committed.  The caller subscribes with the handle.
 */
extern Kafka *kafka_consumer_new(Loop *loop, rd_kafka_conf_t * conf, char **reason) MUSTCHECK;

/*
 * Calls fn for errors and delivery reports, or for errors, messages, rebalances
 * and answers to commits.
 */
extern void kafka_on_event(Kafka *kafka, KafkaEventFn fn, void *arg);

/* Returns the handle, for calls of librdkafka that do not block. */
extern rd_kafka_t * kafka_handle(Kafka *kafka);

/*
 * Whether the client had a fatal error, whose event may have any code, or lacks a
 * thread.  It has to be replaced.
 */
extern bool kafka_has_failed(Kafka *kafka);

/*
 * Answers a rebalance, in the event's call or later, cooperatively or eagerly
 * as the group does.  partitions come from the event, or are a copy in
 * which the caller may set offsets to start at.  False, with a palloc'd reason:
 * a consumer that assigns eagerly now has no partitions until the next rebalance, and a
 * cooperative one is to be freed.
 */
extern bool kafka_assign(Kafka *kafka, const rd_kafka_topic_partition_list_t * partitions,
						 char **reason) MUSTCHECK;
extern bool kafka_unassign(Kafka *kafka, const rd_kafka_topic_partition_list_t * partitions,
						   char **reason) MUSTCHECK;

/*
 * Answers a rebalance event whose partitions start at their committed offsets.
 * An event of an error, neither an assignment nor a revocation, gives up all
 * partitions.
 */
extern bool kafka_rebalance(Kafka *kafka, rd_kafka_event_t * event, char **reason) MUSTCHECK;

/*
 * Lets a consumer commit its stored offsets and leave its group, so that the
 * others take its partitions at once.  No more events are passed on.  Calls fn
 * once, at the end or after timeout_us, from the loop; fn may free the client.
 */
extern void kafka_close(Kafka *kafka, int64 timeout_us, LoopFn fn, void *arg);

/*
 * Ends the threads.  Messages without a delivery report may or may not be sent.
 * A consumer that is not closed leaves its group only when its session expires.
 */
extern void kafka_free(Kafka *kafka);

#endif							/* TWT_KAFKA_H */
