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

#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <threads.h>

#include "base/chance.h"
#include "execute_fixture.h"
#include "workers/kafka/sends.h"
#include "workers/lib/task_line.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"
#define LATER SECONDS_TO_US(4000000000)
#define PRODUCE 0				/* keys of requests in the protocol */
#define INIT_PRODUCER_ID 22
#define BROKER 1
#define NDELAYS 8
#define NLOGGED 16
#define HOLD_MS 3600000
#define EMPTY_MESSAGE "/////wAAAAAAAAAA"	/* one of a batch, in base64 */
#define MESSAGE_WITH_ID "/////wAAAAAAAAABAAAACnR3dGFza3MtaWQAAAABeA=="	/* ... with a header
																		 * twtasks-id */
#define LONG_MESSAGE_HEAD "/////wAABLAA"	/* one whose value has 1200 bytes */
#define LONG_MESSAGE_REST (401 * 4)

/*
 * A client with these settings waits until a batch has as many messages as the
 * setting behind them says, or as many bytes as batch.size.
 */
#define FULL_BATCHES "\"linger.ms\":100000,\"message.timeout.ms\":300000,\"batch.num.messages\":"

static StringInfoData replies;
static Sends *sends;
static rd_kafka_t * handle;
static rd_kafka_mock_cluster_t * cluster;
static int64 delays[NDELAYS];	/* between clients */
static int	ndelays;
static int	logged[NLOGGED];	/* the log: numbers of messages in their task */
static int	nlogged;

/* Takes the place of the one in the base: no test waits for seconds. */
int64
chance_delay(int64 us)
{
	delays[ndelays++] = us;
	return ndelays < NDELAYS ? 1000 : SECONDS_TO_US(3600);
}

/* A client begins threads for itself, for its own work with brokers, and for each broker. */
#define THREAD_OF_BROKER 3

static int	threads_until_failure;	/* 0: none fails */
static int	nthreads;

/* Takes the place of the one in the C library. */
int
thrd_create(thrd_t * thread, thrd_start_t start, void *arg)
{
	static int	(*real) (thrd_t * thread, thrd_start_t start, void *arg);

	nthreads++;
	if (threads_until_failure > 0 && --threads_until_failure == 0)
		return thrd_error;
	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "thrd_create");
	return real(thread, start, arg);
}

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
set_to(const char *settings)
{
	WorkerFault fault = {NULL, NULL};
	KafkaSettings *made = read_settings(settings, &fault);

	assert_non_null(made);
	sends_set(sends, made);
}

static void
set(void)
{
	set_to("\"settings\":{\"linger.ms\":0}");
}

static int
set_up(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	fixture_setup(state);
	rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", NULL, 0);
	handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	cluster = rd_kafka_handle_mock_cluster(handle);
	rd_kafka_mock_topic_create(cluster, "out", 1, 1);
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
start_with(const char *type, const char *data, int64 start_by_us)
{
	char	   *line = psprintf("{\"id\":\"" ID "\",\"version\":7,\"type\":\"%s\",\"sub_type\":null,"
								"\"tries\":1,\"max_tries\":null,\"deadline\":\"2031-01-02T03:04:05Z\","
								"%s,\"context\":null}", type, data);
	int64		never;
	Task	   *task = task_line_read(line, &never);

	assert_non_null(task);
	sends_start(sends, task, start_by_us);
	pfree(line);
}

static void
start(int64 start_by_us)
{
	start_with("T", "\"data\":{}", start_by_us);
}

static bool
has_reply(void *arg)
{
	return replies.len > 0;
}

/* The brokers handle requests, and keep their answers back until the release. */
static void
hold_answers(void)
{
	rd_kafka_mock_broker_set_rtt(cluster, BROKER, HOLD_MS);
}

static void
release_answers(void)
{
	rd_kafka_mock_broker_set_rtt(cluster, BROKER, 0);
}

/* Notes a message of the task by its header. */
static void
note_logged(const rd_kafka_message_t * message)
{
	rd_kafka_headers_t *headers;
	const void *id;
	size_t		len;

	assert_int_equal(rd_kafka_message_headers(message, &headers), 0);
	assert_int_equal(rd_kafka_header_get_last(headers, "twtasks-id", &id, &len), 0);
	assert_memory_equal(id, ID ":", sizeof(ID ":") - 1);
	assert_int_not_equal(rd_kafka_header_get(headers, 1, "twtasks-id", &id, &len), 0);
	assert_int_equal(rd_kafka_header_get_last(headers, "twtasks-id", &id, &len), 0);
	assert_true(nlogged < NLOGGED);
	logged[nlogged++] = (int) strtol((const char *) id + sizeof(ID ":") - 1, NULL, 10);
}

/* Reads all messages that the brokers have. */
static void
read_log(void)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(1);
	rd_kafka_t *consumer;

	nlogged = 0;
	rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster), NULL, 0);
	rd_kafka_conf_set(conf, "group.id", "test", NULL, 0);
	rd_kafka_conf_set(conf, "enable.partition.eof", "true", NULL, 0);
	consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	rd_kafka_topic_partition_list_add(places, "out", 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(consumer, places);
	for (bool is_end = false; !is_end;)
	{
		rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 1000);

		if (message == NULL)
			continue;
		is_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			note_logged(message);
		rd_kafka_message_destroy(message);
	}
	rd_kafka_topic_partition_list_destroy(places);
	rd_kafka_consumer_close(consumer);
	rd_kafka_destroy(consumer);
}

static int
count_messages(void)
{
	read_log();
	return nlogged;
}

/*
 * From its place "from" on, the log ends in all messages of the task, in their order.
 * Messages before them were on their way when the first one was refused.
 */
static void
expect_order(int from, int nmessages)
{
	int			nbefore = count_messages() - from - nmessages;

	assert_true(nbefore >= 0);
	for (int i = 0; i < nbefore; i++)
		assert_int_equal(logged[from + i], i + 1);
	for (int i = 0; i < nmessages; i++)
		assert_int_equal(logged[from + nbefore + i], i);
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

/* Consumers tell repeated messages by the header. */
static void
test_own_id(void **state)
{
	start_with("SendToKafka", "\"payload_base64\":\"" MESSAGE_WITH_ID "\"", LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 1);
}

/* The client itself sends again what the brokers may take then. */
static void
test_answers(void **state)
{
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
	start(LATER);
	expect_reply("\"result\":\"done\"");
	set_to("\"settings\":{\"linger.ms\":0,\"batch.size\":1}");
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

/* The broker refuses a batch of 1 MB, and then one of 500 kB. */
static void
test_refused_batch(void **state)
{
	set_to("\"settings\":{" FULL_BATCHES "3}");
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
									  RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start_with("SendToKafka", "\"payload_base64\":\"" EMPTY_MESSAGE EMPTY_MESSAGE EMPTY_MESSAGE "\"", LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 3);
	assert_int_equal(ndelays, 0);
	set();
	start(LATER);
	expect_reply("\"result\":\"done\"");
}

/* Returns the data of a task whose last message has 1200 bytes. */
static char *
with_long_message(const char *before)
{
	char		rest[LONG_MESSAGE_REST + 1];

	memset(rest, 'A', LONG_MESSAGE_REST);
	rest[LONG_MESSAGE_REST] = '\0';
	return psprintf("\"payload_base64\":\"%s" LONG_MESSAGE_HEAD "%s\"", before, rest);
}

/* The next client's batches hold less than the long message, but it was not alone. */
static void
test_long_message_of_refused_batch(void **state)
{
	char	   *data = with_long_message(EMPTY_MESSAGE);

	set_to("\"settings\":{\"batch.size\":2000," FULL_BATCHES "2}");
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start_with("SendToKafka", data, LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 2);
	set_to("\"settings\":{\"linger.ms\":0,\"batch.size\":2000}");
	run_turn();
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start_with("SendToKafka", data, LATER);
	run_turn();
	set_to("\"settings\":{\"linger.ms\":0,\"batch.size\":1}");
	expect_reply("\"result\":\"done\"");
	pfree(data);
}

/*
 * The client has the third message when it learns of the refusal, and has not sent it.
 * It must not: that message would stand before the first two.  The next client's
 * batches are so small that it fills one.
 */
static void
test_rest_of_refused_batch(void **state)
{
	char	   *data = with_long_message(EMPTY_MESSAGE EMPTY_MESSAGE);

	set_to("\"settings\":{\"batch.size\":2000," FULL_BATCHES "2}");
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start_with("SendToKafka", data, LATER);
	expect_reply("\"result\":\"done\"");
	expect_order(0, 3);
	assert_int_equal(nlogged, 3);
	pfree(data);
}

/* The first message is refused while the second may be on its way. */
static void
test_order_after_refused_batch(void **state)
{
	set_to("\"settings\":{\"linger.ms\":0,\"max.in.flight.requests.per.connection\":2,"
		   "\"batch.num.messages\":1}");
	start(LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 1);
	hold_answers();
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	start_with("SendToKafka", "\"payload_base64\":\"" EMPTY_MESSAGE EMPTY_MESSAGE EMPTY_MESSAGE
			   EMPTY_MESSAGE EMPTY_MESSAGE "\"", LATER);
	run_turn();
	release_answers();
	expect_reply("\"result\":\"done\"");
	expect_order(1, 5);
}

/*
 * The broker writes the message, and its answer gets lost.  The task is tried
 * again, so the message is there twice, with one id.
 */
static void
test_lost_answer(void **state)
{
	set_to("\"settings\":{\"linger.ms\":0,\"message.timeout.ms\":3000}");
	start(LATER);
	expect_reply("\"result\":\"done\"");
	rd_kafka_mock_broker_push_request_error_rtts(cluster, BROKER, PRODUCE, 1,
												 RD_KAFKA_RESP_ERR_NO_ERROR, HOLD_MS);
	start(LATER);
	expect_reply("\"result\":\"retry\",\"message\":\"could not send to topic \\\"out\\\": Local: Message timed out\"");
	set();
	start(LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 3);
}

static bool
has_replies(void *arg)
{
	int			n = 0;

	for (int i = 0; i < replies.len; i++)
		n += replies.data[i] == '\n';
	return n >= *(int *) arg;
}

/*
 * The client can no longer tell which messages the brokers have.  Each task gets
 * its reply, and a new client sends the next ones.
 */
static void
test_fatal(void **state)
{
	int			n = 100;

	/*
	 * One request at a time, with a slow answer: the other messages wait for
	 * it.
	 */
	set_to("\"settings\":{\"linger.ms\":0,\"max.in.flight.requests.per.connection\":1,"
		   "\"batch.num.messages\":1}");
	start(LATER);
	expect_reply("\"result\":\"done\"");
	hold_answers();
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	for (int i = 0; i < n; i++)
		start(LATER);
	run_turn();
	release_answers();
	run_until(has_replies, &n);
	expect_reply("\"result\":\"retry\",\"message\":\"could not send to topic \\\"out\\\": the Kafka client failed: ");
	start(LATER);
	expect_reply("\"result\":\"done\"");
}

/* The settings change while a fatal error is under way. */
static void
test_fatal_and_reload(void **state)
{
	int			n = 10;

	hold_answers();
	rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	for (int i = 0; i < n; i++)
		start(LATER);
	run_turn();
	release_answers();
	set();
	run_until(has_replies, &n);
	resetStringInfo(&replies);
	start(LATER);
	expect_reply("\"result\":\"done\"");
}

static bool
has_delayed(void *arg)
{
	return ndelays == NDELAYS;
}

/*
 * A right that is missing makes each new client fail.  Tasks are tried later, and
 * the clients do not follow each other at full speed.
 */
static void
test_fatal_again(void **state)
{
	for (int i = 0; i <= NDELAYS; i++)
		rd_kafka_mock_push_request_errors(cluster, INIT_PRODUCER_ID, 1,
										  RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
	set();
	ndelays = 0;
	start(LATER);
	expect_reply("\"result\":\"retry\",\"message\":\"");
	run_until(has_delayed, NULL);
	for (int i = 0; i < NDELAYS; i++)
		assert_int_equal(delays[i], Min(SECONDS_TO_US(1) << i, SECONDS_TO_US(60)));
	start(LATER);
	expect_reply("\"result\":\"retry\",\"message\":\"the Kafka client failed: ");
	rd_kafka_mock_clear_request_errors(cluster, INIT_PRODUCER_ID);
	set();
	start(LATER);
	expect_reply("\"result\":\"done\"");
}

static bool
has_another_client(void *arg)
{
	return nthreads >= 2 * THREAD_OF_BROKER;
}

/* Such a client knows of no broker, and would never look for one. */
static void
test_no_thread(void **state)
{
	start(LATER);
	expect_reply("\"result\":\"done\"");
	threads_until_failure = THREAD_OF_BROKER;
	nthreads = ndelays = 0;
	set();
	start(LATER);
	expect_reply("\"result\":\"retry\",\"message\":\"could not send to topic \\\"out\\\": the Kafka client failed: Unable to create broker thread");
	run_until(has_another_client, NULL);
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

/* The brokers answer late.  The task gets no second reply then. */
static void
test_cancelled_too_late(void **state)
{
	hold_answers();
	start(LATER);
	run_turn();
	sends_cancel(sends, ID, 8, "another version");
	assert_false(has_reply(NULL));
	sends_cancel(sends, ID, 7, "told so");
	sends_cancel(sends, ID, 7, "told twice");
	assert_string_equal(replies.data, "{\"id\":\"" ID "\",\"version\":7,\"result\":\"cancelled\","
						"\"message\":\"told so; its messages may have been sent\"}\n");
	resetStringInfo(&replies);
	release_answers();
	start(LATER);
	run_until(has_reply, NULL);
	assert_string_equal(replies.data, "{\"id\":\"" ID "\",\"version\":7,\"result\":\"done\"}\n");
	assert_int_equal(count_messages(), 2);
}

/* The client has taken two messages of five. */
static void
test_cancelled_half_sent(void **state)
{
	set_to("\"settings\":{\"linger.ms\":0,\"queue.buffering.max.messages\":2,"
		   "\"max.in.flight.requests.per.connection\":1,\"batch.num.messages\":1}");
	hold_answers();
	start_with("SendToKafka", "\"payload_base64\":\"" EMPTY_MESSAGE EMPTY_MESSAGE EMPTY_MESSAGE
			   EMPTY_MESSAGE EMPTY_MESSAGE "\"", LATER);
	run_turn();
	sends_cancel(sends, ID, 7, "told so");
	expect_reply("\"result\":\"cancelled\",\"message\":\"told so; its messages may have been sent\"");
	release_answers();
	start(LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 3);
}

/* The answers come to an old client, or never. */
static void
test_cancelled_before_the_end(void **state)
{
	hold_answers();
	start(LATER);
	run_turn();
	sends_cancel(sends, ID, 7, "told so");
	expect_reply("\"result\":\"cancelled\"");
	set();
	release_answers();
	start(LATER);
	expect_reply("\"result\":\"done\"");
	assert_int_equal(count_messages(), 2);
	hold_answers();
	start(LATER);
	run_turn();
	sends_cancel(sends, ID, 7, "told so");
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
	expect_fault("\"settings\":{\"group.instance.id\":\"a\"}", "settings[\"group.instance.id\"]",
				 "displace each other");
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
		cmocka_unit_test_setup_teardown(test_own_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_message_of_refused_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rest_of_refused_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_after_refused_batch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fatal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fatal_and_reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fatal_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_too_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_half_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_before_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
