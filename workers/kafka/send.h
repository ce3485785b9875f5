/*-------------------------------------------------------------------------
 *
 * send.h
 *		One task on its way to Kafka.
 *
 *		from: sends.c			to: librdkafka
 *
 * The client takes the task's messages one by one.  A task is sent again from the
 * first message that was refused with others, so its messages keep their order: those
 * behind it may arrive once more, with their ids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SEND_H
#define TWT_SEND_H

#include <librdkafka/rdkafka.h>

#include "base/task.h"
#include "base/trace.h"
#include "workers/kafka/task_messages.h"

typedef struct Send
{
	dlist_node	node;
	struct Sends *sends;
	Task	   *task;
	int64		start_by_us;
	Trace		trace;			/* from the task's context */
	char	   *topic;			/* its own: a reload frees the settings */
	TaskMessages messages;		/* that the client has not taken */
	int			ntaken;
	int			nunanswered;	/* taken and not answered */
	int			refused;		/* the first message to be sent again; -1:
								 * none */
	bool		is_again;		/* some messages were sent before */
	bool		is_cancelled;	/* and its reply is given */
	rd_kafka_resp_err_t error;	/* the first error */
} Send;

/* Takes the task. */
extern Send *send_new(struct Sends *sends, Task *task, int64 start_by_us);
extern void send_free(Send *send);

/* Whether a client has taken a message of it. */
extern bool send_has_begun(const Send *send);

/* Gives the next message to the client. */
extern rd_kafka_resp_err_t send_produce(Send *send, rd_kafka_t * client) MUSTCHECK;

/* Notes that the message must be sent again, by its report. */
extern void send_note_refused(Send *send, const rd_kafka_message_t * report);

/* Goes back to the first message that must be sent again; false: there is none. */
extern bool send_rewind(Send *send) MUSTCHECK;

/* Whether another attempt would get the same answer. */
extern bool send_is_final(const Send *send);

#endif							/* TWT_SEND_H */
