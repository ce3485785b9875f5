/*-------------------------------------------------------------------------
 *
 * test_forwarded.c
 *		A client that fails for good does not end the reading of triggers.
 *
 * No real broker can be told to fence a member, so brokers are librdkafka's mock
 * cluster.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/chance.h"
#include "execute_fixture.h"
#include "queue/forwarded.h"

#define TOPIC "twTasks.g.executeTask.default"
#define JOIN_GROUP 11			/* key of a request in the protocol */
#define NFAULTS 3

static char *buckets[] = {"default", NULL};
static Config config;
static rd_kafka_t * handle;
static rd_kafka_mock_cluster_t * cluster;
static Forwarded *forwarded;
static int64 delays[NFAULTS];	/* between clients */
static int	ndelays;
static int	npushed;
static int	nswept;

/* Takes the place of the one in the base: no test waits for seconds. */
int64
chance_delay(int64 us)
{
	assert_true(ndelays < NFAULTS);
	delays[ndelays++] = us;
	return 1000;
}

/* Takes the place of the one of the tables. */
void
tables_push(Tables *tables, int bucket, const Trigger *trigger)
{
	npushed++;
}

/* Takes the place of the one of the sweep. */
void
sweep_want(Sweep *sweep, int bucket)
{
	nswept++;
}

static int
set_up(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	static char *brokers[2];

	fixture_setup(state);
	ndelays = npushed = nswept = 0;
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", NULL, 0);
	handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	cluster = rd_kafka_handle_mock_cluster(handle);
	rd_kafka_mock_topic_create(cluster, TOPIC, 1, 1);
	brokers[0] = unconstify(char *, rd_kafka_mock_cluster_bootstraps(cluster));
	config.buckets = buckets;
	config.nbuckets = 1;
	config.kafka.brokers = brokers;
	config.kafka.group = "g";
	return 0;
}

static int
tear_down(void **state)
{
	forwarded_free(forwarded);
	rd_kafka_destroy(handle);
	return fixture_teardown(state);
}

static void
fence(int n)
{
	for (int i = 0; i < n; i++)
		rd_kafka_mock_push_request_errors(cluster, JOIN_GROUP, 1, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
}

static bool
has_swept(void *arg)
{
	return nswept > 0;
}

static bool
has_pushed(void *arg)
{
	return npushed > 0;
}

static bool
has_delayed(void *arg)
{
	return ndelays == *(int *) arg;
}

static bool
has_left(void *arg)
{
	return forwarded_has_left(forwarded);
}

static void
produce(void)
{
	Trigger		trigger = {.type = "T", .type_len = 1};
	char		text[TRIGGER_TEXT_MAX];
	size_t		len = trigger_encode(&trigger, text);

	assert_int_equal(rd_kafka_producev(handle, RD_KAFKA_V_TOPIC(TOPIC), RD_KAFKA_V_PARTITION(0),
									   RD_KAFKA_V_VALUE(text, len), RD_KAFKA_V_END), 0);
	assert_int_equal(rd_kafka_flush(handle, 60000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Reading begins at the end of the partition, which the sweep tells. */
static void
test_reads_after_failures(void **state)
{
	fence(NFAULTS);
	forwarded = forwarded_open(fixture.loop, &config, NULL, NULL);
	run_until(has_swept, NULL);
	for (int i = 0; i < NFAULTS; i++)
		assert_int_equal(delays[i], SECONDS_TO_US(1) << i);
	produce();
	run_until(has_pushed, NULL);
	forwarded_leave(forwarded);
	run_until(has_left, NULL);
}

static void
test_leaves_between_clients(void **state)
{
	int			one = 1;

	fence(1);
	forwarded = forwarded_open(fixture.loop, &config, NULL, NULL);
	run_until(has_delayed, &one);
	forwarded_leave(forwarded);
	run_until(has_left, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads_after_failures, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leaves_between_clients, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
