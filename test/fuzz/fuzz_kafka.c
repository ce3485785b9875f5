/*-------------------------------------------------------------------------
 *
 * fuzz_kafka.c
 *		Batches, headers and topics of Kafka, and the settings of its programs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "input.h"
#include "workers/kafka/kafka_headers.h"
#include "workers/kafka/kafka_settings.h"
#include "workers/kafka/listen_settings.h"
#include "workers/kafka/message.h"
#include "workers/kafka/task_messages.h"
#include "workers/kafka/trigger_settings.h"

/* ---- messages that are sent ---- */

static void
check_headers(const KafkaMessage *message, const Task *task, int number)
{
	static const Trace trace = {.parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
	rd_kafka_headers_t *headers = kafka_headers_make(message, task, number, &trace);
	char	   *json = message_headers_json(headers);

	must(json != NULL && is_json(json), "headers are JSON", json);
	must(strstr(json, "\"twtasks-id\":\"") != NULL, "a message has its id", json);
	pfree(json);
	rd_kafka_headers_destroy(headers);
}

static void
read_batch(char *bytes, size_t len)
{
	Task		task = {.type = "SendToKafka", .is_binary = true, .data = bytes, .data_len = len};
	TaskMessages messages;
	int			n = 0;

	strcpy(task.id_text, "0192c8f0-0000-7000-8000-000000000001");
	if (task_messages_read(&messages, &task) != NULL)
		return;
	for (; messages.nleft > 0; task_messages_skip(&messages))
	{
		must(messages.next.key.len >= 0 && messages.next.value.len >= 0, "no length is negative", "");
		check_headers(&messages.next, &task, n++);
	}
	must(n <= (int) len, "a message has bytes", "");
}

/* ---- messages that are read ---- */

/* Headers in hexadecimal and as text are never the same. */
static void
read_headers(Input *input)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(4);
	char	   *json;
	bool		has_any = false;

	while (input->left > 0)
	{
		char	   *name = input_text(input);
		size_t		len;
		char	   *value = input_bytes(input, &len);

		rd_kafka_header_add(headers, name, -1, value, (ssize_t) len);
		has_any = true;
		pfree(name);
		pfree(value);
	}
	json = message_headers_json(headers);
	must((json != NULL) == has_any, "headers that are there are told", json);
	must(json == NULL || (is_json(json) && text_is_utf8(json, strlen(json))), "headers are JSON", json);
	pfree(json);
	rd_kafka_headers_destroy(headers);
}

/* ---- settings ---- */

static void
end_fault(WorkerFault *fault, bool is_refused, const char *line)
{
	must(is_refused == (fault->reason != NULL), "settings that are refused have a reason", line);
	pfree(fault->setting);
	pfree(fault->reason);
	memset(fault, 0, sizeof(*fault));
}

static void
read_settings(const char *line)
{
	WorkerFault fault = {0};
	KafkaSettings *send = kafka_settings_new(line, &fault);
	ListenSettings *listen;
	TriggerSettings *triggers;

	end_fault(&fault, send == NULL, line);
	kafka_settings_free(send);
	listen = listen_settings_new(line, &fault);
	end_fault(&fault, listen == NULL, line);
	listen_settings_free(listen);
	triggers = trigger_settings_new(line, &fault);
	end_fault(&fault, triggers == NULL, line);
	if (triggers != NULL)
		trigger_settings_free(triggers);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	int			choice = input_choice(&input, 3);
	char	   *copy = palloc(input.left + 1);

	memcpy(copy, input.at, input.left);
	copy[input.left] = '\0';
	if (choice == 0)
		read_batch(copy, input.left);
	else if (choice == 1)
		read_headers(&input);
	else
		read_settings(copy);
	pfree(copy);
	return 0;
}
