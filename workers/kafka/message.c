/*-------------------------------------------------------------------------
 *
 * message.c
 *		A message of a topic, until its task is stored.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "workers/kafka/message.h"

static Bytes
copy(const void *bytes, size_t len)
{
	Bytes		result = {NULL, 0};

	if (bytes == NULL)
		return result;
	result.bytes = palloc(len + 1);
	memcpy(result.bytes, bytes, len);
	result.bytes[len] = '\0';
	result.len = (int) len;
	return result;
}

/* Whether the text could be the hexadecimal form of other bytes. */
static bool
is_like_hex(const char *text, size_t len)
{
	if (len < 4 || len % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return false;
	for (size_t i = 2; i < len; i++)
		if (!(text[i] >= '0' && text[i] <= '9') && !(text[i] >= 'a' && text[i] <= 'f'))
			return false;
	return true;
}

/* As twtasks.bytes_as_text(). */
static void
append_text(StringInfo out, const char *text, size_t len)
{
	appendStringInfoChar(out, '"');
	if (text_is_utf8(text, len) && !is_like_hex(text, len))
		text_escape_json(out, text, len, SIZE_MAX);
	else
	{
		appendStringInfoString(out, "\\\\x");
		for (size_t i = 0; i < len; i++)
			appendStringInfo(out, "%02x", (unsigned char) text[i]);
	}
	appendStringInfoChar(out, '"');
}

char *
message_headers_json(const rd_kafka_headers_t * headers)
{
	StringInfoData out;
	const char *name;
	const void *value;
	size_t		len;

	if (headers == NULL || rd_kafka_header_cnt(headers) == 0)
		return NULL;
	initStringInfo(&out);
	for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &len) ==
		 RD_KAFKA_RESP_ERR_NO_ERROR; i++)
	{
		appendStringInfoChar(&out, i == 0 ? '{' : ',');
		append_text(&out, name, strlen(name));
		appendStringInfoChar(&out, ':');
		if (value == NULL)
			appendStringInfoString(&out, "null");
		else
			append_text(&out, value, len);
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

Message *
message_new(const rd_kafka_message_t * from)
{
	Message    *message = palloc0(sizeof(Message));
	rd_kafka_headers_t *headers = NULL;
	rd_kafka_timestamp_type_t kind;

	(void) rd_kafka_message_headers(from, &headers);
	message->offset = from->offset;
	message->time_ms = rd_kafka_message_timestamp(from, &kind);
	message->key = copy(from->key, from->key_len);
	message->value = copy(from->payload, from->len);
	message->headers = message_headers_json(headers);
	message->size = message->key.len + message->value.len +
		(message->headers != NULL ? (int) strlen(message->headers) : 0);
	return message;
}

void
message_free(Message *message)
{
	pfree(message->key.bytes);
	pfree(message->value.bytes);
	pfree(message->headers);
	pfree(message);
}
