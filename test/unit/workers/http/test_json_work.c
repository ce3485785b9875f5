/*-------------------------------------------------------------------------
 *
 * test_json_work.c
 *		How much of what others send is read as JSON, and how often: each text
 *		once, whatever it holds, since the loop stands still meanwhile.
 *
 * The reading is replaced by one that counts.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "base/foreign_json.h"
#include "workers/http/http_reply.h"
#include "protocol/worker_protocol.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"

static size_t bytes_read;

json_t *
foreign_json_load(const char *text, size_t len, const char *const *names,
				  ForeignJsonFault *fault)
{
	(void) names;
	bytes_read += len;
	memset(fault, 0, sizeof(*fault));
	return json_loadb(text, len, 0, NULL);
}

const char *
foreign_json_start(const char *text)
{
	return text;
}

/* With all of our members and many others. */
static char *
long_object(size_t len)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"id\":\"" ID "\",\"version\":3,\"result\":\"retry\","
						   "\"retry_in\":5,\"message\":\"m\"");
	for (int i = 0; json.len < (int) len - 100; i++)
		appendStringInfo(&json, ",\"m%d\":%d", i, i);
	appendStringInfoChar(&json, '}');
	return json.data;
}

static void
test_line_is_read_once(void **state)
{
	char	   *line = long_object(WORKER_LINE_MAX);
	WorkerReply reply;

	bytes_read = 0;
	assert_null(worker_protocol_decode(line, strlen(line), &reply));
	assert_int_equal(reply.result, TASK_RETRY);
	assert_int_equal(bytes_read, strlen(line));
	pfree(reply.message);
	pfree(line);
}

static TaskResult
judge(const char *json)
{
	HttpReply	reply = {
		.status = 200, .json = json, .json_len = strlen(json), .is_cut = strlen(json) > HTTP_ANSWER_MAX, .body = ""
	};
	Verdict		verdict;
	TaskResult	result;

	bytes_read = 0;
	http_reply_judge(&reply, NULL, &verdict);
	result = verdict.result;
	verdict_clear(&verdict);
	return result;
}

static void
test_answer_is_read_once_or_not_at_all(void **state)
{
	char	   *json = long_object(HTTP_ANSWER_MAX);

	assert_int_equal(judge(json), TASK_RETRY);
	assert_int_equal(bytes_read, strlen(json));
	pfree(json);

	json = long_object(HTTP_ANSWER_MAX + 1000);
	assert_int_equal(judge(json), TASK_ERROR);
	assert_int_equal(bytes_read, 0);
	pfree(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_is_read_once),
		cmocka_unit_test(test_answer_is_read_once_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
