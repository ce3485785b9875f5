/*-------------------------------------------------------------------------
 *
 * test_sends.c
 *		What becomes of a task by the answers of brokers, and of its settings.
 *
 * librdkafka's mock cluster gives answers that a real broker cannot be told to
 * give.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "execute_fixture.h"
#include "workers/kafka/sends.h"
#include "workers/lib/task_line.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"
#define LATER SECONDS_TO_US(4000000000)
#define PRODUCE 0				/* the key of this request in the protocol */

static StringInfoData replies;
static Sends *sends;
static rd_kafka_t * handle;
static rd_kafka_mock_cluster_t * cluster;

static KafkaSettings *
read_settings(const char *settings, WorkerFault *fault)
{
	char	   *hello = psprintf("{\"hello\":1,\"settings\":{\"kafka\":\"out\",\"brokers\":[\"%s\"],%s}}",
								 rd_kafka_mock_cluster_bootstraps(cluster), settings);
	KafkaSettings *made = kafka_settings_new(hello, fault);

	pfree(hello);
	return made;
}

static void
set(void)
{
	WorkerFault fault = {NULL, NULL};
	KafkaSettings *made = read_settings("\"settings\":{\"linger.ms\":0}", &fault);

	assert_non_null(made);
	sends_set(sends, made);
}

static int
set_up(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	fixture_setup(state);
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", NULL, 0);
	handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	cluster = rd_kafka_handle_mock_cluster(handle);
	initStringInfo(&replies);
	sends = sends_new(fixture.loop, &replies);
	set();
	return 0;
}

static int
tear_down(void **state)
{
	sends_free(sends);
	rd_kafka_destroy(handle);
	pfree(replies.data);
	return fixture_teardown(state);
}

static void
start(int64 start_by_us)
{
	char	   *line = psprintf("{\"id\":\"" ID "\",\"version\":7,\"type\":\"T\",\"sub_type\":null,"
								"\"tries\":1,\"max_tries\":null,\"deadline\":\"2031-01-02T03:04:05Z\","
								"\"data\":{},\"context\":null}");
	int64		never;
	Task	   *task = task_line_read(line, &never);

	assert_non_null(task);
	sends_start(sends, task, start_by_us);
	pfree(line);
}

static bool
has_reply(void *arg)
{
	return replies.len > 0;
}

static void
expect_reply(const char *expected)
{
	run_until(has_reply, NULL);
	if (strstr(replies.data, expected) == NULL)
		fail_msg("\"%s\" is not in %s", expected, replies.data);
	resetStringInfo(&replies);
}

static void
test_acknowledged(void **state)
{
	start(LATER);
	expect_reply("{\"id\":\"" ID "\",\"version\":7,\"result\":\"done\"}\n");
}

/* The client itself sends again what the brokers may take then. */
static void
test_answers(void **state)
{
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
	start(LATER);
	expect_reply("\"result\":\"done\"");
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start(LATER);
	expect_reply("\"result\":\"error\",\"message\":\"could not send to topic \\\"out\\\": ");
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	start(LATER);
	expect_reply("\"result\":\"retry\",\"message\":\"could not send to topic \\\"out\\\": ");
	set();						/* the old client knows of no right until it
								 * asks again */
	start(LATER);
	expect_reply("\"result\":\"done\"");
}

/* After the lease of the node the task may run elsewhere. */
static void
test_late(void **state)
{
	start(0);
	expect_reply("\"result\":\"release\"");
}

/* No task is lost to a reload that comes before its answer. */
static void
test_reload(void **state)
{
	start(LATER);
	set();
	expect_reply("\"result\":\"done\"");
	set();
	start(LATER);
	set();
	expect_reply("\"result\":\"done\"");
}

static void
test_cancelled(void **state)
{
	start(LATER);
	sends_cancel(sends, ID, 8, "another version");
	sends_cancel(sends, ID, 7, "told so");
	expect_reply("\"result\":\"cancelled\",\"message\":\"told so\"");
}

static void
expect_fault(const char *settings, const char *setting, const char *reason)
{
	WorkerFault fault = {NULL, NULL};

	assert_null(read_settings(settings, &fault));
	assert_string_equal(fault.setting, setting);
	if (strstr(fault.reason, reason) == NULL)
		fail_msg("\"%s\" is not in %s", reason, fault.reason);
	pfree(fault.setting);
	pfree(fault.reason);
}

static void
test_settings(void **state)
{
	expect_fault("\"settings\":{\"linger.mss\":1}", "settings[\"linger.mss\"]",
				 "librdkafka does not know this setting");
	expect_fault("\"settings\":{\"linger.ms\":\"x\"}", "settings[\"linger.ms\"]", "nvalid value");
	expect_fault("\"settings\":{\"linger.ms\":[]}", "settings[\"linger.ms\"]", "single value");
	expect_fault("\"settings\":{\"acks\":1}", "settings[\"acks\"]", "delivery rests on it");
	expect_fault("\"settings\":{\"enable.idempotence\":false}", "settings[\"enable.idempotence\"]",
				 "delivery rests on it");
	expect_fault("\"settings\":{\"sasl.password\":\"x\"}", "settings[\"sasl.password\"]", "is a secret");
	expect_fault("\"secrets\":{\"sasl.password\":\"x\"}", "secrets[\"sasl.password\"]", "absolute path");
	expect_fault("\"secrets\":{\"sasl.password\":\"/nowhere/x\"}", "secrets[\"sasl.password\"]", "");
	expect_fault("\"brokers\":[]", "brokers", "missing");
	expect_fault("\"kafka\":\"a b\"", "kafka", "a topic has");
	expect_fault("\"kafka\":\"a b*\"", "kafka", "a topic has");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_acknowledged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
