/*-------------------------------------------------------------------------
 *
 * test_worker_batches.c
 *		Lines of a worker protocol that are about many tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "protocol/worker_input.h"
#include "worker_line.h"

#define ID_1 "0190d1a2-0000-7000-8000-000000000001"
#define ID_2 "0190d1a2-0000-7000-8000-000000000002"

#define TWO "\"ids\":[\"" ID_1 "\",\"" ID_2 "\"],\"versions\":[3,14]"

/* Makes the reader of usual lines leave this one to the other reader. */
#define UNUSUAL ",\"own\":[1]"

static void
assert_two(const char *line, WorkerWord word, TaskResult result)
{
	WorkerReply reply = decode(line);

	assert_int_equal(reply.word, word);
	assert_int_equal(reply.result, result);
	assert_int_equal(reply.nmany, 2);
	assert_string_equal(reply.many[0].id, ID_1);
	assert_string_equal(reply.many[1].id, ID_2);
	assert_int_equal(reply.many[0].version, 3);
	assert_int_equal(reply.many[1].version, 14);
	worker_protocol_clear(&reply);
}

static void
assert_strange(const char *line, const char *expected)
{
	WorkerReply reply = decode(line);

	assert_int_equal(reply.word, WORKER_STRANGE);
	assert_string_equal(reply.message, expected);
	worker_protocol_clear(&reply);
}

/* The fault is for both tasks. */
static void
assert_faulty(const char *line, const char *expected)
{
	WorkerReply reply = decode(line);

	assert_int_equal(reply.word, WORKER_RESULT);
	assert_int_equal(reply.result, TASK_ERROR);
	assert_int_equal(reply.nmany, 2);
	if (strstr(reply.message, expected) == NULL)
		fail_msg("%s: %s", line, reply.message);
	worker_protocol_clear(&reply);
}

static void
test_encode_batch(void **state)
{
	Task		task;
	StringInfoData out;

	memset(&task, 0, sizeof(task));
	strlcpy(task.id_text, ID_1, sizeof(task.id_text));
	task.version = 3;
	task.type = "A";
	task.tries = 1;
	task.deadline_text = "2031-01-02 03:04:05+00";
	task.data = "{\n}";
	task.data_len = strlen(task.data);
	task.data = pstrdup(task.data);
	initStringInfo(&out);
	worker_input_add_to_batch(&out, &task, 77000, true);
	task.version = 4;
	worker_input_add_to_batch(&out, &task, 77000, false);
	worker_input_end_batch(&out);
#define MEMBERS ",\"type\":\"A\",\"sub_type\":null,\"tries\":1,\"max_tries\":null," \
		"\"deadline\":\"2031-01-02 03:04:05+00\",\"start_by_ms\":77,\"data\":{ },\"context\":null}"
	assert_string_equal(out.data, "{\"tasks\":[{\"id\":\"" ID_1 "\",\"version\":3" MEMBERS
						",{\"id\":\"" ID_1 "\",\"version\":4" MEMBERS "]}\n");
	pfree(out.data);
	pfree(task.data);
}

static void
test_decode_many(void **state)
{
	WorkerReply reply;

	assert_two("{" TWO ",\"result\":\"done\"}", WORKER_RESULT, TASK_DONE);
	assert_two("{" TWO ",\"result\":\"done\"" UNUSUAL "}", WORKER_RESULT, TASK_DONE);
	assert_two("{\"ids\": [\"" ID_1 "\", \"" ID_2 "\"], \"versions\": [3, 14], \"result\": \"delete\"}",
			   WORKER_RESULT, TASK_DELETE);
	assert_two("{\"result\":\"release\",\"versions\":[3,14],\"ids\":[\"" ID_1 "\",\"" ID_2 "\"]}",
			   WORKER_RESULT, TASK_RELEASE);
	assert_two("{" TWO ",\"started\":true}", WORKER_STARTED, TASK_ERROR);
	assert_two("{" TWO ",\"started\":true" UNUSUAL "}", WORKER_STARTED, TASK_ERROR);
	assert_two("{" TWO ",\"progress\":40}", WORKER_PROGRESS, TASK_ERROR);
	reply = decode("{" TWO ",\"result\":\"retry\",\"retry_in\":2,\"message\":\"busy\",\"outcome\":{\"batch\":7}}");
	assert_int_equal(reply.result, TASK_RETRY);
	assert_int_equal(reply.delay_us, 2000000);
	assert_string_equal(reply.message, "busy");
	assert_string_equal(reply.outcome, "{\"batch\":7}");
	worker_protocol_clear(&reply);
	reply = decode("{\"ids\":[],\"versions\":[],\"result\":\"done\"}");
	assert_int_equal(reply.word, WORKER_RESULT);
	assert_non_null(reply.many);
	assert_int_equal(reply.nmany, 0);
	worker_protocol_clear(&reply);
}

static void
test_decode_wrong_lists(void **state)
{
	static const char same_length[] = "members \"ids\" and \"versions\" are no arrays of the same length";

	assert_strange("{\"ids\":[\"" ID_1 "\"],\"result\":\"done\"}", same_length);
	assert_strange("{\"ids\":[\"" ID_1 "\"],\"versions\":[],\"result\":\"done\"}", same_length);
	assert_strange("{\"ids\":[\"" ID_1 "\"],\"versions\":[3,4],\"result\":\"done\"}", same_length);
	assert_strange("{\"ids\":[\"" ID_1 "\"],\"version\":3,\"result\":\"done\"}", same_length);
	assert_strange("{\"ids\":\"" ID_1 "\",\"versions\":3,\"result\":\"done\"}", same_length);
	assert_strange("{\"ids\":null,\"versions\":null,\"result\":\"done\"}", same_length);
	assert_strange("{\"id\":\"" ID_1 "\"," TWO ",\"result\":\"done\"}",
				   "members \"id\" and \"ids\" exclude each other");
	assert_strange("{\"ids\":[\"" ID_1 "\",7],\"versions\":[3,4],\"result\":\"done\"}",
				   "element 2 of \"ids\" is no task id");
	assert_strange("{\"ids\":[\"" ID_1 "\",\"" ID_2 "x\"],\"versions\":[3,4],\"result\":\"done\"}",
				   "element 2 of \"ids\" is no task id");
	assert_strange("{\"ids\":[\"" ID_1 "\",\"" ID_2 "\"],\"versions\":[3.5,4],\"result\":\"done\"}",
				   "element 1 of \"versions\" is no integer");
	assert_strange("{" TWO "}", "member \"result\" is missing");
}

/* The work is done, so it must not run again. */
static void
test_decode_faults(void **state)
{
	assert_faulty("{" TWO ",\"result\":\"nonsense\"}", "unrecognized result \"nonsense\"");
	assert_faulty("{" TWO ",\"result\":\"done\",\"add\":[{\"type\":\"A\"}]}", "member \"add\" goes with one \"id\" only");
	assert_faulty("{" TWO ",\"result\":\"done\",\"outcome\":[1]}", "member \"outcome\" is no object");
	assert_faulty("{" TWO ",\"versions\":[3,14],\"result\":\"done\"}", "member \"versions\" is there twice");
}

/* Each task keeps a copy, so a long text is cut as the database would. */
static void
test_message_is_cut(void **state)
{
	char	   *line = psprintf("{" TWO ",\"result\":\"retry\",\"message\":\"%020000d\"}", 0);
	WorkerReply reply = decode(line);

	assert_in_range(strlen(reply.message), 1000, 8192);
	worker_protocol_clear(&reply);
	pfree(line);
}

static void
add_list(StringInfo line, const char *name, const char *format, int count)
{
	appendStringInfo(line, "\"%s\":[", name);
	for (int i = 0; i < count; i++)
	{
		if (i > 0)
			appendStringInfoChar(line, ',');
		appendStringInfo(line, format, i + 1);
	}
	appendStringInfoString(line, "],");
}

/* A line of the largest batch, in both readers. */
static void
test_decode_huge(void **state)
{
	const int	count = 10000;

	for (int unusual = 0; unusual < 2; unusual++)
	{
		StringInfoData line;
		WorkerReply reply;

		initStringInfo(&line);
		appendStringInfoChar(&line, '{');
		add_list(&line, "ids", "\"0190d1a2-0000-7000-8000-%012d\"", count);
		add_list(&line, "versions", "%d", count);
		appendStringInfo(&line, "\"result\":\"done\"%s}", unusual ? UNUSUAL : "");
		assert_true(line.len < WORKER_LINE_MAX);
		reply = decode(line.data);
		assert_int_equal(reply.result, TASK_DONE);
		assert_int_equal(reply.nmany, count);
		assert_string_equal(reply.many[count - 1].id, "0190d1a2-0000-7000-8000-000000010000");
		assert_int_equal(reply.many[count - 1].version, count);
		worker_protocol_clear(&reply);
		pfree(line.data);
	}
}

/* A line of more than 1 MB, of which the head names the tasks. */
static void
test_decode_long(void **state)
{
	WorkerReply reply;

	assert_true(worker_protocol_decode_long("{" TWO ",\"result\":\"done\",\"message\":\"xxx", &reply));
	assert_int_equal(reply.nmany, 2);
	assert_string_equal(reply.many[1].id, ID_2);
	assert_int_equal(reply.result, TASK_ERROR);
	worker_protocol_clear(&reply);
	assert_false(worker_protocol_decode_long("{\"ids\":[\"" ID_1 "\",\"01", &reply));
	worker_protocol_clear(&reply);
}

/* A line with a part lost or doubled is read or refused; the sanitizers watch. */
static void
test_decode_mutations(void **state)
{
	static const char line[] = "{" TWO ",\"result\":\"done\"}";
	const size_t len = sizeof(line) - 1;

	for (size_t from = 0; from < len; from++)
		for (size_t to = from + 1; to <= len; to += 1 + to % 5)
		{
			char	   *cut = psprintf("%.*s%s", (int) from, line, line + to);
			char	   *doubled = psprintf("%.*s%s", (int) to, line, line + from);

			for (int i = 0; i < 2; i++)
			{
				const char *text = i == 0 ? cut : doubled;
				WorkerReply reply;

				pfree(worker_protocol_decode(text, strlen(text), &reply));
				worker_protocol_clear(&reply);
			}
			pfree(cut);
			pfree(doubled);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encode_batch),
		cmocka_unit_test(test_decode_many),
		cmocka_unit_test(test_decode_wrong_lists),
		cmocka_unit_test(test_decode_faults),
		cmocka_unit_test(test_message_is_cut),
		cmocka_unit_test(test_decode_huge),
		cmocka_unit_test(test_decode_long),
		cmocka_unit_test(test_decode_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
