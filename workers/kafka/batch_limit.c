/*-------------------------------------------------------------------------
 *
 * batch_limit.c
 *		How large the client's batches are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/kafka_conf.h"
#include "workers/kafka/batch_limit.h"

void
batch_limit_read(BatchLimit *limit, const rd_kafka_conf_t * conf)
{
	char		text[32];
	size_t		len = sizeof(text);

	limit->bytes = rd_kafka_conf_get(conf, "batch.size", text, &len) == RD_KAFKA_CONF_OK ?
		(int) strtol(text, NULL, 10) : 1;
}

rd_kafka_conf_t *
batch_limit_apply(const BatchLimit *limit, const rd_kafka_conf_t * conf)
{
	rd_kafka_conf_t *copy = rd_kafka_conf_dup(conf);
	char		text[32];

	snprintf(text, sizeof(text), "%d", limit->bytes);
	kafka_conf_set(copy, "batch.size", text);
	return copy;
}

/* A message is longer than its key and its value, so it is alone if they fill a batch. */
bool
batch_limit_blames_others(const BatchLimit *limit, const rd_kafka_message_t * message)
{
	return (message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
			message->err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE) &&
		limit->bytes > 1 && message->len + message->key_len < (size_t) limit->bytes;
}

void
batch_limit_halve(BatchLimit *limit)
{
	limit->bytes = Max(limit->bytes / 2, 1);
}
