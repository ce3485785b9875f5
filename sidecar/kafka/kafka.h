/*-------------------------------------------------------------------------
 *
 * kafka.h
 *		A client of Kafka on the event loop.
 *
 *		from: kafka_conf.h			to: librdkafka
 *
 * librdkafka works in threads of its own, which call none of our functions.
 * Each delivery report or error is an event in one queue, and an eventfd wakes
 * the loop for it.  Without a client there is neither a thread nor a socket.
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

/* Calls fn for delivery reports and errors. */
extern void kafka_on_event(Kafka *kafka, KafkaEventFn fn, void *arg);

/* Returns the handle, for calls of librdkafka that do not block. */
extern rd_kafka_t * kafka_handle(Kafka *kafka);

/* Ends the threads.  Messages without a delivery report may or may not be sent. */
extern void kafka_free(Kafka *kafka);

#endif							/* TWT_KAFKA_H */
