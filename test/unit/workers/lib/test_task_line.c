/*-------------------------------------------------------------------------
 *
 * test_task_line.c
 *		What a sidecar writes, a bundled worker reads: to the last byte.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "protocol/worker_input.h"
#include "workers/lib/task_line.h"

#define ID "0190d1a2-0000-7000-8000-000000000001"

static Task
plain_task(void)
{
	Task		task = {
		.id_text = ID,
		.version = PG_INT64_MAX,
		.type = "SEND|X",
		.tries = 2,
		.max_tries = 5,
		.deadline_text = "2031-01-02T03:04:05Z"
	};

	return task;
}

static void
assert_text(const char *actual, const char *expected)
{
	if (expected == NULL)
		assert_null(actual);
	else
		assert_string_equal(actual, expected);
}

static void
assert_same(const Task *task)
{
	StringInfoData line;
	int64		start_by_us;
	Task	   *read;

	initStringInfo(&line);
	worker_input_add_task(&line, task, SECONDS_TO_US(77));
	read = task_line_read(line.data, &start_by_us);
	assert_non_null(read);
	assert_int_equal(start_by_us, SECONDS_TO_US(77));
	assert_string_equal(read->id_text, task->id_text);
	assert_int_equal(read->version, task->version);
	assert_string_equal(read->type, task->type);
	assert_text(read->sub_type, task->sub_type);
	assert_text(read->key, task->key);
	assert_int_equal(read->tries, task->tries);
	assert_int_equal(read->max_tries, task->max_tries);
	assert_string_equal(read->deadline_text, task->deadline_text);
	assert_text(read->context, task->context);
	assert_int_equal(read->is_binary, task->is_binary);
	assert_int_equal(read->data_len, task->data_len);
	assert_int_equal(read->data == NULL, task->data == NULL);
	if (task->data != NULL)
		assert_memory_equal(read->data, task->data, task->data_len);
	task_line_free(read);
	pfree(line.data);
}

static void
assert_same_data(const char *json)
{
	Task		task = plain_task();

	task.data = unconstify(char *, json);
	task.data_len = strlen(json);
	task.context = unconstify(char *, json);
	assert_same(&task);
}

static void
test_texts(void **state)
{
	Task		task = plain_task();

	assert_same(&task);
	task.max_tries = 0;
	task.sub_type = "a\"b\\c\n\001\xc3\xa9}],";
	assert_same(&task);
	task.sub_type = "";
	task.key = "a\"b\\c\n\001\xc3\xa9}],";
	assert_same(&task);
}

/* Data passes unread and unchanged, braces and quotes too. */
static void
test_json(void **state)
{
	assert_same_data("{\"n\":0.10, \"big\":123456789012345678901234567890, \"e\":1e400}");
	assert_same_data("[\"}\", \"\\\"]\", \"\\\\\", {\"a\": [[], {}]}]");
	assert_same_data("\"a string, \\\"context\\\":null}\"");
	assert_same_data("-1.50");
	assert_same_data("true");
	assert_same_data("{\"id\": 1, \"version\": 2, \"type\": null, \"start_by_ms\": 0}");
}

static void
test_payload(void **state)
{
	Task		task = plain_task();
	char		bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char) i;
	task.is_binary = true;
	task.data = bytes;
	for (int len = 0; len <= 256; len++)
	{
		task.data_len = len;
		assert_same(&task);
	}
}

/* A cut-off line is no task, and is not read beyond its end. */
static void
test_no_task(void **state)
{
	static const char whole[] = "{\"id\":\"" ID "\",\"version\":3,\"type\":\"T\",\"tries\":1,"
		"\"deadline\":\"2031\",\"data\":{\"a\":\"\\\"\"},\"payload_base64\":\"AA==\"}";

	for (size_t len = 0; len < sizeof(whole); len++)
	{
		char	   *line = pnstrdup(whole, len);
		int64		start_by_us;
		Task	   *task = task_line_read(line, &start_by_us);

		if (len < strlen("{\"id\":\"" ID "\",\"version\":3,\"type\":\"T\""))
			assert_null(task);
		if (task != NULL)
			task_line_free(task);
		pfree(line);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_payload),
		cmocka_unit_test(test_no_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
