/*-------------------------------------------------------------------------
 *
 * log_look.c
 *		Where the log of a partition begins and ends, without waiting for it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/blocking.h"
#include "workers/kafka/log_look.h"

/* A dead leader may hold up other looks no longer than this. */
#define ANSWER_MS 3000

struct LogLook
{
	Blocking   *blocking;
	rd_kafka_t *client;
	char	   *topic;
	int			number;
	int64		young_ms;
	LogEnds		ends;			/* the answer */
	rd_kafka_resp_err_t error;
	LogLookFn	fn;
	void	   *arg;
};

static void
release(void *what)
{
	LogLook    *look = what;

	pfree(look->topic);
	pfree(look);
}

static rd_kafka_resp_err_t
ask_young(LogLook *look)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *place =
		rd_kafka_topic_partition_list_add(list, look->topic, look->number);
	rd_kafka_resp_err_t error;

	place->offset = look->young_ms;
	error = rd_kafka_offsets_for_times(look->client, list, ANSWER_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = place->err;
	look->ends.young = place->offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

/* The client keeps one topic of a name, so this handle is the consumer's own. */
static rd_kafka_resp_err_t
ask_partitions(LogLook *look)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(look->client, look->topic, NULL);
	const struct rd_kafka_metadata *metadata = NULL;
	rd_kafka_resp_err_t error;

	if (topic == NULL)
		return rd_kafka_last_error();
	error = rd_kafka_metadata(look->client, 0, topic, &metadata, ANSWER_MS);
	rd_kafka_topic_destroy(topic);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error;
	error = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->ends.partitions = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	return error;
}

/*
 * The id tells a topic from an older one of its name.  Brokers and clients that are
 * old do not know it.  The library's own text of it may be NULL, and its alphabet is
 * not promised: another text would stop each partition.
 */
#if RD_KAFKA_VERSION >= 0x020300ff
static void
take_topic_id(LogLook *look, const rd_kafka_event_t * answer)
{
	const		rd_kafka_DescribeTopics_result_t *result =
		answer == NULL ? NULL : rd_kafka_event_DescribeTopics_result((rd_kafka_event_t *) answer);
	const		rd_kafka_TopicDescription_t **topics;
	const		rd_kafka_Uuid_t *id;
	uint64		high;
	uint64		low;
	size_t		n = 0;

	if (result == NULL)
		return;
	topics = rd_kafka_DescribeTopics_result_topics(result, &n);
	if (n != 1 || rd_kafka_error_code(rd_kafka_TopicDescription_error(topics[0])) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	id = rd_kafka_TopicDescription_topic_id(topics[0]);
	high = (uint64) rd_kafka_Uuid_most_significant_bits(id);
	low = (uint64) rd_kafka_Uuid_least_significant_bits(id);
	if (high != 0 || low != 0)
		snprintf(look->ends.topic_id, sizeof(look->ends.topic_id), "%016llx%016llx",
				 (unsigned long long) high, (unsigned long long) low);
}

static void
ask_topic_id(LogLook *look)
{
	const char *names[] = {look->topic};
	rd_kafka_TopicCollection_t *topics = rd_kafka_TopicCollection_of_topic_names(names, 1);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(look->client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(look->client);
	rd_kafka_event_t *answer;

	rd_kafka_AdminOptions_set_request_timeout(options, ANSWER_MS, NULL, 0);
	rd_kafka_DescribeTopics(look->client, topics, options, queue);
	answer = rd_kafka_queue_poll(queue, 2 * ANSWER_MS);
	take_topic_id(look, answer);
	rd_kafka_event_destroy(answer);
	rd_kafka_queue_destroy(queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_TopicCollection_destroy(topics);
}
#else
static void
ask_topic_id(LogLook *look)
{
	look->ends.topic_id[0] = '\0';
}
#endif

static void
ask(void *what)
{
	LogLook    *look = what;

	look->error = rd_kafka_query_watermark_offsets(look->client, look->topic, look->number,
												   &look->ends.first, &look->ends.end, ANSWER_MS);
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->error = ask_partitions(look);
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR && look->young_ms >= 0)
		look->error = ask_young(look);
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		ask_topic_id(look);
}

static void
answered(void *what)
{
	LogLook    *look = what;

	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->fn(look->arg, &look->ends, NULL);
	else
		look->fn(look->arg, NULL, rd_kafka_err2str(look->error));
}

LogLook *
log_look_start(const LogLookFor *what, LogLookFn fn, void *arg)
{
	static const BlockingCall call = {ask, answered, release};
	LogLook    *look = palloc0(sizeof(LogLook));
	Blocking   *blocking;

	look->client = what->client;
	look->topic = pstrdup(what->topic);
	look->number = what->number;
	look->young_ms = what->young_ms;
	look->fn = fn;
	look->arg = arg;
	blocking = blocking_start(what->loop, &call, look);
	if (blocking == NULL)
		return NULL;
	look->blocking = blocking;
	return look;
}

void
log_look_cancel(LogLook *look)
{
	blocking_cancel(look->blocking);
}
