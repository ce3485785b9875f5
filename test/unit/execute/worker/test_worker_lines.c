/*-------------------------------------------------------------------------
 *
 * test_worker_lines.c
 *		Lines of a worker that are no good replies, and which tasks they cost.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define WRITE(json) "[\"write\", \"" json "\\n\"]"
#define MEMBER(name) "\\\"" name "\\\":"
#define WORD(text) "\\\"" text "\\\""

/* JSON that names no task in flight is ignored. */
static void
test_strange_lines(void **state)
{
	open_worker(PUPPET);
	assert_verdict(run_task("[" WRITE("[1]") ", " WRITE("{" MEMBER("progress") "7}") ", "
							WRITE("{" MEMBER("id") WORD("0190d1a2-0000-7000-8000-999999999999") ","
								  MEMBER("version") "2," MEMBER("result") WORD("done") "}") ", "
							WRITE("{" MEMBER("id") WORD("@ID@") "," MEMBER("version") "99,"
								  MEMBER("result") WORD("done") "}") ", "
							"[\"reply\", {\"result\": \"retry\", \"message\": \"same process\"}]]"),
				   TASK_RETRY, "same process");
}

/* A reply with bad text costs its own task only, and at once. */
static void
assert_costs_one(const char *data, TaskResult result)
{
	TestTask   *waiting = start_task("[[\"start\"]]");
	TestTask   *faulty = start_task(data);

	wait_for(faulty);
	assert_int_equal(faulty->result, result);
	assert_int_equal(waiting->reports, 0);
}

static void
test_bad_text(void **state)
{
	open_worker(PUPPET);
	assert_costs_one("[[\"reply\", {\"result\": \"done\", \"message\": \"caf\\udce9\"}]]", TASK_DONE);
	assert_costs_one("[[\"reply\", {\"result\": \"done\", \"own\": \"\\ud83d\"}]]", TASK_DONE);
	assert_costs_one("[[\"reply\", {\"result\": \"done\", \"outcome\": {\"a\": \"\\udce9\"}}]]", TASK_ERROR);
	assert_costs_one("[[\"reply\", {\"result\": \"done\", \"outcome\": {\"a\": \"\\u0000\"}}]]", TASK_ERROR);
	assert_costs_one("[[\"reply\", {\"result\": \"done\", \"add\": [{\"type\": \"\\u0000\"}]}]]", TASK_ERROR);
	assert_costs_one("[[\"reply\", {\"result\": \"nonsense\"}]]", TASK_ERROR);
}

/* The head of such a line names the task that pays for it. */
static void
test_long_reply(void **state)
{
	StringInfoData data;

	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"reply\", {\"result\": \"done\", \"message\": \"");
	for (int i = 0; i < 250 * 1024; i++)
		appendStringInfoString(&data, "0123456789");
	appendStringInfoString(&data, "\"}], [\"reply\", {\"result\": \"done\"}]]");
	open_worker(PUPPET);
	assert_costs_one(data.data, TASK_ERROR);
	assert_verdict(run_task("[[\"reply\", {\"result\": \"retry\", \"message\": \"next line\"}]]"),
				   TASK_RETRY, "next line");
	pfree(data.data);
}

/* The second reply finds the task gone, and is ignored. */
static void
test_finish_twice(void **state)
{
	TestTask   *waiting;
	TestTask   *twice;

	open_worker(PUPPET);
	waiting = start_task("[[\"say\", \"no reply yet\"]]");
	twice = start_task("[[\"reply\", {\"result\": \"done\"}], "
					   "[\"reply\", {\"result\": \"done\"}]]");
	wait_for(twice);
	assert_verdict(twice, TASK_DONE, NULL);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	assert_int_equal(waiting->reports, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_strange_lines),
		TEST(test_bad_text),
		TEST(test_long_reply),
		TEST(test_finish_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
