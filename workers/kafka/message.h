/*-------------------------------------------------------------------------
 *
 * message.h
 *		A message of a topic, until its task is stored.
 *
 *		from: listener.c			to: partition.h, take.h
 *
 * The database decodes a message.  Here it is bytes, and its headers are an
 * object of texts in JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MESSAGE_H
#define TWT_MESSAGE_H

#include <librdkafka/rdkafka.h>

#include "base/port.h"

typedef struct Bytes
{
	char	   *bytes;			/* NULL: Kafka's null */
	int			len;
} Bytes;

typedef struct Message
{
	dlist_node	node;
	int64		offset;
	int64		time_ms;		/* since 1970; -1: not known */
	Bytes		key;
	Bytes		value;
	char	   *headers;		/* NULL: none */
	int			size;			/* bytes of all parts */
} Message;

/* Copies the message. */
extern Message *message_new(const rd_kafka_message_t * from);
extern void message_free(Message *message);

/*
 * Returns the headers as JSON, palloc'd; NULL for none.  A name or a value that is not
 * text in UTF-8 is there in hexadecimal, so different bytes give different texts: a
 * header may be the key of a task.
 */
extern char *message_headers_json(const rd_kafka_headers_t * headers);

#endif							/* TWT_MESSAGE_H */
