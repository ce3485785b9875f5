/*-------------------------------------------------------------------------
 *
 * task_messages.c
 *		The messages that a task consists of.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/task_messages.h"

/* The type of the tasks that send_to_kafka() adds. */
#define BATCH_TYPE "SendToKafka"

static void
read_one(TaskMessages *messages, const Task *task)
{
	messages->next.key.bytes = task->key;
	messages->next.key.len = task->key == NULL ? 0 : (int) strlen(task->key);
	messages->next.value.bytes = task->data;
	messages->next.value.len = task->data_len;
	messages->nleft = 1;
}

const char *
task_messages_read(TaskMessages *messages, const Task *task)
{
	if (strcmp(task->type, BATCH_TYPE) != 0)
	{
		read_one(messages, task);
		return NULL;
	}
	if (task->data == NULL || !task->is_binary)
		return "the task was not added by send_to_kafka()";
	messages->rest.next = task->data;
	messages->rest.end = task->data + task->data_len;
	messages->nleft = kafka_batch_count(messages->rest);
	if (messages->nleft < 0)
		return "the task was not added by send_to_kafka()";
	(void) kafka_batch_next(&messages->rest, &messages->next);
	return NULL;
}

void
task_messages_skip(TaskMessages *messages)
{
	if (--messages->nleft > 0)
		(void) kafka_batch_next(&messages->rest, &messages->next);
}
