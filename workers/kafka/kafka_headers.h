/*-------------------------------------------------------------------------
 *
 * kafka_headers.h
 *		The headers of a message.
 *
 *		from: sends.c			to: librdkafka
 *
 *	 the message's own		as send_to_kafka() got them
 *	 twtasks-id				the task's id, a colon, and the message's number in
 *							the task, from 0; the message's own one is dropped
 *	 traceparent, tracestate, X-Request-Id
 *							from the task's context, where they are there and
 *							fit; a message's own traceparent or X-Request-Id wins
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_HEADERS_H
#define TWT_KAFKA_HEADERS_H

#include <librdkafka/rdkafka.h>

#include "base/task.h"
#include "base/trace.h"
#include "workers/kafka/kafka_batch.h"

/* Returns a list, which belongs to the client that takes the message. */
extern rd_kafka_headers_t * kafka_headers_make(const KafkaMessage *message, const Task *task,
											   int number, const Trace *trace);

/* Returns the number in the task of a message that was sent, by its header. */
extern int	kafka_headers_number(const rd_kafka_message_t * message);

#endif							/* TWT_KAFKA_HEADERS_H */
