/*-------------------------------------------------------------------------
 *
 * test_worker_protocol.c
 *		The lines that a worker process reads and writes, and their times.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/iso8601.h"
#include "protocol/worker_input.h"
#include "worker_line.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"

/* ---- to the worker ---- */

static void
assert_line(const Task *task, const char *expected)
{
	StringInfoData out;

	initStringInfo(&out);
	worker_input_add_task(&out, task, SECONDS_TO_US(77));
	assert_string_equal(out.data, expected);
	assert_int_equal(out.len, strlen(expected));
	pfree(out.data);
}

static Task
plain_task(void)
{
	Task		task;

	memset(&task, 0, sizeof(task));
	strlcpy(task.id_text, ID, sizeof(task.id_text));
	task.version = PG_INT64_MAX;
	task.type = "EMAIL|A";
	task.tries = 1;
	task.max_tries = 5;
	task.deadline_text = "2031-01-02 03:04:05+00";
	return task;
}

#define START \
	"{\"id\":\"" ID "\",\"version\":9223372036854775807,\"type\":\"EMAIL|A\","
#define MIDDLE ",\"tries\":1,\"max_tries\":5,\"deadline\":\"2031-01-02 03:04:05+00\",\"start_by_ms\":77000,"

static void
test_encode(void **state)
{
	Task		task = plain_task();

	assert_line(&task, START "\"sub_type\":null" MIDDLE
				"\"data\":null,\"context\":null}\n");

	/* Texts are escaped, JSON is not touched: 0.10 stays 0.10. */
	task.sub_type = "a\"b\\c\n\001\xc3\xa9";
	task.key = "k\"1";
	task.data = "{\"n\":0.10, \"big\":123456789012345678901234567890,\n"
		"\"s\":\"\\u00e9\xc3\xa9\"}";
	task.data_len = strlen(task.data);
	task.context = "{\"traceparent\":\"00-1\"}";
	assert_line(&task, START "\"sub_type\":\"a\\\"b\\\\c\\n\\u0001\xc3\xa9\",\"key\":\"k\\\"1\""
				MIDDLE "\"data\":{\"n\":0.10, "
				"\"big\":123456789012345678901234567890, "
				"\"s\":\"\\u00e9\xc3\xa9\"},"
				"\"context\":{\"traceparent\":\"00-1\"}}\n");
}

static void
test_encode_payload(void **state)
{
	Task		task = plain_task();
	char		bytes[] = {0, 1, 2, (char) 0xff};

	task.is_binary = true;
	task.data = bytes;
	task.data_len = 4;
	assert_line(&task, START "\"sub_type\":null" MIDDLE
				"\"payload_base64\":\"AAEC/w==\",\"context\":null}\n");
	task.data_len = 0;
	assert_line(&task, START "\"sub_type\":null" MIDDLE
				"\"payload_base64\":\"\",\"context\":null}\n");
	task.data = NULL;
	assert_line(&task, START "\"sub_type\":null" MIDDLE
				"\"data\":null,\"context\":null}\n");
}

static void
test_encode_cancel(void **state)
{
	Task		task = plain_task();
	StringInfoData out;

	initStringInfo(&out);
	worker_input_add_cancel(&out, &task, "by \"me\"\n");
	assert_string_equal(out.data, "{\"cancel\":\"" ID "\","
						"\"version\":9223372036854775807,"
						"\"reason\":\"by \\\"me\\\"\\n\"}\n");
	pfree(out.data);
}

/* ---- from the worker ---- */

/* Where jansson stopped is its own business. */
static void
assert_refused(const char *line, const char *expected)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, strlen(line), &reply);

	if (error == NULL)
		fail_msg("accepted: %s", line);
	if (strncmp(error, expected, strlen(expected)) != 0)
		fail_msg("%s: %s", line, error);
	pfree(error);
	pfree(reply.message);
	pfree(reply.outcome);
}

/* JSON that is not a reply. */
static void
assert_strange(const char *line, const char *expected)
{
	WorkerReply reply = decode(line);

	assert_int_equal(reply.word, WORKER_STRANGE);
	assert_string_equal(reply.message, expected);
	worker_protocol_clear(&reply);
}

/* A reply with a fault, which is for its task alone. */
static void
assert_faulty(const char *line, TaskResult result, const char *expected)
{
	WorkerReply reply = decode(line);
	char	   *start = psprintf("reply is not as it should be: %s: \"", expected);

	assert_string_equal(reply.one.id, ID);
	assert_int_equal(reply.one.version, 3);
	assert_int_equal(reply.word, WORKER_RESULT);
	assert_int_equal(reply.result, result);
	if (strncmp(reply.message, start, strlen(start)) != 0)
		fail_msg("%s: %s", line, reply.message);
	pfree(start);
	worker_protocol_clear(&reply);
}

static void
assert_done(const char *line)
{
	WorkerReply reply = decode(line);

	assert_string_equal(reply.one.id, ID);
	assert_int_equal(reply.one.version, 3);
	assert_int_equal(reply.result, TASK_DONE);
	assert_int_equal(reply.delay_us, TASK_DELAY_BY_POLICY);
	assert_true(reply.at_us == WORKER_NO_TIME);
	assert_null(reply.message);
}

static void
test_decode(void **state)
{
	assert_done("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\"}");
	assert_done("{\"id\": \"" ID "\", \"version\": 3, \"result\": \"done\"}");
	assert_done("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\"}\r");
	assert_done(" { \"version\" : 3 , \"result\":\"d\\u006fne\", \"id\":\"" ID
				"\" } ");
	assert_done("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\","
				"\"message\":null,\"retry_in\":null,\"retry_at\":null,"
				"\"outcome\":null,\"own\":true}");
}

static void
assert_says(const char *line, WorkerWord expected)
{
	WorkerReply reply = decode(line);

	assert_string_equal(reply.one.id, ID);
	assert_int_equal(reply.one.version, 3);
	assert_int_equal(reply.word, expected);
}

/* An answer to the hello names no task. */
static void
test_decode_answer(void **state)
{
	WorkerReply reply = decode("{\"ready\":1}");

	assert_int_equal(reply.word, WORKER_READY);
	reply = decode("{\"ready\": {\"version\": \"2.1\"}, \"other\": []}");
	assert_int_equal(reply.word, WORKER_READY);
	reply = decode("{\"error\":\"no\\u0000pe\"}");
	assert_int_equal(reply.word, WORKER_REFUSED);
	assert_string_equal(reply.message, "no\\x00pe");
	pfree(reply.message);
	assert_strange("{\"error\":1}", "member \"id\" is missing or no string");
	assert_strange("{}", "member \"id\" is missing or no string");
}

static void
test_decode_started(void **state)
{
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"started\":true}", WORKER_STARTED);
	assert_says("{\"id\": \"" ID "\", \"version\": 3, \"started\": true}", WORKER_STARTED);
	assert_says("{\"started\":true,\"version\":3,\"id\":\"" ID "\"}", WORKER_STARTED);

	/* Beside a result the member is the worker's own business. */
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\",\"started\":true}", WORKER_RESULT);
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"started\":\"now\",\"result\":\"done\"}", WORKER_RESULT);
	assert_strange("{\"id\":\"" ID "\",\"version\":3,\"started\":false}", "member \"result\" is missing");
	assert_refused("{\"id\":\"" ID "\",\"version\":3,\"started\":true", "reply is not JSON");
	assert_refused("{\"id\":\"" ID "\",\"version\":3,\"started\":\"result\":\"done\"}", "reply is not JSON");
}

static void
test_decode_progress(void **state)
{
	WorkerReply reply = decode("{\"id\":\"" ID "\",\"version\":3,\"progress\":40.9,\"message\":\"page 2\"}");

	assert_int_equal(reply.word, WORKER_PROGRESS);
	assert_int_equal(reply.percent, 40);
	assert_string_equal(reply.message, "page 2");
	pfree(reply.message);
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"progress\":100}", WORKER_PROGRESS);

	/* Beside another word the member is the worker's own business. */
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\",\"progress\":\"x\"}", WORKER_RESULT);
	assert_says("{\"id\":\"" ID "\",\"version\":3,\"started\":true,\"progress\":0}", WORKER_STARTED);
	assert_strange("{\"id\":\"" ID "\",\"version\":3,\"progress\":101}", "member \"progress\" is no number from 0 to 100");
	assert_strange("{\"id\":\"" ID "\",\"version\":3,\"progress\":\"40\"}", "member \"progress\" is no number from 0 to 100");
	assert_strange("{\"id\":\"" ID "\",\"version\":3,\"progress\":40,\"message\":7}", "member \"message\" is no string");
}

#define SAID(members) \
	"{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\"," members "}"

#define REPLY(members) \
	"{\"id\":\"" ID "\",\"version\":3,\"result\":\"retry\"," members "}"

static void
test_decode_times(void **state)
{
	assert_int_equal(decode(REPLY("\"retry_in\":0")).delay_us, 0);
	assert_int_equal(decode(REPLY("\"retry_in\":1.5")).delay_us, 1500000);
	assert_int_equal(decode(REPLY("\"retry_in\":\"10min\"")).delay_us,
					 SECONDS_TO_US(600));
	assert_int_equal(decode(REPLY("\"retry_at\":\"1970-01-01T00:00:01Z\"")).at_us,
					 1000000);
	assert_faulty(REPLY("\"retry_in\":-1"), TASK_RETRY,
				  "member \"retry_in\" is neither seconds nor a duration");
	assert_faulty(REPLY("\"retry_in\":1e300"), TASK_RETRY,
				  "member \"retry_in\" is neither seconds nor a duration");
	assert_faulty(REPLY("\"retry_in\":\"10\""), TASK_RETRY,
				  "member \"retry_in\" is neither seconds nor a duration");
	assert_faulty(REPLY("\"retry_at\":\"1970-01-01T00:00:01\""), TASK_RETRY,
				  "member \"retry_at\" is no ISO 8601 time with a time zone");
	assert_faulty(REPLY("\"retry_at\":\"2031-01-01T00:00:00Z\","
						"\"retry_in\":1"), TASK_RETRY,
				  "members \"retry_in\" and \"retry_at\" exclude each other");
}

static void
test_decode_message(void **state)
{
	WorkerReply reply = decode(REPLY("\"message\":\"a\\u0000\\u001b\\nb\""));

	assert_string_equal(reply.message, "a\\x00\\x1b\nb");
	pfree(reply.message);
	reply = decode(REPLY("\"message\":\"caf\\udce9 \\ud83d\\ude00 \\ud83d \xe9\""));
	assert_string_equal(reply.message, "caf\xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd");
	pfree(reply.message);
	assert_faulty(REPLY("\"message\":7"), TASK_RETRY, "member \"message\" is no string");
}

/* The worker's own members may hold anything; members of the protocol stay exact. */
static void
test_decode_beyond_limits(void **state)
{
	WorkerReply reply;

	assert_done(SAID("\"ledger_id\":18446744073709551615"));
	assert_done(SAID("\"a\":{\"b\":[-1e999,{\"c\":1,\"c\":12345678901234567890}]}"));
	assert_done(SAID("\"own\":1,\"own\":2"));
	reply = decode("{\"a\":1e999,\"id\":\"" ID "\",\"version\":9007199254740993,\"result\":\"done\"}");
	assert_true(reply.one.version == INT64CONST(9007199254740993));
}

static void
test_decode_wrong(void **state)
{
	static const char nul[] = "{\"id\":\"" ID "\",\"version\":3,"
		"\"result\":\"done\"}\0";
	WorkerReply reply;
	char	   *error;

	assert_refused("", "reply is not JSON: syntax error");
	assert_refused("hello", "reply is not JSON: syntax error");
	assert_strange("\"text\"", "it is not an object");
	assert_strange("[]", "it is not an object");
	assert_strange("{\"id\":\"" ID "x\",\"version\":3,\"result\":\"done\"}",
				   "member \"id\" is no task id");
	assert_strange("{\"id\":\"" ID "\",\"version\":3.0,\"result\":\"done\"}",
				   "member \"version\" is missing or no integer");
	assert_strange("{\"id\":\"" ID "\",\"version\":\"3\",\"result\":\"done\"}",
				   "member \"version\" is missing or no integer");
	assert_refused("{\"id\":\"" ID "\",\"version\":03,\"result\":\"done\"}",
				   "reply is not JSON: syntax error");
	assert_strange("{\"id\":\"" ID "\",\"version\":3}", "member \"result\" is missing");
	assert_faulty("{\"id\":\"" ID "\",\"version\":3,\"result\":7}", TASK_ERROR,
				  "member \"result\" is missing or no string");

	/* Words that only the sidecar may say. */
	assert_faulty("{\"id\":\"" ID "\",\"version\":3,\"result\":\"failure\"}",
				  TASK_ERROR, "unrecognized result \"failure\"");
	assert_faulty("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\\u0000\"}",
				  TASK_ERROR, "unrecognized result \"done\\x00\"");
	assert_refused("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\"} x",
				   "reply is not JSON: syntax error");
	assert_faulty("{\"id\":\"" ID "\",\"version\":4,\"result\":\"done\","
				  "\"version\":3}", TASK_ERROR, "member \"version\" is there twice");
	assert_strange("{\"id\":\"" ID "\",\"version\":18446744073709551615,\"result\":\"done\"}",
				   "member \"version\" is missing or no integer");
	assert_faulty(REPLY("\"res\\u0075lt\":\"done\""), TASK_ERROR, "member \"result\" is there twice");
	assert_refused(REPLY("\"outcome\":[1,]"),
				   "reply is not JSON: syntax error");

	/* A byte more than the line seems to have. */
	error = worker_protocol_decode(nul, sizeof(nul) - 1, &reply);
	assert_non_null(error);
	pfree(error);
}

static void
assert_outcome(const char *line, const char *expected)
{
	WorkerReply reply = decode(line);

	assert_string_equal(reply.outcome, expected);
	pfree(reply.outcome);
}

#define DONE(members) \
	"{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\"," members "}"

/* Tasks to add are kept as they were written; the database reads them. */
static void
test_decode_add(void **state)
{
	WorkerReply reply = decode(DONE("\"add\": [{\"type\": \"A\", \"data\": {\"n\": 1.10}}, 7], \"own\": {\"add\": 1}"));

	assert_string_equal(reply.add, "[{\"type\": \"A\", \"data\": {\"n\": 1.10}}, 7]");
	worker_protocol_clear(&reply);
	reply = decode(DONE("\"add\": [{\"type\": \"A]}\", \"data\": [[\"\\\"}\"]]}]"));
	assert_string_equal(reply.add, "[{\"type\": \"A]}\", \"data\": [[\"\\\"}\"]]}]");
	assert_int_equal(reply.result, TASK_DONE);
	worker_protocol_clear(&reply);
	reply = decode(DONE("\"add\":[],\"message\":\"x\""));
	assert_string_equal(reply.add, "[]");
	assert_string_equal(reply.message, "x");
	worker_protocol_clear(&reply);
	reply = decode(DONE("\"add\": null"));
	assert_null(reply.add);
	worker_protocol_clear(&reply);
	assert_refused(DONE("\"add\": [1"), "reply is not JSON: syntax error");
	assert_refused(DONE("\"add\": [1]]"), "reply is not JSON: syntax error");
	assert_faulty(DONE("\"add\": {}"), TASK_ERROR, "member \"add\" is no array");
	assert_faulty(DONE("\"add\": [\"\\ud83d\"]"), TASK_ERROR, "member \"add\" has half of a surrogate pair");
	reply = decode(DONE("\"add\": [], \"message\": 7"));
	assert_int_equal(reply.result, TASK_DONE);
	assert_string_equal(reply.add, "[]");
	worker_protocol_clear(&reply);
	assert_faulty(DONE("\"add\": [\"\\u0000\"]"), TASK_ERROR, "member \"add\" has a NUL");
	assert_faulty(DONE("\"add\": [], \"add\": []"), TASK_ERROR, "member \"add\" is there twice");
	assert_faulty(REPLY("\"add\": []"), TASK_ERROR,
				  "member \"add\" goes with the results done and delete only");
}

/* In each form of a reply an id is text. */
static void
test_bytes_in_id(void **state)
{
	WorkerReply reply = decode("{\"id\":\"a\xff\",\"version\":3,\"result\":\"done\"}");

	assert_string_equal(reply.one.id, "a\xef\xbf\xbd");
	worker_protocol_clear(&reply);
	assert_refused("{\"id\":\"a\001\",\"version\":3,\"result\":\"done\"}", "reply is not JSON: syntax error");
	assert_refused("{\"id\":\"a\001\",\"version\":3,\"started\":true}", "reply is not JSON: syntax error");
}

/* A raw NUL is not JSON, and the texts that we keep would end there. */
static void
test_raw_nul(void **state)
{
	static const char *const lines[] = {
		DONE("\"add\": [{\"type\":\"A@\"}]"), DONE("\"message\":\"a@b\""), DONE("\"own\":@"), "@"
	};

	for (size_t i = 0; i < lengthof(lines); i++)
	{
		char	   *line = pstrdup(lines[i]);
		size_t		len = strlen(line);
		char	   *nul = strchr(line, '@');
		char	   *expected = psprintf("reply is not JSON: byte %d is a NUL", (int) (nul - line) + 1);
		WorkerReply reply;
		char	   *error;

		*nul = '\0';
		error = worker_protocol_decode(line, len, &reply);
		assert_non_null(error);
		assert_string_equal(error, expected);
		worker_protocol_clear(&reply);
		pfree(error);
		pfree(expected);
		pfree(line);
	}
}

/* A reply whose tasks nest in so many levels; the caller frees it. */
static char *
nested(int levels, const char *members)
{
	StringInfoData line;

	initStringInfo(&line);
	appendStringInfo(&line, "{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\",%s\"add\":", members);
	for (int i = 0; i < levels; i++)
		appendStringInfoChar(&line, '[');
	for (int i = 0; i < levels; i++)
		appendStringInfoChar(&line, ']');
	appendStringInfoChar(&line, '}');
	return line.data;
}

/* In every form of a reply: the database could not read tasks that nest deeper. */
static void
test_decode_add_deep(void **state)
{
	static const char *const members[] = {"", "\"own\":1,"};

	for (int i = 0; i < (int) lengthof(members); i++)
	{
		char	   *deep = nested(2000, members[i]);
		char	   *deeper = nested(2048, members[i]);
		char	   *deepest = nested(20000, members[i]);
		WorkerReply reply = decode(deep);

		assert_int_equal(strlen(reply.add), 4000);
		worker_protocol_clear(&reply);
		assert_faulty(deeper, TASK_ERROR, "it nests too deep");
		assert_faulty(deepest, TASK_ERROR, "it nests too deep");
		pfree(deep);
		pfree(deeper);
		pfree(deepest);
	}
}

/* A line that is too long to be read, of which the head may name its task. */
static void
test_decode_long(void **state)
{
	WorkerReply reply;

	assert_true(worker_protocol_decode_long("{\"id\":\"" ID "\",\"version\":3,\"result\":\"done\",\"add\":[\"xxx", &reply));
	assert_string_equal(reply.one.id, ID);
	assert_int_equal(reply.one.version, 3);
	assert_int_equal(reply.result, TASK_ERROR);
	assert_non_null(strstr(reply.message, "it is longer than 1 MB"));
	worker_protocol_clear(&reply);
	assert_false(worker_protocol_decode_long("xxxx", &reply));
	worker_protocol_clear(&reply);
	assert_false(worker_protocol_decode_long("{\"id\":\"" ID "\",\"vers", &reply));
	worker_protocol_clear(&reply);
}

/* An outcome keeps the digits of its numbers. */
static void
test_decode_outcome(void **state)
{
	char	   *longest = psprintf("{\"a\":\"%08184d\"}", 0);
	char	   *longer = psprintf("{\"a\":\"%08185d\"}", 0);
	char	   *line;

	assert_int_equal(strlen(longest), WORKER_OUTCOME_MAX);
	assert_outcome(REPLY("\"outcome\":{}"), "{}");
	assert_outcome(REPLY("\"outcome\": {\"amount\": 12.10, \"n\": [123456789012345678901, {\"\\\"}\": \"]\"}]} , \"own\": 1"),
				   "{\"amount\": 12.10, \"n\": [123456789012345678901, {\"\\\"}\": \"]\"}]}");
	assert_outcome(REPLY("\"own\": {\"outcome\": {\"no\": 1}}, \"outcome\": {\"yes\": \"\\\\u0000\"}"), "{\"yes\": \"\\\\u0000\"}");
	line = psprintf(REPLY("\"outcome\":%s"), longest);
	assert_outcome(line, longest);
	pfree(line);
	line = psprintf(REPLY("\"outcome\":%s"), longer);
	assert_faulty(line, TASK_ERROR, "member \"outcome\" has more than 8192 bytes");
	pfree(line);
	assert_faulty(REPLY("\"outcome\":[1]"), TASK_ERROR, "member \"outcome\" is no object");
	assert_faulty(REPLY("\"outcome\":\"done\""), TASK_ERROR, "member \"outcome\" is no object");
	assert_faulty(REPLY("\"\\u006futcome\":{}"), TASK_ERROR, "member \"outcome\" is no object");
	assert_faulty(REPLY("\"outcome\":{},\"outcome\":{}"), TASK_ERROR, "member \"outcome\" is there twice");
	assert_faulty(REPLY("\"outcome\":{\"a\":\"\\u0000\"}"), TASK_ERROR, "member \"outcome\" has a NUL");
	assert_faulty(REPLY("\"outcome\":{\"a\":\"\xff\"}"), TASK_ERROR, "member \"outcome\" has bytes that are not UTF-8");
	assert_faulty(REPLY("\"outcome\":{\"a\":\"\\udce9\"}"), TASK_ERROR, "member \"outcome\" has half of a surrogate pair");
	assert_outcome(REPLY("\"outcome\":{\"a\":\"\\ud83d\\ude00\"}"), "{\"a\":\"\\ud83d\\ude00\"}");
	pfree(longest);
	pfree(longer);
}

/* Every line is accepted or refused; the sanitizers watch. */
static void
test_decode_mutations(void **state)
{
	static const char line[] = "{\"id\":\"" ID "\",\"version\":3,"
		"\"result\":\"retry\",\"retry_at\":\"2031-01-02T03:04:05.5+02:00\","
		"\"message\":\"m\"}";
	Chance		chance;
	int			step;

	chance_init(&chance, test_seed());
	for (step = 0; step < 200000; step++)
	{
		char	   *copy = pstrdup(line);
		int			nchanges = 1 + chance_below(&chance, 3);
		size_t		len;
		WorkerReply reply;

		while (nchanges-- > 0)
			copy[chance_below(&chance, sizeof(line) - 1)] =
				(char) chance_below(&chance, 256);
		len = chance_percent(&chance, 50) ? strlen(copy) : sizeof(line) - 1;
		pfree(worker_protocol_decode(copy, len, &reply));
		pfree(reply.message);
		pfree(copy);
	}
}

/* ---- times ---- */

static int64
parse_time(const char *text)
{
	int64		us;

	if (!iso8601_parse(text, &us))
		fail_msg("refused: %s", text);
	return us;
}

static void
test_times(void **state)
{
	static const char *const wrong[] = {
		"", "2031", "2031-01-01", "2031-01-01T00:00", "2031-02-29T00:00Z",
		"2100-02-29T00:00Z", "2031-13-01T00:00Z", "2031-00-01T00:00Z",
		"2031-01-00T00:00Z", "2031-01-01T24:00Z", "2031-01-01T00:60Z",
		"2031-01-01T00:00:61Z", "2031-01-01T00:00:00.Z", "0000-01-01T00:00Z",
		"2031-01-01T00:00:00ZZ", "2031-01-01T00:00:00+1", "2031-1-01T00:00Z",
		"2031-01-01T00:00:00+02:", "2031-01-01T00:00:00+19:00",
		"+2031-01-01T00:00Z", "2031-01-01T00:00:00+02:00x"
	};
	int			i;

	assert_int_equal(parse_time("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(parse_time("2000-02-29 12:00z"),
					 SECONDS_TO_US(951825600));
	assert_int_equal(parse_time("2031-05-06T07:08:09.25Z"),
					 SECONDS_TO_US(1935817689) + 250000);
	assert_int_equal(parse_time("2031-05-06T07:08:09.1234567+02:00"),
					 SECONDS_TO_US(1935817689 - 7200) + 123456);
	assert_int_equal(parse_time("2031-05-06T07:08:09-0530"),
					 SECONDS_TO_US(1935817689 + 19800));
	assert_int_equal(parse_time("2031-05-06 07:08:09+00"),
					 SECONDS_TO_US(1935817689));
	assert_int_equal(parse_time("0001-01-01T00:00Z"),
					 SECONDS_TO_US(-62135596800));
	assert_int_equal(parse_time("9999-12-31T23:59:60Z"),
					 SECONDS_TO_US(253402300800));
	for (i = 0; i < (int) lengthof(wrong); i++)
	{
		int64		us;

		if (iso8601_parse(wrong[i], &us))
			fail_msg("accepted: %s", wrong[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_in_id),
		cmocka_unit_test(test_raw_nul),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_encode_payload),
		cmocka_unit_test(test_encode_cancel),
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_decode_started),
		cmocka_unit_test(test_decode_progress),
		cmocka_unit_test(test_decode_answer),
		cmocka_unit_test(test_decode_times),
		cmocka_unit_test(test_decode_message),
		cmocka_unit_test(test_decode_beyond_limits),
		cmocka_unit_test(test_decode_wrong),
		cmocka_unit_test(test_decode_outcome),
		cmocka_unit_test(test_decode_long),
		cmocka_unit_test(test_decode_add),
		cmocka_unit_test(test_decode_add_deep),
		cmocka_unit_test(test_decode_mutations),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
