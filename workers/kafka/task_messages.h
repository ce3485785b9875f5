/*-------------------------------------------------------------------------
 *
 * task_messages.h
 *		The messages that a task consists of.
 *
 *		from: a task			to: sends.c
 *
 * A task that send_to_kafka() added has a batch of messages as its payload.
 * Any other task is one message, whose value is the task's data.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_MESSAGES_H
#define TWT_TASK_MESSAGES_H

#include "base/task.h"
#include "workers/kafka/kafka_batch.h"

/* Valid as long as the task. */
typedef struct TaskMessages
{
	KafkaMessage next;			/* if any are left */
	KafkaBatch	rest;			/* the batch after it */
	int			nleft;			/* with the next one */
} TaskMessages;

/* Goes to the task's first message.  Returns the fault of its data; NULL: none. */
extern const char *task_messages_read(TaskMessages *messages, const Task *task) MUSTCHECK;

/* Goes to the message after the next one. */
extern void task_messages_skip(TaskMessages *messages);

#endif							/* TWT_TASK_MESSAGES_H */
