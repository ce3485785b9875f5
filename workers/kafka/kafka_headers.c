/*-------------------------------------------------------------------------
 *
 * kafka_headers.c
 *		The headers of a message.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/kafka_headers.h"

/* Our headers: twtasks-id and the three of the trace. */
#define NHEADERS 4

static bool
has(const rd_kafka_headers_t * headers, const char *name)
{
	const void *value;
	size_t		len;

	return rd_kafka_header_get_last(headers, name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
add(rd_kafka_headers_t * headers, const char *name, const char *value)
{
	if (value != NULL)
		rd_kafka_header_add(headers, name, -1, value, -1);
}

/* A tracestate belongs to its traceparent. */
static void
add_trace(rd_kafka_headers_t * headers, const Trace *trace)
{
	if (!has(headers, "traceparent"))
	{
		add(headers, "traceparent", trace->parent);
		add(headers, "tracestate", trace->state);
	}
	if (!has(headers, "X-Request-Id"))
		add(headers, "X-Request-Id", trace->request_id);
}

rd_kafka_headers_t *
kafka_headers_make(const KafkaMessage *message, const Task *task, int number, const Trace *trace)
{
	KafkaBatch	rest = message->headers;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(message->nheaders + NHEADERS);
	char		id[TASK_ID_TEXT + 16];
	KafkaBytes	name;
	KafkaBytes	value;

	while (kafka_batch_header(&rest, &name, &value))
		rd_kafka_header_add(headers, name.bytes, name.len, value.bytes, value.len);
	snprintf(id, sizeof(id), "%s:%d", task->id_text, number);
	(void) rd_kafka_header_remove(headers, "twtasks-id");
	add(headers, "twtasks-id", id);
	add_trace(headers, trace);
	return headers;
}

/* The header's value, as librdkafka keeps it, ends in a NUL. */
int
kafka_headers_number(const rd_kafka_message_t * message)
{
	rd_kafka_headers_t *headers;
	const void *id;
	const char *colon;
	size_t		len;

	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
		rd_kafka_header_get_last(headers, "twtasks-id", &id, &len) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	colon = strchr(id, ':');
	return colon == NULL ? 0 : (int) strtol(colon + 1, NULL, 10);
}
