/*-------------------------------------------------------------------------
 *
 * test_http_reply.c
 *		What statuses, Retry-After and JSON of an answer mean for a task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/http/http_reply.h"
#include "options/statuses.h"

/* Sat, 31 Jan 2026 12:00:00 GMT */
#define NOW_US (INT64CONST(1769860800) * 1000000)
#define HOUR_US SECONDS_TO_US(3600)
#define DAY_US SECONDS_TO_US(86400)

/* ---- Retry-After ---- */

static void
expect_wait(const char *text, int64 us)
{
	int64		delay_us = -1;

	if (!http_retry_after(text, NOW_US, &delay_us))
		fail_msg("not understood: \"%s\"", text);
	if (delay_us != us)
		fail_msg("\"%s\": " INT64_FORMAT, text, delay_us);
}

static void
test_retry_after(void **state)
{
	expect_wait("120", SECONDS_TO_US(120));
	expect_wait(" 7 ", SECONDS_TO_US(7));
	expect_wait("0", SECONDS_TO_US(1));
	expect_wait("86400", DAY_US);
	expect_wait("86401", DAY_US);
	expect_wait("999999999", DAY_US);
	expect_wait("99999999999999999999999999", DAY_US);
	expect_wait("Sat, 31 Jan 2026 13:00:00 GMT", HOUR_US);
	expect_wait("Saturday, 31-Jan-26 13:00:00 GMT", HOUR_US);
	expect_wait("Sat Jan 31 13:00:00 2026", HOUR_US);
	expect_wait("Sat, 31 Jan 2026 11:00:00 GMT", SECONDS_TO_US(1));
	expect_wait("Thu, 01 Jan 1970 00:00:01 GMT", SECONDS_TO_US(1));
	expect_wait("Sat, 31 Jan 2099 13:00:00 GMT", DAY_US);
}

static void
test_no_retry_after(void **state)
{
	static const char *const wrong[] = {
		"", " ", "-1", "1.5", "1e3", "5s", "soon", "12 34", "0x10", "+5", "Sat, 31 Jan", "tomorrow"
	};

	for (int i = 0; i < (int) lengthof(wrong); i++)
	{
		int64		delay_us;

		if (http_retry_after(wrong[i], NOW_US, &delay_us))
			fail_msg("understood: \"%s\"", wrong[i]);
	}
}

/* ---- statuses ---- */

static char *const no_statuses[] = {NULL};

static TaskResult
judge(int status, const char *retry_after, char *const *statuses, int64 *delay_us)
{
	HttpReply	reply = {.status = status, .retry_after = retry_after, .body = "text", .now_us = NOW_US};
	Verdict		verdict;
	TaskResult	result;

	http_reply_judge(&reply, statuses, &verdict);
	if (delay_us != NULL)
		*delay_us = verdict.delay_us;
	if (verdict.result == TASK_DONE || verdict.result == TASK_DELETE)
		assert_null(verdict.message);
	else
	{
		char		expected[64];

		snprintf(expected, sizeof(expected), "server answered %d: text", status);
		assert_string_equal(verdict.message, expected);
	}
	result = verdict.result;
	verdict_clear(&verdict);
	return result;
}

static void
test_default_statuses(void **state)
{
	static const struct
	{
		int			status;
		TaskResult	result;
	}			expected[] = {
		{200, TASK_DONE}, {201, TASK_DONE}, {202, TASK_DONE}, {204, TASK_DONE}, {299, TASK_DONE},
		{408, TASK_RETRY}, {409, TASK_RETRY}, {425, TASK_RETRY}, {429, TASK_RETRY}, {503, TASK_RETRY},
		{400, TASK_ERROR}, {405, TASK_ERROR}, {410, TASK_ERROR}, {413, TASK_ERROR}, {415, TASK_ERROR},
		{422, TASK_ERROR}, {431, TASK_ERROR}, {501, TASK_ERROR},
		{301, TASK_FAILURE}, {302, TASK_FAILURE}, {307, TASK_FAILURE}, {401, TASK_FAILURE},
		{403, TASK_FAILURE}, {404, TASK_FAILURE}, {500, TASK_FAILURE}, {502, TASK_FAILURE},
		{504, TASK_FAILURE}, {599, TASK_FAILURE}
	};

	for (int i = 0; i < (int) lengthof(expected); i++)
	{
		TaskResult	result = judge(expected[i].status, NULL, no_statuses, NULL);

		if (result != expected[i].result)
			fail_msg("%d: %s", expected[i].status, task_result_name(result));
	}
}

static void
test_given_statuses(void **state)
{
	char	   *given[] = {"4xx=error", "404=done", "503=failure", "202=accepted", "2xx=delete", NULL};

	assert_int_equal(judge(404, NULL, given, NULL), TASK_DONE);
	assert_int_equal(judge(429, NULL, given, NULL), TASK_ERROR);
	assert_int_equal(judge(503, NULL, given, NULL), TASK_FAILURE);
	assert_int_equal(judge(202, NULL, given, NULL), TASK_ACCEPTED);
	assert_int_equal(judge(200, NULL, given, NULL), TASK_DELETE);
	assert_int_equal(judge(500, NULL, given, NULL), TASK_FAILURE);
}

static void
test_status_words(void **state)
{
	static const char *const right[] = {"0=done", "80=repeat", "255=delete", "4xx=error", "503=failure", "202=accepted", "75=retry"};
	static const char *const wrong[] = {
		"", "=", "404", "404=", "=done", "404=maybe", "404 = done", "4x=done", "xx=done", "40x=done",
		"01=done", "1000=done", "-1=done", "404=cancelled", "404=release", "4XX=done", "404=done ", "44xx=done"
	};

	for (int i = 0; i < (int) lengthof(right); i++)
		if (statuses_check(right[i]) != NULL)
			fail_msg("refused: %s", right[i]);
	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (statuses_check(wrong[i]) == NULL)
			fail_msg("taken: %s", wrong[i]);
}

static void
test_status_lists(void **state)
{
	char	   *twice[] = {"404=done", "404=error", NULL};
	char	   *both[] = {"404=done", "4xx=error", NULL};
	char	   *large[] = {"404=done", NULL};
	char	   *small[] = {"80=done", NULL};
	char	   *class[] = {"2xx=done", NULL};
	TaskResult	result;

	assert_null(statuses_check_all(NULL, 0, 255));
	assert_null(statuses_check_all(both, 100, 599));
	assert_string_equal(statuses_check_all(twice, 100, 599), "a status is there twice");
	assert_non_null(statuses_check_all(large, 0, 255));
	assert_non_null(statuses_check_all(small, 100, 599));
	assert_string_equal(statuses_check_all(class, 0, 255), "exit statuses have no classes");
	assert_false(statuses_find(NULL, 1, &result));
	assert_false(statuses_find(large, 403, &result));
}

static void
test_retry_after_of_statuses(void **state)
{
	char	   *given[] = {"404=error", "201=repeat", NULL};
	int64		delay_us;

	assert_int_equal(judge(503, "120", no_statuses, &delay_us), TASK_RETRY);
	assert_int_equal(delay_us, SECONDS_TO_US(120));
	assert_int_equal(judge(500, "120", no_statuses, &delay_us), TASK_RETRY);
	assert_int_equal(delay_us, SECONDS_TO_US(120));
	assert_int_equal(judge(201, "120", given, &delay_us), TASK_REPEAT);
	assert_int_equal(delay_us, SECONDS_TO_US(120));
	assert_int_equal(judge(404, "120", given, &delay_us), TASK_ERROR);
	assert_int_equal(judge(200, "120", no_statuses, &delay_us), TASK_DONE);
	assert_int_equal(judge(503, "soon", no_statuses, &delay_us), TASK_RETRY);
	assert_int_equal(delay_us, TASK_DELAY_BY_POLICY);
	assert_int_equal(judge(500, "soon", no_statuses, &delay_us), TASK_FAILURE);
}

/* ---- JSON ---- */

static void
expect_json(const char *json, TaskResult result, int64 delay_us, const char *message)
{
	HttpReply	reply = {.status = 200, .json = json, .json_len = strlen(json), .body = json, .now_us = NOW_US};
	Verdict		verdict;
	const char *said;

	http_reply_judge(&reply, no_statuses, &verdict);
	said = verdict.message;
	if (verdict.result != result || verdict.delay_us != delay_us ||
		(said == NULL) != (message == NULL) || (said != NULL && strcmp(said, message) != 0))
		fail_msg("%s: %s, " INT64_FORMAT ", %s", json, task_result_name(verdict.result),
				 verdict.delay_us, said ? said : "no message");
	verdict_clear(&verdict);
}

static void
expect_text(const char *text, const char *expected)
{
	if (expected == NULL)
		assert_null(text);
	else
		assert_string_equal(text, expected);
}

static void
expect_outcome(const char *json, const char *outcome, const char *add)
{
	HttpReply	reply = {.status = 200, .json = json, .json_len = strlen(json), .body = json, .now_us = NOW_US};
	Verdict		verdict;

	http_reply_judge(&reply, no_statuses, &verdict);
	assert_int_equal(verdict.result, TASK_DONE);
	expect_text(verdict.outcome, outcome);
	expect_text(verdict.add, add);
	verdict_clear(&verdict);
}

static void
test_outcome(void **state)
{
	expect_outcome("{\"result\": \"done\", \"outcome\": {\"amount\": 1.10}}", "{\"amount\": 1.10}", NULL);
	expect_outcome("{\"result\": \"done\"}", NULL, NULL);
	expect_outcome("{\"outcome\": {\"a\": 1}}", NULL, NULL);
	expect_outcome("{\"result\": \"booked\", \"outcome\": {\"a\": 1}}", NULL, NULL);
	expect_outcome("{\"result\": \"done\", \"add\": [{\"type\": \"A\"}]}", NULL, "[{\"type\": \"A\"}]");
	expect_outcome("\xef\xbb\xbf{\"result\": \"done\", \"add\": [1]}", NULL, "[1]");
	expect_json("{\"result\": \"done\", \"outcome\": 7}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"outcome\" is no object");
	expect_json("{\"result\": \"done\", \"outcome\": {\"a\": \"\\udce9\"}}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"outcome\" has half of a surrogate pair");
	expect_json("{\"result\": \"done\", \"outcome\": {\"a\": \"\xff\"}}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"outcome\" has bytes that are not UTF-8");
	expect_json("{\"result\": \"error\", \"message\": \"caf\\udce9\"}", TASK_ERROR, TASK_DELAY_BY_POLICY, "caf\xef\xbf\xbd");
	expect_json("{\"result\": \"done\", \"add\": 7}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"add\" is no array");
	expect_json("{\"result\": \"retry\", \"add\": []}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"add\" goes with the results done and delete only");
}

static void
test_json(void **state)
{
	expect_json("{\"result\": \"done\"}", TASK_DONE, TASK_DELAY_BY_POLICY, NULL);
	expect_json("{\"result\": \"delete\"}", TASK_DELETE, TASK_DELAY_BY_POLICY, NULL);
	expect_json("{\"result\": \"accepted\", \"message\": \"queued\"}", TASK_ACCEPTED, TASK_DELAY_BY_POLICY, "queued");
	expect_json("{\"result\": \"error\", \"message\": \"no\"}", TASK_ERROR, TASK_DELAY_BY_POLICY, "no");
	expect_json("{\"result\": \"retry\", \"retry_in\": 90}", TASK_RETRY, SECONDS_TO_US(90), NULL);
	expect_json("{\"result\": \"repeat\", \"retry_in\": \"1h\"}", TASK_REPEAT, HOUR_US, NULL);
	expect_json("{\"result\": \"retry\", \"retry_at\": \"2026-01-31T13:00:00Z\"}", TASK_RETRY, HOUR_US, NULL);
	expect_json("{\"result\": \"retry\", \"retry_at\": \"2026-01-31T11:00:00Z\"}", TASK_RETRY, 0, NULL);
}

/* The status has said that it is done. */
static void
test_json_of_others(void **state)
{
	static const char *const others[] = {
		"{}", "[]", "true", "7", "nonsense", "{\"result\": \"ok\"}", "{\"result\": 7}", "{\"result\": {\"id\": 1}}",
		"{\"result\": null}", "{\"result\": \"DONE\"}", "{\"id\": 1}", "{\"id\": 1, \"id\": 2}", "{\"a\": {\"result\": 1, \"result\": 2}}",
		"{\"ledger_id\": 18446744073709551615}", "{\"result\": 1e999}", "[1e999, {\"result\": \"error\"}]",
		"OK", " [{\"result\": \"error\"}"
	};

	for (int i = 0; i < (int) lengthof(others); i++)
		expect_json(others[i], TASK_DONE, TASK_DELAY_BY_POLICY, NULL);
}

/* Other members may hold anything: the result counts. */
static void
test_json_beyond_limits(void **state)
{
	static const char *const more[] = {
		"18446744073709551615", "-9223372036854775809", "1e999", "-1.5E+400", "[{\"a\": [12345678901234567890, 7]}]",
		"{\"id\": 1, \"id\": 2}", "{\"result\": \"done\", \"result\": \"done\"}", "\"\\\"18446744073709551615 \\\\\"",
		"1e999, \"ledger_id\": 1e999"
	};

	for (int i = 0; i < (int) lengthof(more); i++)
	{
		char	   *json = psprintf("{\"result\": \"retry\", \"ledger_id\": %s, \"retry_in\": 90}", more[i]);

		expect_json(json, TASK_RETRY, SECONDS_TO_US(90), NULL);
		pfree(json);
	}
	expect_json("\xef\xbb\xbf{\"result\": \"delete\"}", TASK_DELETE, TASK_DELAY_BY_POLICY, NULL);
	expect_json("{\"result\": \"retry\", \"retry_in\": 1e999}", TASK_RETRY, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"retry_in\" is neither seconds nor a duration");
}

/* It may have said that nothing was done, or that nothing must be done again. */
static void
test_json_unreadable(void **state)
{
	expect_json(" {\"result\": \"retry\"", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: syntax error in its JSON at byte 19");
	expect_json("\xef\xbb\xbf {\"result\": \"retry\"", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: syntax error in its JSON at byte 19");
	expect_json("{\"result\": \"retry\", \"id\": 018446744073709551615}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: syntax error in its JSON at byte 27");
	expect_json("{\"result\": \"retry\", \"r\\u0065sult\": \"ok\"}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"result\" is there twice");
}

/* Begins so, and its end is not read. */
static void
expect_cut_json(const char *beginning, TaskResult result)
{
	char	   *json = psprintf("%s%*s", beginning, 1000, "");
	HttpReply	reply = {.status = 200, .json = json, .json_len = strlen(json), .is_cut = true, .body = ""};
	Verdict		verdict;

	http_reply_judge(&reply, no_statuses, &verdict);
	assert_int_equal(verdict.result, result);
	if (result == TASK_ERROR)
		assert_string_equal(verdict.message, "answer is not as it should be: its JSON has more than 1 MB");
	verdict_clear(&verdict);
	pfree(json);
}

/* A result or tasks to add may stand behind the end that is read. */
static void
test_json_too_long(void **state)
{
	static const char *const beginnings[] = {
		"{\"result\": \"done\", \"add\": [\"", "{\"result\": \"done\", \"more\": \"", "{\"add\": [{\"type\": \"A\"}], \"more\": \"",
		" {\"a\": {\"result\": \"ok\"}, \"result\":\"retry\"", "{\"more\": [{}], \"add\" : [", "{\"add\": 1, \"result\": \"error\"",
		"\xef\xbb\xbf{\"result\": \"done\", \"add\": [\"", "{\"more\": \"", "{\"", "{\"more\": {\"result\": \"ok\"}, \"even\": [",
		"{\"result\": \"", "{\"result\": \"ok", "{"
	};

	for (int i = 0; i < (int) lengthof(beginnings); i++)
		expect_cut_json(beginnings[i], TASK_ERROR);
}

static void
test_json_of_others_too_long(void **state)
{
	static const char *const beginnings[] = {
		"{\"result\": {\"add\": [1], \"result\": \"done\"}, \"more\": \"", "{\"result\": \"ok\", \"add\": [",
		"[{\"result\": \"done\", \"add\": [", "nonsense", ""
	};

	for (int i = 0; i < (int) lengthof(beginnings); i++)
		expect_cut_json(beginnings[i], TASK_DONE);
}

/* Members of the protocol may stand behind any others. */
static void
test_longest_json(void **state)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"more\": \"");
	appendStringInfoSpaces(&json, HTTP_ANSWER_MAX - 100);
	appendStringInfoString(&json, "\", \"result\": \"done\", \"add\": [{\"type\": \"A\"}]}");
	expect_outcome(json.data, NULL, "[{\"type\": \"A\"}]");
	pfree(json.data);
}

/* The line of the reply has 1 MB. */
static void
test_longest_add(void **state)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"result\": \"done\", \"outcome\": {}, \"add\": [");
	appendStringInfoSpaces(&json, HTTP_ADD_MAX - 1);
	appendStringInfoString(&json, "]}");
	expect_json(json.data, TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"add\" has more than 512 kB");
	pfree(json.data);
}

/* We asked for no coding, and cannot read one. */
static void
test_coded_json(void **state)
{
	HttpReply	reply = {.status = 200, .coding = "gzip", .json = "\x1f\x8b", .json_len = 2, .body = ""};
	Verdict		verdict;

	http_reply_judge(&reply, no_statuses, &verdict);
	assert_int_equal(verdict.result, TASK_ERROR);
	assert_string_equal(verdict.message,
						"answer is not as it should be: its JSON is encoded as gzip, which was not asked for");
	verdict_clear(&verdict);
	reply.json = NULL;
	http_reply_judge(&reply, no_statuses, &verdict);
	assert_int_equal(verdict.result, TASK_DONE);
	verdict_clear(&verdict);
}

static void
test_json_with_faults(void **state)
{
	expect_json("{\"result\": \"retry\", \"message\": \"a\", \"message\": \"b\"}", TASK_RETRY, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"message\" is there twice");
	expect_json("{\"result\": \"done\", \"message\": {}}", TASK_DONE, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"message\" is no string");
	expect_json("{\"result\": \"retry\", \"retry_in\": \"soon\"}", TASK_RETRY, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"retry_in\" is neither seconds nor a duration");
	expect_outcome("{\"result\": \"done\", \"message\": 7, \"outcome\": {\"a\": 1}}", "{\"a\": 1}", NULL);
	expect_outcome("{\"result\": \"done\", \"retry_in\": \"soon\", \"add\": [1]}", NULL, "[1]");
	expect_json("{\"result\": \"done\", \"message\": \"a\", \"message\": \"b\", \"outcome\": {}}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"message\" is there twice");
	expect_json("{\"result\": \"done\", \"outcome\": {}, \"outcome\": null}", TASK_ERROR, TASK_DELAY_BY_POLICY,
				"answer is not as it should be: member \"outcome\" is there twice");
}

static void
test_content_types(void **state)
{
	assert_true(http_is_json("application/json"));
	assert_true(http_is_json("Application/JSON; charset=utf-8"));
	assert_true(http_is_json("application/problem+json"));
	assert_false(http_is_json(NULL));
	assert_false(http_is_json(""));
	assert_false(http_is_json("text/plain"));
	assert_false(http_is_json("application/jsonp"));
	assert_false(http_is_json("text/html; x=application/json"));
	assert_false(http_is_json("+json"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_no_retry_after),
		cmocka_unit_test(test_default_statuses),
		cmocka_unit_test(test_given_statuses),
		cmocka_unit_test(test_status_words),
		cmocka_unit_test(test_status_lists),
		cmocka_unit_test(test_retry_after_of_statuses),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_outcome),
		cmocka_unit_test(test_json_of_others),
		cmocka_unit_test(test_json_beyond_limits),
		cmocka_unit_test(test_json_unreadable),
		cmocka_unit_test(test_json_too_long),
		cmocka_unit_test(test_json_of_others_too_long),
		cmocka_unit_test(test_longest_json),
		cmocka_unit_test(test_longest_add),
		cmocka_unit_test(test_coded_json),
		cmocka_unit_test(test_json_with_faults),
		cmocka_unit_test(test_content_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
