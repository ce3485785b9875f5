/*-------------------------------------------------------------------------
 *
 * forwarded.c
 *		Triggers that other nodes handed on through Kafka.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "base/log.h"
#include "base/map.h"
#include "table/names.h"
#include "kafka/kafka.h"
#include "queue/forward_conf.h"
#include "queue/forwarded.h"

/* The time that brokers have to let this node leave its group. */
#define LEAVE_US SECONDS_TO_US(2)

/* Delays before a client that follows others which all failed. */
#define BACKOFF_MIN_US SECONDS_TO_US(1)
#define BACKOFF_MAX_US SECONDS_TO_US(60)

/* We log this many different troubles, each once. */
#define TROUBLES_MAX 100

struct Forwarded
{
	Loop	   *loop;
	const Config *config;
	Tables	   *tables;
	Sweep	   *sweep;
	Kafka	   *consumer;		/* NULL: it could not be made, or has left */
	LoopTimer  *timer;			/* when the next one is made */
	int64		backoff_us;
	Map		   *topics;			/* ReadTopics by name */
	dlist_head	skipped;		/* SkippedLogs */
	Names	   *troubles;		/* logged */
	int64		njunk;			/* messages that are no triggers */
	bool		is_down;		/* no broker answers, and that is logged */
};

typedef struct ReadTopic
{
	int			bucket;
	char	   *name;
} ReadTopic;

/* A partition that is to be read from its end, which is not known yet. */
typedef struct SkippedLog
{
	dlist_node	node;
	const ReadTopic *topic;
	int32		partition;
} SkippedLog;

/*
 * Logs a trouble once.  Errors of brokers always have the same text, and the
 * texts of the client's errors have numbers in them.
 */
static void
tell(Forwarded *forwarded, const char *topic, rd_kafka_resp_err_t error, const char *text)
{
	char	   *key = psprintf("%s %s", topic, error > 0 ? text : rd_kafka_err2name(error));

	if (names_add(forwarded->troubles, key))
		log_line(TWT_LOG_WARN, "kafka", "could not read triggers%s%s: %s",
				 topic[0] != '\0' ? " of " : "", topic, text);
	pfree(key);
}

/* ---- messages ---- */

/* The 1st, 10th, 100th and so on are logged. */
static void
count_junk(Forwarded *forwarded, const rd_kafka_message_t * message)
{
	int64		n = ++forwarded->njunk;

	while (n % 10 == 0)
		n /= 10;
	if (n == 1)
		log_line(TWT_LOG_WARN, "kafka",
				 INT64_FORMAT " messages were no triggers, the last one in %s, partition %d, offset " INT64_FORMAT,
				 forwarded->njunk, rd_kafka_topic_name(message->rkt), message->partition,
				 (int64) message->offset);
}

/* A trigger with a time is never forwarded. */
static void
take_message(Forwarded *forwarded, const ReadTopic *topic, const rd_kafka_message_t * message)
{
	Trigger		trigger;

	forwarded->is_down = false;
	forwarded->backoff_us = BACKOFF_MIN_US;
	if (message->payload != NULL && message->len < TRIGGER_TEXT_MAX &&
		trigger_decode(message->payload, message->len, &trigger) && trigger.due_us == 0)
		tables_push(forwarded->tables, topic->bucket, &trigger);
	else
		count_junk(forwarded, message);
}

/* ---- errors ---- */

static bool
is_assigned(Forwarded *forwarded, const rd_kafka_topic_partition_t * place)
{
	rd_kafka_topic_partition_list_t *list;
	bool		result;

	if (rd_kafka_assignment(kafka_handle(forwarded->consumer), &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	result = rd_kafka_topic_partition_list_find(list, place->topic, place->partition) != NULL;
	rd_kafka_topic_partition_list_destroy(list);
	return result;
}

/* librdkafka does not seek in a partition that it could not begin to read. */
static bool
assign_end(Forwarded *forwarded, const rd_kafka_topic_partition_t * place, char **reason)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	bool		is_done;

	rd_kafka_topic_partition_list_add(list, place->topic, place->partition)->offset = RD_KAFKA_OFFSET_END;
	is_done = kafka_unassign(forwarded->consumer, list, reason) &&
		kafka_assign(forwarded->consumer, list, reason);
	rd_kafka_topic_partition_list_destroy(list);
	return is_done;
}

static void
start_at_end(Forwarded *forwarded, const rd_kafka_topic_partition_t * place)
{
	SkippedLog *skipped;
	char	   *reason;

	/* It may have gone to another node since the event. */
	if (!is_assigned(forwarded, place))
		return;
	if (!assign_end(forwarded, place, &reason))
	{
		tell(forwarded, place->topic, RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, reason);
		pfree(reason);
		return;
	}
	skipped = palloc(sizeof(SkippedLog));
	skipped->topic = map_get(forwarded->topics, place->topic);
	skipped->partition = place->partition;
	dlist_push_tail(&forwarded->skipped, &skipped->node);
}

/*
 * The end of a partition is reached.  If it was skipped to, the triggers before
 * it are lost: their tasks are in the database.  An earlier sweep could miss
 * triggers that came before the end was known.
 */
static void
on_end(Forwarded *forwarded, const rd_kafka_topic_partition_t * place)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &forwarded->skipped)
	{
		SkippedLog *skipped = dlist_container(SkippedLog, node, iter.cur);

		if (skipped->partition != place->partition || strcmp(skipped->topic->name, place->topic) != 0)
			continue;
		log_line(TWT_LOG_INFO, "kafka", "triggers of %s, partition %d, are read from the end: "
				 "there was no offset, or its message is gone", place->topic, place->partition);
		sweep_want(forwarded->sweep, skipped->topic->bucket);
		dlist_delete(&skipped->node);
		pfree(skipped);
	}
}

static void
open_later(Forwarded *forwarded)
{
	loop_timer_start(forwarded->timer, chance_delay(forwarded->backoff_us));
	forwarded->backoff_us = Min(forwarded->backoff_us * 2, BACKOFF_MAX_US);
}

static void
on_left(void *arg)
{
	Forwarded  *forwarded = arg;

	kafka_free(forwarded->consumer);
	forwarded->consumer = NULL;
}

static void
on_failed_left(void *arg)
{
	on_left(arg);
	open_later(arg);
}

static void
on_fatal(Forwarded *forwarded, const char *text)
{
	log_line(TWT_LOG_WARN, "kafka", "the client that reads triggers failed, another one follows: %s", text);
	kafka_close(forwarded->consumer, LEAVE_US, on_failed_left, forwarded);
}

/* Brokers that go one by one are no news while another answers. */
static void
on_error(Forwarded *forwarded, rd_kafka_event_t * event)
{
	rd_kafka_topic_partition_t *place = rd_kafka_event_topic_partition(event);
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);

	if (error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && place != NULL)
		start_at_end(forwarded, place);
	else if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF && place != NULL)
		on_end(forwarded, place);
	else if (kafka_has_failed(forwarded->consumer))
		on_fatal(forwarded, rd_kafka_event_error_string(event));
	else if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
	{
		if (!forwarded->is_down)
			log_line(TWT_LOG_WARN, "kafka", "could not read triggers: %s",
					 rd_kafka_event_error_string(event));
		forwarded->is_down = true;
	}
	else if (error != RD_KAFKA_RESP_ERR__TRANSPORT && error != RD_KAFKA_RESP_ERR__RESOLVE)
		tell(forwarded, place != NULL ? place->topic : "", error,
			 rd_kafka_event_error_string(event));
	if (place != NULL)
		rd_kafka_topic_partition_destroy(place);
}

/* ---- events ---- */

static void
on_messages(Forwarded *forwarded, rd_kafka_event_t * event)
{
	const		rd_kafka_message_t *message;

	while ((message = rd_kafka_event_message_next(event)) != NULL)
	{
		const char *name = rd_kafka_topic_name(message->rkt);

		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			take_message(forwarded, map_get(forwarded->topics, name), message);
		else
			tell(forwarded, name, message->err, rd_kafka_message_errstr(message));
	}
}

static void
on_rebalance(Forwarded *forwarded, rd_kafka_event_t * event)
{
	bool		is_assigned = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
	int			n = rd_kafka_event_topic_partition_list(event)->cnt;
	char	   *reason;

	if (!kafka_rebalance(forwarded->consumer, event, &reason))
	{
		log_line(TWT_LOG_WARN, "kafka", "could not take partitions of triggers: %s", reason);
		pfree(reason);
	}
	else if (n > 0)
		log_line(TWT_LOG_INFO, "kafka", "triggers of %d partitions are %s", n,
				 is_assigned ? "read here" : "left to other nodes");
}

static void
on_event(void *arg, rd_kafka_event_t * event)
{
	switch (rd_kafka_event_type(event))
	{
		case RD_KAFKA_EVENT_FETCH:
			on_messages(arg, event);
			break;
		case RD_KAFKA_EVENT_REBALANCE:
			on_rebalance(arg, event);
			break;
		case RD_KAFKA_EVENT_ERROR:
			on_error(arg, event);
			break;
		default:
			break;				/* an offset that is not committed costs
								 * nothing */
	}
}

/* ---- open, leave, free ---- */

static void
add_topic(Forwarded *forwarded, const Config *config, const char *prefix, int bucket)
{
	ReadTopic  *topic = palloc(sizeof(ReadTopic));

	topic->bucket = bucket;
	topic->name = forward_topic(&config->kafka, prefix, config->buckets[bucket]);
	map_set(forwarded->topics, topic->name, topic);
}

static void
add_topics(Forwarded *forwarded, const Config *config)
{
	char	   *const *prefixes = config->kafka.prefixes;

	for (int i = 0; i < config->nbuckets; i++)
	{
		add_topic(forwarded, config, "", i);
		for (int j = 0; prefixes != NULL && prefixes[j] != NULL; j++)
			add_topic(forwarded, config, prefixes[j], i);
	}
}

static void
subscribe(Forwarded *forwarded)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(map_count(forwarded->topics));
	rd_kafka_resp_err_t error;
	uint64		place = 0;
	ReadTopic  *topic;

	while ((topic = map_next(forwarded->topics, &place)) != NULL)
		rd_kafka_topic_partition_list_add(list, topic->name, RD_KAFKA_PARTITION_UA);
	error = rd_kafka_subscribe(kafka_handle(forwarded->consumer), list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		tell(forwarded, "", error, rd_kafka_err2str(error));
	rd_kafka_topic_partition_list_destroy(list);
}

static void
open_consumer(void *arg)
{
	Forwarded  *forwarded = arg;
	char	   *reason;
	rd_kafka_conf_t *conf = forward_consumer_conf(&forwarded->config->kafka, &reason);

	if (conf != NULL)
		forwarded->consumer = kafka_consumer_new(forwarded->loop, conf, &reason);
	if (forwarded->consumer == NULL)
	{
		log_line(TWT_LOG_ERROR, "kafka", "no triggers of other nodes are read until a client can start: %s",
				 reason);
		pfree(reason);
		open_later(forwarded);
		return;
	}
	kafka_on_event(forwarded->consumer, on_event, forwarded);
	subscribe(forwarded);
}

Forwarded *
forwarded_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep)
{
	Forwarded  *forwarded = palloc0(sizeof(Forwarded));

	forwarded->loop = loop;
	forwarded->config = config;
	forwarded->tables = tables;
	forwarded->sweep = sweep;
	forwarded->topics = map_new(0);
	dlist_init(&forwarded->skipped);
	forwarded->troubles = names_new(TROUBLES_MAX);
	forwarded->timer = loop_timer_new(loop, open_consumer, forwarded);
	forwarded->backoff_us = BACKOFF_MIN_US;
	add_topics(forwarded, config);
	open_consumer(forwarded);
	return forwarded;
}

void
forwarded_leave(Forwarded *forwarded)
{
	loop_timer_stop(forwarded->timer);
	if (forwarded->consumer != NULL)
		kafka_close(forwarded->consumer, LEAVE_US, on_left, forwarded);
}

bool
forwarded_has_left(const Forwarded *forwarded)
{
	return forwarded->consumer == NULL;
}

void
forwarded_free(Forwarded *forwarded)
{
	uint64		place = 0;
	ReadTopic  *topic;

	loop_timer_free(forwarded->timer);
	if (forwarded->consumer != NULL)
		kafka_free(forwarded->consumer);
	while ((topic = map_next(forwarded->topics, &place)) != NULL)
	{
		pfree(topic->name);
		pfree(topic);
	}
	while (!dlist_is_empty(&forwarded->skipped))
		pfree(dlist_container(SkippedLog, node, dlist_pop_head_node(&forwarded->skipped)));
	map_free(forwarded->topics);
	names_free(forwarded->troubles);
	pfree(forwarded);
}
