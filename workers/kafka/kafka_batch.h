/*-------------------------------------------------------------------------
 *
 * kafka_batch.h
 *		The messages of a task that send_to_kafka() added.
 *
 *		from: sql/add/send_to_kafka.sql			to: sends.c
 *
 * Each message is a key, a value, a number of headers, and for each header a
 * name and a value.  A text is its length and its bytes; -1 stands for NULL.
 * Numbers have 4 bytes, the highest first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_KAFKA_BATCH_H
#define TWT_KAFKA_BATCH_H

/* Bytes of the batch; NULL and 0 for NULL. */
typedef struct KafkaBytes
{
	const char *bytes;
	int			len;
} KafkaBytes;

/* The rest of a batch. */
typedef struct KafkaBatch
{
	const char *next;
	const char *end;
} KafkaBatch;

/* Valid as long as the batch. */
typedef struct KafkaMessage
{
	KafkaBytes	key;
	KafkaBytes	value;
	int			nheaders;
	KafkaBatch	headers;
} KafkaMessage;

/* Returns the number of messages; -1: the bytes are not a batch. */
extern int	kafka_batch_count(KafkaBatch batch);

/* Reads the next message; false: there is none, or the rest is not a batch. */
extern bool kafka_batch_next(KafkaBatch *batch, KafkaMessage *message);

/* Reads the next header of a message; the name has no NUL at its end. */
extern bool kafka_batch_header(KafkaBatch *headers, KafkaBytes *name, KafkaBytes *value);

#endif							/* TWT_KAFKA_BATCH_H */
