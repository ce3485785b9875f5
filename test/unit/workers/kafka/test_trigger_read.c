/*-------------------------------------------------------------------------
 *
 * test_trigger_read.c
 *		Triggers are read from topics, and a client that cannot go on says so, since
 *		another process then follows.
 *
 * No real broker can be told to fence a member, so brokers are librdkafka's mock
 * cluster.  No real client refuses an assignment, so the test does it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "execute_fixture.h"
#include "protocol/trigger_line.h"
#include "workers/kafka/trigger_read.h"

#define TOPIC "twTasks.g.executeTask.default"
#define JOIN_GROUP 11			/* key of a request in the protocol */

static TriggerSettings *settings;
static rd_kafka_t * handle;
static rd_kafka_mock_cluster_t * cluster;
static TriggerRead *reader;
static StringInfoData out;
static int	nbroken;
static bool has_left;
static bool refuses;			/* assignments */

typedef rd_kafka_error_t * (*AssignFn) (rd_kafka_t *, const rd_kafka_topic_partition_list_t *);

/* Takes the place of the one of librdkafka. */
rd_kafka_error_t *
rd_kafka_incremental_assign(rd_kafka_t * client, const rd_kafka_topic_partition_list_t * partitions)
{
	AssignFn	assign = (AssignFn) dlsym(RTLD_NEXT, "rd_kafka_incremental_assign");

	return refuses ? rd_kafka_error_new(RD_KAFKA_RESP_ERR__STATE, "no such partition") :
		assign(client, partitions);
}

static void
on_broken(void *arg)
{
	nbroken++;
}

static void
on_left(void *arg)
{
	has_left = true;
}

static int
set_up(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	WorkerFault fault = {NULL, NULL};
	char	   *hello;

	fixture_setup(state);
	initStringInfo(&out);
	nbroken = 0;
	has_left = refuses = false;
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", NULL, 0);
	handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	cluster = rd_kafka_handle_mock_cluster(handle);
	rd_kafka_mock_topic_create(cluster, TOPIC, 1, 1);
	hello = psprintf("{\"hello\":1,\"settings\":{\"buckets\":[\"default\"],\"brokers\":[\"%s\"],\"group\":\"g\"}}",
					 rd_kafka_mock_cluster_bootstraps(cluster));
	settings = trigger_settings_new(hello, &fault);
	assert_non_null(settings);
	pfree(hello);
	return 0;
}

static int
tear_down(void **state)
{
	trigger_read_free(reader);
	trigger_settings_free(settings);
	rd_kafka_destroy(handle);
	pfree(out.data);
	return fixture_teardown(state);
}

static void
open_reader(void)
{
	TriggerReadParts parts = {
		.loop = fixture.loop,
		.settings = settings,
		.out = &out,
		.broken = on_broken
	};

	reader = trigger_read_open(&parts);
}

static bool
has_line(void *arg)
{
	return strstr(out.data, arg) != NULL;
}

static bool
is_broken(void *arg)
{
	return nbroken > 0;
}

static bool
is_gone(void *arg)
{
	return has_left;
}

static void
produce(const Trigger *trigger)
{
	char		text[TRIGGER_TEXT_MAX];
	size_t		len = trigger_encode(trigger, text);

	assert_int_equal(rd_kafka_producev(handle, RD_KAFKA_V_TOPIC(TOPIC), RD_KAFKA_V_PARTITION(0),
									   RD_KAFKA_V_VALUE(text, len), RD_KAFKA_V_END), 0);
	assert_int_equal(rd_kafka_flush(handle, 60000), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Reading begins at the end of the partition, for which a sweep is asked. */
static void
test_reads(void **state)
{
	Trigger		trigger = {.type = "T", .type_len = 1, .version = 7};
	StringInfoData line;

	open_reader();
	run_until(has_line, "{\"sweep\":0}\n");
	produce(&trigger);
	initStringInfo(&line);
	trigger_line_add(&line, "got", 0, &trigger);
	run_until(has_line, line.data);
	pfree(line.data);
	trigger_read_leave(reader, on_left);
	run_until(is_gone, NULL);
	assert_int_equal(nbroken, 0);
}

/* A client that was fenced is of no more use, and still leaves its group. */
static void
test_fenced(void **state)
{
	rd_kafka_mock_push_request_errors(cluster, JOIN_GROUP, 1, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
	open_reader();
	run_until(is_broken, NULL);
	trigger_read_leave(reader, on_left);
	run_until(is_gone, NULL);
}

/* Nor is one that has refused an assignment: it would wait for ever. */
static void
test_refused_assignment(void **state)
{
	refuses = true;
	open_reader();
	run_until(is_broken, NULL);
	trigger_read_leave(reader, on_left);
	run_until(is_gone, NULL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reads),
		TEST(test_fenced),
		TEST(test_refused_assignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
