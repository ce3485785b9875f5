/*-------------------------------------------------------------------------
 *
 * forward.c
 *		Triggers that pass through Kafka, from nodes without a free slot.
 *
 * A failed delivery brings its trigger back.  Then no trigger is forwarded for
 * a while, so that few of them wait for brokers that are away.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "kafka/kafka.h"
#include "queue/forward.h"
#include "queue/forward_conf.h"
#include "queue/forwarded.h"

#define PAUSE_US SECONDS_TO_US(5)

struct Forward
{
	Loop	   *loop;
	Tables	   *tables;
	Kafka	   *producer;		/* NULL: it could not be made */
	rd_kafka_topic_t **topics;	/* one per bucket */
	int			nbuckets;
	int64		paused_until_us;
	bool		is_failing;		/* and that is logged */
	Forwarded  *forwarded;
};

static void
pause_forwarding(Forward *forward, const rd_kafka_topic_t * topic, rd_kafka_resp_err_t error)
{
	forward->paused_until_us = loop_now_us(forward->loop) + PAUSE_US;
	if (!forward->is_failing)
		log_line(TWT_LOG_WARN, "kafka", "triggers stay on this node: could not send to topic \"%s\": %s",
				 rd_kafka_topic_name(topic), rd_kafka_err2str(error));
	forward->is_failing = true;
}

static void
note_success(Forward *forward)
{
	if (forward->is_failing)
		log_line(TWT_LOG_INFO, "kafka", "triggers pass through Kafka again");
	forward->is_failing = false;
}

static void
take_back(Forward *forward, const rd_kafka_message_t * message)
{
	Trigger		trigger;

	pause_forwarding(forward, message->rkt, message->err);
	if (trigger_decode(message->payload, message->len, &trigger))
		tables_push(forward->tables, (int) (intptr_t) message->_private, &trigger);
}

/*
 * No error is fatal to a producer that is neither idempotent nor transactional,
 * and the settings can make it neither.
 */
static void
on_event(void *arg, rd_kafka_event_t * event)
{
	Forward    *forward = arg;
	const		rd_kafka_message_t *message;

	if (rd_kafka_event_type(event) != RD_KAFKA_EVENT_DR)
		return;
	while ((message = rd_kafka_event_message_next(event)) != NULL)
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			note_success(forward);
		else
			take_back(forward, message);
}

/* False: the client's queue is full, or it knows that the topic is missing. */
static bool
produce(Forward *forward, int bucket, const Trigger *trigger)
{
	rd_kafka_topic_t *topic = forward->topics[bucket];
	char		text[TRIGGER_TEXT_MAX];
	size_t		len = trigger_encode(trigger, text);

	if (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, text, len,
						 NULL, 0, (void *) (intptr_t) bucket) == 0)
		return true;
	if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
		pause_forwarding(forward, topic, rd_kafka_last_error());
	return false;
}

static bool
may_forward(const Forward *forward)
{
	return forward->producer != NULL &&
		loop_now_us(forward->loop) >= forward->paused_until_us;
}

void
forward_trigger(Forward *forward, int bucket, const Trigger *trigger)
{
	if (tables_can_start(forward->tables, bucket, trigger) || !may_forward(forward) ||
		!produce(forward, bucket, trigger))
		tables_push(forward->tables, bucket, trigger);
}

static void
open_producer(Forward *forward, const Config *config)
{
	char	   *reason;
	rd_kafka_conf_t *conf = forward_producer_conf(&config->kafka, &reason);

	if (conf != NULL)
		forward->producer = kafka_producer_new(forward->loop, conf, &reason);
	if (forward->producer == NULL)
	{
		log_line(TWT_LOG_ERROR, "kafka", "triggers stay on this node until it starts again: %s", reason);
		pfree(reason);
		return;
	}
	kafka_on_event(forward->producer, on_event, forward);
	for (int i = 0; i < config->nbuckets; i++)
	{
		char	   *name = forward_topic(&config->kafka, "", config->buckets[i]);

		forward->topics[i] = rd_kafka_topic_new(kafka_handle(forward->producer), name, NULL);
		pfree(name);
	}
}

Forward *
forward_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep)
{
	Forward    *forward = palloc0(sizeof(Forward));

	forward->loop = loop;
	forward->tables = tables;
	forward->nbuckets = config->nbuckets;
	forward->topics = palloc0(config->nbuckets * sizeof(rd_kafka_topic_t *));
	open_producer(forward, config);
	forward->forwarded = forwarded_open(loop, config, tables, sweep);
	return forward;
}

void
forward_leave(Forward *forward)
{
	forward->paused_until_us = PG_INT64_MAX;
	forwarded_leave(forward->forwarded);
}

bool
forward_has_left(const Forward *forward)
{
	return forwarded_has_left(forward->forwarded);
}

void
forward_free(Forward *forward)
{
	forwarded_free(forward->forwarded);
	for (int i = 0; forward->producer != NULL && i < forward->nbuckets; i++)
		rd_kafka_topic_destroy(forward->topics[i]);
	if (forward->producer != NULL)
		kafka_free(forward->producer);
	pfree(forward->topics);
	pfree(forward);
}
