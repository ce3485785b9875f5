/*-------------------------------------------------------------------------
 *
 * test_consumer.c
 *		A consumer of Kafka on the event loop, and how its group changes.
 *
 * librdkafka's mock cluster can be told to stop, and starts in no time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "execute_fixture.h"
#include "workers/kafka/kafka.h"
#include "workers/kafka/kafka_conf.h"

#define TOPIC "in"
#define PARTITIONS 4

/*
 * The silence after which a consumer is expelled.  The mock cluster starts a
 * group only after three seconds.
 */
#define EXPELLED_MS 4500

typedef struct Consumer
{
	Kafka	   *client;
	int			nread;
	int			nassigned;
	int			nexpelled;
	bool		is_silent;		/* does not answer rebalances */
	bool		is_closed;
	int			nclosed;
} Consumer;

static rd_kafka_t * handle;
static rd_kafka_mock_cluster_t * cluster;
static Consumer consumers[2];

static int
set_up(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	fixture_setup(state);
	memset(consumers, 0, sizeof(consumers));
	kafka_conf_set(conf, "test.mock.num.brokers", "1");
	handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	cluster = rd_kafka_handle_mock_cluster(handle);
	rd_kafka_mock_topic_create(cluster, TOPIC, PARTITIONS, 1);
	return 0;
}

static int
tear_down(void **state)
{
	for (size_t i = 0; i < lengthof(consumers); i++)
		if (consumers[i].client != NULL)
			kafka_free(consumers[i].client);
	rd_kafka_destroy(handle);
	return fixture_teardown(state);
}

static void
on_rebalance(Consumer *consumer, rd_kafka_event_t * event)
{
	int			n = rd_kafka_event_topic_partition_list(event)->cnt;
	char	   *reason = NULL;

	if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		consumer->nassigned += n;
	else
		consumer->nassigned -= n;
	if (!kafka_rebalance(consumer->client, event, &reason))
		fail_msg("%s", reason);
}

static void
on_event(void *arg, rd_kafka_event_t * event)
{
	Consumer   *consumer = arg;
	const		rd_kafka_message_t *message;

	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE && !consumer->is_silent)
		on_rebalance(consumer, event);
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
		rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED)
		consumer->nexpelled++;
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_FETCH)
		while ((message = rd_kafka_event_message_next(event)) != NULL)
			consumer->nread += message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_conf_t *
make_conf(const char *strategy)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster));
	kafka_conf_set(conf, "group.id", "readers");
	kafka_conf_set(conf, "partition.assignment.strategy", strategy);
	kafka_conf_set(conf, "auto.offset.reset", "earliest");
	kafka_conf_set(conf, "session.timeout.ms", "4000");
	kafka_conf_set(conf, "heartbeat.interval.ms", "100");
	kafka_conf_set(conf, "max.poll.interval.ms", CppAsString2(EXPELLED_MS));
	return conf;
}

static void
subscribe(rd_kafka_t * client)
{
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);

	rd_kafka_topic_partition_list_add(topics, TOPIC, RD_KAFKA_PARTITION_UA);
	assert_int_equal(rd_kafka_subscribe(client, topics), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(topics);
}

static void
open_consumer(Consumer *consumer, const char *strategy)
{
	char	   *reason;

	consumer->client = kafka_consumer_new(fixture.loop, make_conf(strategy), &reason);
	assert_non_null(consumer->client);
	kafka_on_event(consumer->client, on_event, consumer);
	subscribe(kafka_handle(consumer->client));
}

static void
produce(int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(rd_kafka_producev(handle, RD_KAFKA_V_TOPIC(TOPIC),
										   RD_KAFKA_V_PARTITION(i % PARTITIONS),
										   RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END), 0);
	assert_int_equal(rd_kafka_flush(handle, 60000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

static bool
has_all(void *arg)
{
	return consumers[0].nassigned == PARTITIONS;
}

static bool
has_half_each(void *arg)
{
	return consumers[0].nassigned == PARTITIONS / 2 && consumers[1].nassigned == PARTITIONS / 2;
}

static bool
has_read(void *arg)
{
	return consumers[0].nread + consumers[1].nread >= *(int *) arg;
}

static bool
is_closed(void *arg)
{
	return ((Consumer *) arg)->is_closed;
}

static void
on_closed(void *arg)
{
	Consumer   *consumer = arg;

	consumer->is_closed = true;
	kafka_free(consumer->client);
	consumer->client = NULL;
}

static void
test_reads_more_than_one_turn(void **state)
{
	int			n = 2500;

	produce(n);
	open_consumer(&consumers[0], "cooperative-sticky");
	run_until(has_read, &n);
	assert_int_equal(consumers[0].nread, n);
}

/* The second member takes half, and leaves it to the first when it closes. */
static void
share_and_close(const char *strategy)
{
	open_consumer(&consumers[0], strategy);
	run_until(has_all, NULL);
	open_consumer(&consumers[1], strategy);
	run_until(has_half_each, NULL);
	kafka_close(consumers[1].client, SECONDS_TO_US(100), on_closed, &consumers[1]);
	run_until(is_closed, &consumers[1]);
	run_until(has_all, NULL);
}

static void
test_cooperative_group(void **state)
{
	share_and_close("cooperative-sticky");
}

static void
test_eager_group(void **state)
{
	share_and_close("range");
}

static void
test_close_without_brokers(void **state)
{
	int			n = PARTITIONS;

	produce(n);
	open_consumer(&consumers[0], "cooperative-sticky");
	run_until(has_read, &n);
	rd_kafka_mock_broker_set_down(cluster, 1);
	kafka_close(consumers[0].client, MS_TO_US(200), on_closed, &consumers[0]);
	run_until(is_closed, &consumers[0]);
}

/* The rebalance waits for an answer that never comes. */
static void
test_close_during_a_rebalance(void **state)
{
	consumers[0].is_silent = true;
	open_consumer(&consumers[0], "cooperative-sticky");
	open_consumer(&consumers[1], "cooperative-sticky");
	run_turn();
	kafka_close(consumers[0].client, MS_TO_US(200), on_closed, &consumers[0]);
	run_until(is_closed, &consumers[0]);
}

static bool
is_over(void *arg)
{
	return loop_now_us(fixture.loop) >= *(int64 *) arg;
}

static void
on_closed_keep(void *arg)
{
	((Consumer *) arg)->nclosed++;
}

static bool
has_left(void *arg)
{
	return rd_kafka_consumer_closed(kafka_handle(((Consumer *) arg)->client)) != 0;
}

/* The consumer leaves after the time is over, and then has events. */
static void
test_close_is_told_once(void **state)
{
	open_consumer(&consumers[0], "cooperative-sticky");
	run_until(has_all, NULL);
	kafka_close(consumers[0].client, 0, on_closed_keep, &consumers[0]);
	run_until(has_left, &consumers[0]);
	assert_int_equal(consumers[0].nclosed, 1);
}

/* The group would expel it by now. */
static void
test_idle_consumer_stays(void **state)
{
	int64		end_us;

	open_consumer(&consumers[0], "cooperative-sticky");
	run_until(has_all, NULL);
	end_us = loop_now_us(fixture.loop) + MS_TO_US(EXPELLED_MS) + SECONDS_TO_US(2);
	run_until(is_over, &end_us);
	assert_int_equal(consumers[0].nexpelled, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads_more_than_one_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cooperative_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_eager_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close_without_brokers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close_during_a_rebalance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_consumer_stays, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
