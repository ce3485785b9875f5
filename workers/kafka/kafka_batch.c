/*-------------------------------------------------------------------------
 *
 * kafka_batch.c
 *		The messages of a task that send_to_kafka() added.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bswap.h"
#include "workers/kafka/kafka_batch.h"

static bool
take_number(KafkaBatch *batch, int *number)
{
	uint32		raw;

	if (batch->end - batch->next < (ptrdiff_t) sizeof(raw))
		return false;
	memcpy(&raw, batch->next, sizeof(raw));
	batch->next += sizeof(raw);
	*number = (int) pg_ntoh32(raw);
	return *number >= -1;
}

static bool
take_bytes(KafkaBatch *batch, KafkaBytes *bytes)
{
	int			len;

	if (!take_number(batch, &len) || len > batch->end - batch->next)
		return false;
	bytes->bytes = len < 0 ? NULL : batch->next;
	bytes->len = Max(len, 0);
	batch->next += bytes->len;
	return true;
}

bool
kafka_batch_header(KafkaBatch *headers, KafkaBytes *name, KafkaBytes *value)
{
	return take_bytes(headers, name) && take_bytes(headers, value) && name->bytes != NULL;
}

bool
kafka_batch_next(KafkaBatch *batch, KafkaMessage *message)
{
	KafkaBytes	name;
	KafkaBytes	value;

	if (!take_bytes(batch, &message->key) || !take_bytes(batch, &message->value) ||
		!take_number(batch, &message->nheaders) || message->nheaders < 0)
		return false;
	message->headers.next = batch->next;
	for (int i = 0; i < message->nheaders; i++)
		if (!kafka_batch_header(batch, &name, &value))
			return false;
	message->headers.end = batch->next;
	return true;
}

int
kafka_batch_count(KafkaBatch batch)
{
	KafkaMessage message;
	int			n = 0;

	while (batch.next < batch.end)
	{
		if (!kafka_batch_next(&batch, &message))
			return -1;
		n++;
	}
	return n;
}
