/*-------------------------------------------------------------------------
 *
 * trigger_read.c
 *		Triggers that other nodes handed on through Kafka.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/map.h"
#include "workers/kafka/kafka.h"
#include "protocol/trigger_line.h"
#include "workers/kafka/trigger_read.h"

/* The time that brokers have to let this node leave its group. */
#define LEAVE_US SECONDS_TO_US(2)

/* We log this many different troubles, each once. */
#define TROUBLES_MAX 100

struct TriggerRead
{
	const TriggerSettings *settings;
	StringInfo	out;			/* lines to the sidecar */
	Kafka	   *consumer;		/* NULL: it could not be made, or has left */
	LoopFn		broken;
	LoopFn		left;			/* NULL: it does not leave */
	void	   *arg;			/* given to both */
	Map		   *topics;			/* ReadTopics by name */
	dlist_head	skipped;		/* SkippedLogs */
	Map		   *troubles;		/* logged */
	int64		njunk;			/* messages that are not triggers */
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
tell(TriggerRead *reader, const char *topic, rd_kafka_resp_err_t error, const char *text)
{
	char	   *key = psprintf("%s %s", topic, error > 0 ? text : rd_kafka_err2name(error));

	if (map_get(reader->troubles, key) != NULL || map_count(reader->troubles) >= TROUBLES_MAX)
		pfree(key);
	else
	{
		map_set(reader->troubles, key, key);
		log_line(TWT_LOG_WARN, "kafka", "could not read triggers%s%s: %s",
				 topic[0] != '\0' ? " of " : "", topic, text);
	}
}

/* ---- messages ---- */

/* The 1st, 10th, 100th and so on are logged. */
static void
count_junk(TriggerRead *reader, const rd_kafka_message_t * message)
{
	int64		n = ++reader->njunk;

	while (n % 10 == 0)
		n /= 10;
	if (n == 1)
		log_line(TWT_LOG_WARN, "kafka",
				 INT64_FORMAT " messages were no triggers, the last one in %s, partition %d, offset " INT64_FORMAT,
				 reader->njunk, rd_kafka_topic_name(message->rkt), message->partition,
				 (int64) message->offset);
}

/* A trigger with a time is never forwarded. */
static void
take_message(TriggerRead *reader, const ReadTopic *topic, const rd_kafka_message_t * message)
{
	Trigger		trigger;

	reader->is_down = false;
	if (message->payload != NULL && message->len < TRIGGER_TEXT_MAX &&
		trigger_decode(message->payload, message->len, &trigger) && trigger.due_us == 0)
		trigger_line_add(reader->out, "got", topic->bucket, &trigger);
	else
		count_junk(reader, message);
}

/* ---- errors ---- */

/* The process ends, and another one follows, with a client that knows nothing of this. */
static void
break_down(TriggerRead *reader, const char *text)
{
	log_line(TWT_LOG_WARN, "kafka", "the client that reads triggers failed, another one follows: %s", text);
	reader->broken(reader->arg);
}

static bool
is_assigned(TriggerRead *reader, const rd_kafka_topic_partition_t * place)
{
	rd_kafka_topic_partition_list_t *list;
	bool		result;

	if (rd_kafka_assignment(kafka_handle(reader->consumer), &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	result = rd_kafka_topic_partition_list_find(list, place->topic, place->partition) != NULL;
	rd_kafka_topic_partition_list_destroy(list);
	return result;
}

/* librdkafka does not seek in a partition that it could not begin to read. */
static bool
assign_end(TriggerRead *reader, const rd_kafka_topic_partition_t * place, char **reason)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	bool		is_done;

	rd_kafka_topic_partition_list_add(list, place->topic, place->partition)->offset = RD_KAFKA_OFFSET_END;
	is_done = kafka_unassign(reader->consumer, list, reason) &&
		kafka_assign(reader->consumer, list, reason);
	rd_kafka_topic_partition_list_destroy(list);
	return is_done;
}

static void
start_at_end(TriggerRead *reader, const rd_kafka_topic_partition_t * place)
{
	SkippedLog *skipped;
	char	   *reason;

	/* It may have gone to another node since the event. */
	if (!is_assigned(reader, place))
		return;
	if (!assign_end(reader, place, &reason))
	{
		break_down(reader, reason);
		pfree(reason);
		return;
	}
	skipped = palloc(sizeof(SkippedLog));
	skipped->topic = map_get(reader->topics, place->topic);
	skipped->partition = place->partition;
	dlist_push_tail(&reader->skipped, &skipped->node);
}

/*
 * The end of a partition is reached.  If it was skipped to, the triggers before
 * it are lost: their tasks are in the database.  An earlier sweep could miss
 * triggers that came before the end was known.
 */
static void
on_end(TriggerRead *reader, const rd_kafka_topic_partition_t * place)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &reader->skipped)
	{
		SkippedLog *skipped = dlist_container(SkippedLog, node, iter.cur);

		if (skipped->partition != place->partition || strcmp(skipped->topic->name, place->topic) != 0)
			continue;
		log_line(TWT_LOG_INFO, "kafka", "triggers of %s, partition %d, are read from the end: "
				 "there was no offset, or its message is gone", place->topic, place->partition);
		appendStringInfo(reader->out, "{\"sweep\":%d}\n", skipped->topic->bucket);
		dlist_delete(&skipped->node);
		pfree(skipped);
	}
}

/* Does not log a lost broker while another answers. */
static void
on_error(TriggerRead *reader, rd_kafka_event_t * event)
{
	rd_kafka_topic_partition_t *place = rd_kafka_event_topic_partition(event);
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);

	if (error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && place != NULL)
		start_at_end(reader, place);
	else if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF && place != NULL)
		on_end(reader, place);
	else if (kafka_has_failed(reader->consumer))
		break_down(reader, rd_kafka_event_error_string(event));
	else if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
	{
		if (!reader->is_down)
			log_line(TWT_LOG_WARN, "kafka", "could not read triggers: %s",
					 rd_kafka_event_error_string(event));
		reader->is_down = true;
	}
	else if (error != RD_KAFKA_RESP_ERR__TRANSPORT && error != RD_KAFKA_RESP_ERR__RESOLVE)
		tell(reader, place != NULL ? place->topic : "", error,
			 rd_kafka_event_error_string(event));
	if (place != NULL)
		rd_kafka_topic_partition_destroy(place);
}

/* ---- events ---- */

static void
on_messages(TriggerRead *reader, rd_kafka_event_t * event)
{
	const		rd_kafka_message_t *message;

	while ((message = rd_kafka_event_message_next(event)) != NULL)
	{
		const char *name = rd_kafka_topic_name(message->rkt);

		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			take_message(reader, map_get(reader->topics, name), message);
		else
			tell(reader, name, message->err, rd_kafka_message_errstr(message));
	}
}

static void
on_rebalance(TriggerRead *reader, rd_kafka_event_t * event)
{
	bool		is_assigned = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
	int			n = rd_kafka_event_topic_partition_list(event)->cnt;
	char	   *reason;

	if (!kafka_rebalance(reader->consumer, event, &reason))
	{
		break_down(reader, reason);
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
add_topic(TriggerRead *reader, const char *prefix, int bucket)
{
	ReadTopic  *topic = palloc(sizeof(ReadTopic));

	topic->bucket = bucket;
	topic->name = trigger_settings_topic(reader->settings, prefix, bucket);
	map_set(reader->topics, topic->name, topic);
}

static void
add_topics(TriggerRead *reader)
{
	char	   *const *prefixes = reader->settings->prefixes;

	for (int i = 0; i < reader->settings->nbuckets; i++)
	{
		add_topic(reader, "", i);
		for (int j = 0; prefixes[j] != NULL; j++)
			add_topic(reader, prefixes[j], i);
	}
}

static void
subscribe(TriggerRead *reader)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(map_count(reader->topics));
	rd_kafka_resp_err_t error;
	uint64		place = 0;
	ReadTopic  *topic;

	while ((topic = map_next(reader->topics, &place)) != NULL)
		rd_kafka_topic_partition_list_add(list, topic->name, RD_KAFKA_PARTITION_UA);
	error = rd_kafka_subscribe(kafka_handle(reader->consumer), list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		tell(reader, "", error, rd_kafka_err2str(error));
	rd_kafka_topic_partition_list_destroy(list);
}

TriggerRead *
trigger_read_open(const TriggerReadParts *parts)
{
	TriggerRead *reader = palloc0(sizeof(TriggerRead));
	char	   *reason;

	reader->settings = parts->settings;
	reader->out = parts->out;
	reader->broken = parts->broken;
	reader->arg = parts->arg;
	reader->topics = map_new(0);
	reader->troubles = map_new(0);
	dlist_init(&reader->skipped);
	add_topics(reader);
	reader->consumer = kafka_consumer_new(parts->loop, rd_kafka_conf_dup(parts->settings->consumer),
										  &reason);
	if (reader->consumer == NULL)
	{
		break_down(reader, reason);
		pfree(reason);
		return reader;
	}
	kafka_on_event(reader->consumer, on_event, reader);
	subscribe(reader);
	return reader;
}

static void
on_left(void *arg)
{
	TriggerRead *reader = arg;

	kafka_free(reader->consumer);
	reader->consumer = NULL;
	reader->left(reader->arg);
}

void
trigger_read_leave(TriggerRead *reader, LoopFn left)
{
	reader->left = left;
	if (reader->consumer != NULL)
		kafka_close(reader->consumer, LEAVE_US, on_left, reader);
	else
		left(reader->arg);
}

static void
free_values(Map *map)
{
	uint64		place = 0;
	void	   *value;

	while ((value = map_next(map, &place)) != NULL)
		pfree(value);
	map_free(map);
}

void
trigger_read_free(TriggerRead *reader)
{
	uint64		place = 0;
	ReadTopic  *topic;

	if (reader->consumer != NULL)
		kafka_free(reader->consumer);
	while ((topic = map_next(reader->topics, &place)) != NULL)
		pfree(topic->name);
	free_values(reader->topics);
	free_values(reader->troubles);
	while (!dlist_is_empty(&reader->skipped))
		pfree(dlist_container(SkippedLog, node, dlist_pop_head_node(&reader->skipped)));
	pfree(reader);
}
