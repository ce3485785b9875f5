/*-------------------------------------------------------------------------
 *
 * send.c
 *		One task on its way to Kafka.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/kafka_headers.h"
#include "workers/kafka/send.h"
#include "workers/lib/task_line.h"

Send *
send_new(struct Sends *sends, Task *task, int64 start_by_us)
{
	Send	   *send = palloc0(sizeof(Send));

	send->sends = sends;
	send->task = task;
	send->start_by_us = start_by_us;
	send->refused = -1;
	trace_init(&send->trace, task->context);
	return send;
}

void
send_free(Send *send)
{
	trace_clear(&send->trace);
	task_line_free(send->task);
	pfree(send->topic);
	pfree(send);
}

bool
send_has_begun(const Send *send)
{
	return send->is_again || send->ntaken > 0;
}

rd_kafka_resp_err_t
send_produce(Send *send, rd_kafka_t * client)
{
	const KafkaMessage *message = &send->messages.next;
	rd_kafka_headers_t *headers = kafka_headers_make(message, send->task, send->ntaken, &send->trace);
	rd_kafka_resp_err_t error =
		rd_kafka_producev(client,
						  RD_KAFKA_V_TOPIC(send->topic),
						  RD_KAFKA_V_KEY(message->key.bytes, message->key.len),
						  RD_KAFKA_V_VALUE(unconstify(char *, message->value.bytes),
										   message->value.len),
						  RD_KAFKA_V_HEADERS(headers),
						  RD_KAFKA_V_OPAQUE(send),
						  RD_KAFKA_V_END);

	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
	{
		rd_kafka_headers_destroy(headers);
		return error;
	}
	send->ntaken++;
	send->nunanswered++;
	task_messages_skip(&send->messages);
	return error;
}

void
send_note_refused(Send *send, const rd_kafka_message_t * report)
{
	int			number = kafka_headers_number(report);

	if (send->refused < 0 || number < send->refused)
		send->refused = number;
}

bool
send_rewind(Send *send)
{
	int			first = send->refused;

	if (first < 0 || task_messages_read(&send->messages, send->task) != NULL)
		return false;
	for (send->ntaken = 0; send->ntaken < first; send->ntaken++)
		task_messages_skip(&send->messages);
	send->refused = -1;
	send->is_again = true;
	return true;
}

bool
send_is_final(const Send *send)
{
	return send->error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
		send->error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
		send->error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}
