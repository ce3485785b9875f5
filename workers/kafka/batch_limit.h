/*-------------------------------------------------------------------------
 *
 * batch_limit.h
 *		How large the client's batches are.
 *
 *		from: sends.c			to: librdkafka
 *
 * A topic limits its batches, and no client knows that limit.  A broker that refuses
 * a batch for its size refuses all of its messages, so smaller batches follow, down to
 * single messages.  Only a message that was alone in its batch is too large itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BATCH_LIMIT_H
#define TWT_BATCH_LIMIT_H

#include <librdkafka/rdkafka.h>

typedef struct BatchLimit
{
	int			bytes;			/* a longer message is alone in its batch */
} BatchLimit;

extern void batch_limit_read(BatchLimit *limit, const rd_kafka_conf_t * conf);

/* Returns a copy of the settings with this limit. */
extern rd_kafka_conf_t * batch_limit_apply(const BatchLimit *limit, const rd_kafka_conf_t * conf) MUSTCHECK;

/* Whether the message was refused for the size of a batch in which others may be. */
extern bool batch_limit_blames_others(const BatchLimit *limit, const rd_kafka_message_t * message);

extern void batch_limit_halve(BatchLimit *limit);

#endif							/* TWT_BATCH_LIMIT_H */
