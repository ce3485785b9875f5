/*-------------------------------------------------------------------------
 *
 * sends.c
 *		Sends the messages of each task to Kafka.
 *
 * A task waits until the client takes its first message, and again where the
 * client's queue is full.  librdkafka keeps no copy of a message, so a task lives
 * until the last delivery report.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "workers/kafka/kafka.h"
#include "workers/kafka/batch_limit.h"
#include "workers/kafka/send.h"
#include "workers/kafka/sends.h"
#include "workers/lib/worker_reply.h"

/* Delays before a client that follows others which all failed. */
#define BACKOFF_MIN_US SECONDS_TO_US(1)
#define BACKOFF_MAX_US SECONDS_TO_US(60)

struct Sends
{
	Loop	   *loop;
	StringInfo	replies;
	KafkaSettings *settings;
	Kafka	   *client;			/* NULL: tasks fail until there is one */
	char	   *trouble;		/* why there is none, or soon; NULL: none */
	LoopTimer  *timer;			/* when the next client is made */
	int64		backoff_us;		/* 0: at once, since the last one worked */
	bool		is_renewing;	/* until the old client has its answers */
	BatchLimit	limit;			/* the client has it */
	BatchLimit	next_limit;		/* the next client gets it */
	bool		is_down;		/* no broker lets us in, as the log says */
	char	   *refusal;		/* why a broker does not; NULL: it does */
	dlist_head	waiting;		/* tasks until the client takes more, oldest
								 * first */
	dlist_head	sent;			/* tasks that wait only for delivery reports,
								 * cancelled ones too */
};

/* ---- replies ---- */

static void
end_send(Send *send)
{
	dlist_delete(&send->node);
	send_free(send);
}

static void
reply(Send *send, TaskResult result, const char *message)
{
	Verdict		verdict = {result, TASK_DELAY_BY_POLICY, message};

	worker_reply(send->sends->replies, send->task, &verdict);
	loop_want_turn(send->sends->loop);
}

static void
report_text(Send *send, TaskResult result, const char *message)
{
	reply(send, result, message);
	end_send(send);
}

/* A client that failed, or that no broker lets in, gets no answer to its messages. */
static const char *
reason_of(const Send *send)
{
	if (send->error == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
		send->error == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
		return send->sends->trouble;
	if (send->error == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT && send->sends->refusal != NULL)
		return send->sends->refusal;
	return rd_kafka_err2str(send->error);
}

static void
report_answer(Send *send)
{
	char	   *message;

	if (send->error == RD_KAFKA_RESP_ERR_NO_ERROR)
	{
		report_text(send, TASK_DONE, NULL);
		return;
	}
	message = psprintf("could not send to topic \"%s\": %s", send->topic, reason_of(send));
	report_text(send, send_is_final(send) ? TASK_ERROR : TASK_FAILURE, message);
	pfree(message);
}

/* ---- messages ---- */

static void
set_trouble(Sends *sends, char *trouble)
{
	pfree(sends->trouble);
	sends->trouble = trouble;
}

/*
 * A client with a fatal error, or without a thread, sends nothing more.  It is
 * replaced when the purge has answered all of its messages.
 */
static void
on_failed(Sends *sends, const char *text)
{
	char		reason[512];

	if (sends->trouble != NULL)
		return;
	if (rd_kafka_fatal_error(kafka_handle(sends->client), reason, sizeof(reason)) == RD_KAFKA_RESP_ERR_NO_ERROR)
		strlcpy(reason, text, sizeof(reason));
	set_trouble(sends, psprintf("the Kafka client failed: %s", reason));
	fprintf(stderr, "%s\n", sends->trouble);
	rd_kafka_purge(kafka_handle(sends->client),
				   RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	sends->is_renewing = true;
	loop_want_turn(sends->loop);
}

/* Gives the client as many messages as it takes; false: more have to wait. */
static bool
send_rest(Send *send)
{
	while (send->messages.nleft > 0 && send->error == RD_KAFKA_RESP_ERR_NO_ERROR)
	{
		rd_kafka_resp_err_t error = send_produce(send, kafka_handle(send->sends->client));

		if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return false;
		if (error == RD_KAFKA_RESP_ERR__FATAL)
		{
			on_failed(send->sends, "");
			return false;
		}
		send->error = error;
		if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
			break;
	}
	return true;
}

/* Gives the task back if it is late and not begun, or if there is no client. */
static bool
give_back(Send *send)
{
	bool		is_late = loop_now_us(send->sends->loop) >= send->start_by_us;

	if (is_late && !send_has_begun(send))
		report_text(send, TASK_RELEASE, NULL);
	else if (send->sends->client == NULL)
		report_text(send, TASK_FAILURE, send->sends->trouble);
	else
		return false;
	return true;
}

static void
send_waiting(Sends *sends)
{
	while (!dlist_is_empty(&sends->waiting))
	{
		Send	   *send = dlist_head_element(Send, node, &sends->waiting);

		if (give_back(send))
			continue;
		if (!send_rest(send))
			break;
		if (send->nunanswered == 0)
		{
			report_answer(send);
			continue;
		}
		dlist_delete(&send->node);
		dlist_push_tail(&sends->sent, &send->node);
	}
}

/* ---- the client ---- */

static bool
has_unanswered(Sends *sends)
{
	return !dlist_is_empty(&sends->sent) ||
		(!dlist_is_empty(&sends->waiting) &&
		 dlist_head_element(Send, node, &sends->waiting)->nunanswered > 0);
}

static void
forget_refusal(Sends *sends)
{
	sends->is_down = false;
	pfree(sends->refusal);
	sends->refusal = NULL;
}

/* All messages of the task that the client had are answered. */
static void
end_round(Send *send)
{
	if (send->is_cancelled)
		end_send(send);
	else if (send->error == RD_KAFKA_RESP_ERR_NO_ERROR && send_rewind(send))
	{
		dlist_delete(&send->node);
		dlist_push_tail(&send->sends->waiting, &send->node);
	}
	else if (send->messages.nleft == 0 || send->error != RD_KAFKA_RESP_ERR_NO_ERROR)
		report_answer(send);
}

/*
 * The broker refused the batch, not the message.  A client with smaller batches
 * follows, and sends the task again from the first refused message on.  Messages that
 * were not sent yet wait for it: they would overtake that one.
 */
static void
send_smaller(Send *send, const rd_kafka_message_t * message)
{
	Sends	   *sends = send->sends;

	send_note_refused(send, message);
	sends->backoff_us = 0;
	if (sends->is_renewing)
		return;
	batch_limit_halve(&sends->next_limit);
	fprintf(stderr, "topic \"%s\" refused a batch for its size: batches have up to %d bytes now\n",
			send->topic, sends->next_limit.bytes);
	rd_kafka_purge(kafka_handle(sends->client), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_NON_BLOCKING);
	sends->is_renewing = true;
}

/* A client that failed has a trouble, and its tasks fail. */
static bool
is_to_wait(const Sends *sends, const rd_kafka_message_t * message)
{
	return sends->is_renewing && sends->trouble == NULL &&
		message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE;
}

static void
on_delivery(Sends *sends, rd_kafka_event_t * event)
{
	const		rd_kafka_message_t *message;

	while ((message = rd_kafka_event_message_next(event)) != NULL)
	{
		Send	   *send = message->_private;

		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		{
			sends->backoff_us = 0;
			forget_refusal(sends);
		}
		else if (is_to_wait(sends, message) || batch_limit_blames_others(&sends->limit, message))
			send_smaller(send, message);
		else if (send->error == RD_KAFKA_RESP_ERR_NO_ERROR)
			send->error = message->err;
		if (--send->nunanswered == 0)
			end_round(send);
	}
	loop_want_turn(sends->loop);
}

static void
on_error(Sends *sends, rd_kafka_event_t * event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	bool		is_refusal = error == RD_KAFKA_RESP_ERR__AUTHENTICATION || error == RD_KAFKA_RESP_ERR__SSL;

	if (kafka_has_failed(sends->client))
		on_failed(sends, rd_kafka_event_error_string(event));
	if (is_refusal)
	{
		pfree(sends->refusal);
		sends->refusal = pstrdup(rd_kafka_event_error_string(event));
	}
	if (sends->is_down || (!is_refusal && error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN))
		return;
	sends->is_down = true;
	fprintf(stderr, "%s\n", rd_kafka_event_error_string(event));
}

static void
on_event(void *arg, rd_kafka_event_t * event)
{
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR)
		on_delivery(arg, event);
	else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
		on_error(arg, event);
}

static void
drop_client(Sends *sends)
{
	if (sends->client != NULL)
		kafka_free(sends->client);
	sends->client = NULL;
}

/* Tasks fail until then. */
static void
make_client_later(Sends *sends)
{
	loop_timer_start(sends->timer, chance_delay(sends->backoff_us));
	sends->backoff_us = Min(sends->backoff_us * 2, BACKOFF_MAX_US);
}

static void
make_client(Sends *sends)
{
	loop_timer_stop(sends->timer);
	set_trouble(sends, NULL);
	sends->client = kafka_producer_new(sends->loop, batch_limit_apply(&sends->limit, sends->settings->conf),
									   &sends->trouble);
	if (sends->client != NULL)
		kafka_on_event(sends->client, on_event, sends);
	sends->backoff_us = Max(sends->backoff_us, BACKOFF_MIN_US);
	if (sends->client == NULL)
		make_client_later(sends);
}

static void
on_timer(void *arg)
{
	Sends	   *sends = arg;

	if (!sends->is_renewing)
		make_client(sends);
	loop_want_turn(sends->loop);
}

/* A client that never worked must not follow another one at full speed. */
static void
renew(Sends *sends)
{
	sends->is_renewing = false;
	sends->limit = sends->next_limit;
	drop_client(sends);
	forget_refusal(sends);
	if (sends->backoff_us == 0)
		make_client(sends);
	else
		make_client_later(sends);
}

static void
on_turn(void *arg)
{
	Sends	   *sends = arg;

	if (sends->is_renewing && !has_unanswered(sends))
		renew(sends);
	if (!sends->is_renewing)
		send_waiting(sends);
}

/* ---- tasks ---- */

/* The answer must not come before the end of the turn. */
void
sends_start(Sends *sends, Task *task, int64 start_by_us)
{
	Send	   *send = send_new(sends, task, start_by_us);
	const char *fault;

	dlist_push_tail(&sends->waiting, &send->node);
	fault = kafka_settings_topic(sends->settings, task->sub_type, &send->topic);
	if (fault == NULL)
		fault = task_messages_read(&send->messages, task);
	if (fault != NULL)
		report_text(send, TASK_ERROR, fault);
	loop_want_turn(sends->loop);
}

static Send *
find_send(dlist_head *list, const char *id, int64 version)
{
	dlist_iter	iter;

	dlist_foreach(iter, list)
	{
		Send	   *send = dlist_container(Send, node, iter.cur);

		if (!send->is_cancelled && send->task->version == version &&
			strcmp(send->task->id_text, id) == 0)
			return send;
	}
	return NULL;
}

/*
 * Without a reply in time, the sidecar would end this process, with all other
 * tasks.
 */
static void
cancel_taken(Send *send, const char *why)
{
	char	   *message = psprintf("%s; its messages may have been sent", why);

	reply(send, TASK_CANCELLED, message);
	pfree(message);
	if (send->nunanswered == 0)
	{
		end_send(send);
		return;
	}
	send->is_cancelled = true;
	dlist_delete(&send->node);
	dlist_push_tail(&send->sends->sent, &send->node);
}

void
sends_cancel(Sends *sends, const char *id, int64 version, const char *why)
{
	Send	   *send = find_send(&sends->waiting, id, version);

	if (send == NULL)
		send = find_send(&sends->sent, id, version);
	if (send == NULL)
		return;
	if (send_has_begun(send))
		cancel_taken(send, why);
	else
		report_text(send, TASK_CANCELLED, why);
}

/* ---- the whole ---- */

Sends *
sends_new(Loop *loop, StringInfo replies)
{
	Sends	   *sends = palloc0(sizeof(Sends));

	sends->loop = loop;
	sends->replies = replies;
	dlist_init(&sends->waiting);
	dlist_init(&sends->sent);
	sends->timer = loop_timer_new(loop, on_timer, sends);
	loop_on_turn(loop, on_turn, sends);
	return sends;
}

void
sends_set(Sends *sends, KafkaSettings *settings)
{
	kafka_settings_free(sends->settings);
	sends->settings = settings;
	batch_limit_read(&sends->next_limit, settings->conf);
	sends->backoff_us = 0;
	sends->is_renewing = true;
	loop_want_turn(sends->loop);
}

static void
forget_all(dlist_head *list)
{
	while (!dlist_is_empty(list))
		send_free(dlist_container(Send, node, dlist_pop_head_node(list)));
}

void
sends_free(Sends *sends)
{
	loop_off_turn(sends->loop, on_turn, sends);
	loop_timer_free(sends->timer);
	drop_client(sends);
	forget_all(&sends->waiting);
	forget_all(&sends->sent);
	kafka_settings_free(sends->settings);
	pfree(sends->trouble);
	pfree(sends->refusal);
	loop_defer_free(sends->loop, sends);
}
