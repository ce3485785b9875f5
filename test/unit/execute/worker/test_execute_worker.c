/*-------------------------------------------------------------------------
 *
 * test_execute_worker.c
 *		Handler mode "worker": whatever a worker process may do to us.
 *
 * test/handlers/puppet.py does what the data of a task says.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "execute_fixture.h"

#define PUPPET project_file("test/handlers/puppet.py")

#define BROKE "worker broke the protocol: "

static const char *const why = "deadline of 10min passed";

static void
end_task(TestTask *task)
{
	fixture.kind->stop_task(fixture.runner, &task->task, why);
}

/* Starts a task whose data is made with the path of the fifo. */
static TestTask *
start_with_fifo(const char *format)
{
	char	   *data = psprintf(format, fixture.path);
	TestTask   *task = start_task(data);

	pfree(data);
	return task;
}

/* ---- replies ---- */

static void
test_results(void **state)
{
	TestTask   *task;

	open_worker(PUPPET);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	task = run_task("[[\"reply\", {\"result\": \"retry\", \"retry_in\": 2.5, "
					"\"message\": \"later\"}]]");
	assert_verdict(task, TASK_RETRY, "later");
	assert_int_equal(task->delay_us, 2500000);
	task = run_task("[[\"reply\", {\"result\": \"retry\"}]]");
	assert_int_equal(task->delay_us, TASK_DELAY_BY_POLICY);
	task = run_task("[[\"reply\", {\"result\": \"repeat\", "
					"\"retry_at\": \"2001-01-01T00:00:00Z\"}]]");
	assert_verdict(task, TASK_REPEAT, NULL);
	assert_int_equal(task->delay_us, 0);
	task = run_task("[[\"reply\", {\"result\": \"retry\", "
					"\"retry_at\": \"9999-01-01T00:00:00Z\"}]]");
	assert_true(task->delay_us > SECONDS_TO_US(86400) * 365 * 1000);
	assert_verdict(run_task("[[\"reply\", {\"result\": \"error\", "
							"\"message\": \"a\\u0000b\"}]]"),
				   TASK_ERROR, "a\\x00b");
	assert_int_equal(run_task("[[\"reply\", {\"result\": \"delete\"}]]")->result,
					 TASK_DELETE);
	assert_int_equal(run_task("[[\"reply\", {\"result\": \"accepted\"}]]")->result,
					 TASK_ACCEPTED);
}

static void
test_any_order(void **state)
{
	TestTask   *first;
	TestTask   *second;
	char	   *data;

	open_worker(PUPPET);
	first = start_task("[[\"say\", \"no reply yet\"]]");
	data = psprintf("[[\"reply\", {\"result\": \"done\"}], [\"write\", "
					"\"{\\\"id\\\":\\\"%s\\\",\\\"version\\\":%d,"
					"\\\"result\\\":\\\"delete\\\"}\\n\"]]",
					first->task.id_text, (int) first->task.version);
	second = start_task(data);
	wait_for_all();
	assert_verdict(first, TASK_DELETE, NULL);
	assert_verdict(second, TASK_DONE, NULL);
	pfree(data);
}

/* The line of a task, as the worker sees it. */
static void
test_line(void **state)
{
	TestTask   *task;
	char	   *expected;

	open_worker(PUPPET);
	task = run_task("[[\"echo\",\n 0.1e1, 1.10, \"\\u00e9\"]]");
	expected = psprintf("{\"id\":\"%s\",\"version\":%d,\"type\":\"TEST\","
						"\"sub_type\":null,\"tries\":1,\"max_tries\":null,"
						"\"deadline\":\"2031-01-02T03:04:05Z\",\"start_by_ms\":4000000000000,"
						"\"data\":[[\"echo\",  0.1e1, 1.10, \"\\u00e9\"]],"
						"\"context\":null}", task->task.id_text,
						(int) task->task.version);
	assert_verdict(task, TASK_ERROR, expected);
	pfree(expected);
}

static void
test_slow_start(void **state)
{
	int			i;

	open_worker(PUPPET, "slow");
	for (i = 0; i < 100; i++)
		start_task(NULL);
	wait_for_all();
	assert_int_equal(fixture.reported, 100);
}

/* More than fits in a pipe, both ways. */
static void
test_large_lines(void **state)
{
	StringInfoData data;
	TestTask   *task;
	int			i;

	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"reply\", {\"result\": \"error\", "
						   "\"message\": \"");
	for (i = 0; i < 60000; i++)
		appendStringInfoString(&data, "0123456789");
	appendStringInfoString(&data, "\"}]]");
	open_worker(PUPPET);
	for (i = 0; i < 40; i++)
		task = start_task(data.data);
	wait_for_all();
	assert_int_equal(task->result, TASK_ERROR);
	assert_int_equal(strlen(task->message), 65536);
	pfree(data.data);
}

static void
test_payload(void **state)
{
	static const char bytes[] = {0, 1, (char) 0xff, '\n', '"', 0};
	TestTask   *task;

	open_worker("python3", "-c", "import base64, json, sys\n"
				"for line in sys.stdin:\n"
				" t = json.loads(line)\n"
				" if 'hello' in t: continue\n"
				" p = base64.b64decode(t['payload_base64']).hex()\n"
				" print(json.dumps({'id': t['id'], 'version': t['version'],\n"
				"  'result': 'error', 'message': p, 'data': 'data' in t}),\n"
				"  flush=True)");
	task = start_payload(bytes, sizeof(bytes));
	wait_for(task);
	assert_verdict(task, TASK_ERROR, "0001ff0a2200");
}

/* ---- what ends a process ---- */

/* A task whose worker breaks the protocol, and what it is told. */
static void
assert_breaks(const char *data, const char *message)
{
	assert_verdict(run_task(data), TASK_FAILURE, message);

	/* There is a new process, and it works. */
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

static void
test_broken_protocol(void **state)
{
	open_worker(PUPPET);
	assert_breaks("[[\"write\", \"hello\\n\"]]", BROKE
				  "reply is not JSON: syntax error at byte 5: \"hello\"");
	assert_breaks("[[\"write\", \"\\n\"]]", BROKE
				  "reply is not JSON: syntax error at byte 0: \"\"");
}

static void
test_long_line(void **state)
{
	StringInfoData data;
	int			i;

	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"write\", \"");
	for (i = 0; i < 110 * 1024; i++)
		appendStringInfoString(&data, "0123456789");
	appendStringInfoString(&data, "\"], [\"stay\"]]");
	open_worker(PUPPET);
	assert_breaks(data.data, BROKE "line is longer than 1 MB");
	pfree(data.data);
}

static void
test_half_line_then_exit(void **state)
{
	open_worker(PUPPET);
	assert_breaks("[[\"write\", \"{\\\"id\\\":\\\"@ID@\\\",\\\"ver\"], "
				  "[\"exit\", 0]]", "worker exited with status 0");
}

/* A whole line counts, whatever comes after it. */
static void
test_reply_then_crash(void **state)
{
	TestTask   *other;

	open_worker(PUPPET);
	other = start_task("[[\"say\", \"no reply\"]]");
	assert_verdict(run_task("[[\"reply\", {\"result\": \"done\"}], "
							"[\"kill\"]]"), TASK_DONE, NULL);
	wait_for(other);
	assert_verdict(other, TASK_FAILURE,
				   "worker was ended by signal 9 (Killed): no reply");
}

/* Nor does it matter how many there are, or whether we heard of the exit. */
static void
test_many_replies_then_crash(void **state)
{
	TestTask   *tasks[8];
	StringInfoData data;
	char	   *padding = palloc0(60001);
	int			i;

	memset(padding, 'x', 60000);
	initStringInfo(&data);
	open_worker(PUPPET);
	appendStringInfoString(&data, "[[\"widen\"], [\"write\", \"");
	for (i = 0; i < 8; i++)
	{
		tasks[i] = start_task("[[\"say\", \"\"]]");
		appendStringInfo(&data, "{\\\"id\\\":\\\"%s\\\",\\\"version\\\":%d,"
						 "\\\"result\\\":\\\"done\\\","
						 "\\\"padding\\\":\\\"%s\\\"}\\n",
						 tasks[i]->task.id_text,
						 (int) tasks[i]->task.version, padding);
	}
	appendStringInfoString(&data, "\"], [\"kill\"]]");
	assert_verdict(run_task(data.data), TASK_FAILURE,
				   "worker was ended by signal 9 (Killed)");
	for (i = 0; i < 8; i++)
		assert_verdict(tasks[i], TASK_DONE, NULL);
	pfree(data.data);
	pfree(padding);
}

/* Tasks that wait behind the 64 in flight do not fail. */
static void
test_dies_with_64_in_flight(void **state)
{
	TestTask   *tasks[65];
	int			i;

	open_worker(PUPPET);
	for (i = 0; i < 63; i++)
		tasks[i] = start_task("[[\"say\", \"\"]]");
	tasks[63] = start_task("[[\"exit\", 3]]");
	tasks[64] = start_task(NULL);
	wait_for_all();
	for (i = 0; i < 64; i++)
		assert_verdict(tasks[i], TASK_FAILURE, "worker exited with status 3");
	assert_verdict(tasks[64], TASK_DONE, NULL);
}

static bool
has_reported(void *arg)
{
	return fixture.reported > 0;
}

/* Two processes that have both begun: each has room for one task, and gets one. */
static void
open_two(void)
{
	char	   *data = psprintf("[[\"wait\", \"%s\"], [\"reply\", {\"result\": \"done\"}]]",
								fixture.go_path);
	TestTask   *one;
	TestTask   *other;

	fixture.config.processes = 2;
	fixture.config.prefetch = 1;
	open_worker(PUPPET);
	one = start_task(data);
	other = start_task(data);
	pfree(data);
	wait_until_given(one);
	wait_until_given(other);
	fixture.config.prefetch = 64;
	send_go();
	run_until(has_reported, NULL);
	send_go();					/* after the first one, which one process took */
	wait_for(one);
	wait_for(other);
}

/* One process has four tasks that it does not reply to, the other breaks. */
static void
test_other_process_is_unhurt(void **state)
{
	TestTask   *tasks[8];
	int			i;

	open_two();
	for (i = 0; i < 8; i += 2)
	{
		tasks[i] = start_task("[[\"say\", \"\"]]");
		tasks[i + 1] = start_task(NULL);
	}
	for (i = 1; i < 8; i += 2)
		wait_for(tasks[i]);
	assert_breaks("[[\"write\", \"junk\\n\"]]",
				  BROKE "reply is not JSON: syntax error at byte 4: \"junk\"");
	for (i = 0; i < 8; i += 2)
		assert_int_equal(tasks[i]->reports, 0);
	assert_int_equal(fixture.reported, 8);
}

static void
test_closes_stdout_and_stays(void **state)
{
	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET);
	assert_breaks("[[\"close\", \"stdout\"], [\"stay\"]]",
				  "worker closed its pipes");
}

static void
test_closes_stdin_and_stays(void **state)
{
	TestTask   *task;

	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET);
	start_with_fifo("[[\"close\", \"stdin\"], [\"touch\", \"%s\"], "
					"[\"stay\"]]");
	wait_for_holder();
	task = run_task(NULL);
	assert_verdict(task, TASK_RELEASE, NULL);	/* it could not be written */
}

/* A worker that breaks the protocol is ended, with all its children. */
static void
test_whole_tree_is_ended(void **state)
{
	TestTask   *task;

	open_worker(PUPPET);
	start_with_fifo("[[\"hold\", \"%s\"]]");
	wait_for_holder();
	task = start_task("[[\"write\", \"junk\\n\"], [\"stay\"]]");
	wait_for(task);
	assert_true(is_fifo_free(NULL));
}

/* ---- not started ---- */

static void
test_missing_executable(void **state)
{
	TestTask   *task;

	fixture.config.processes = 2;
	open_worker("/nonexistent/worker");
	task = start_task(NULL);
	assert_int_equal(task->reports, 0);
	wait_for(task);
	assert_verdict(task, TASK_RELEASE, "could not execute "
				   "\"/nonexistent/worker\": No such file or directory");
	assert_int_equal(task->delay_us, TASK_DELAY_UNFIT);
}

/* It comes to life when the program is there. */
static void
test_executable_appears(void **state)
{
	char	   *path = psprintf("%s/worker", fixture.directory);
	TestTask   *task;

	open_worker(path);
	assert_int_equal(run_task(NULL)->result, TASK_RELEASE);
	assert_int_equal(symlink(PUPPET, path), 0);
	do
		task = run_task(NULL);
	while (task->result == TASK_RELEASE);
	assert_verdict(task, TASK_DONE, NULL);
	unlink(path);
	pfree(path);
}

/* ---- the deadline ---- */

static void
test_cancel_obeyed(void **state)
{
	TestTask   *task;
	TestTask   *other;

	open_worker(PUPPET);
	task = start_task("[[\"say\", \"\"]]");
	other = start_task("[[\"say\", \"\"]]");
	run_task(NULL);
	end_task(task);
	end_task(task);
	wait_for(task);
	assert_verdict(task, TASK_ERROR, "stopped");
	assert_int_equal(other->reports, 0);
}

static void
test_cancel_ignored(void **state)
{
	TestTask   *task;
	TestTask   *other;

	fixture.config.grace_us = MS_TO_US(100);
	open_worker(PUPPET, "deaf");
	task = start_task("[[\"say\", \"\"]]");
	other = start_task("[[\"say\", \"\"]]");
	run_task(NULL);
	end_task(task);
	wait_for_all();
	assert_verdict(task, TASK_FAILURE, why);
	assert_verdict(other, TASK_FAILURE, "worker was stopped because another "
				   "task passed its deadline");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
}

/* A worker that does not even read is ended too. */
static void
test_cancel_unread(void **state)
{
	TestTask   *task;

	fixture.config.grace_us = MS_TO_US(100);
	open_worker("sh", "-c", "read -r hello; exec tail -f /dev/null");
	task = start_task(NULL);
	end_task(task);
	assert_int_equal(task->reports, 0);
	wait_for(task);
	assert_verdict(task, TASK_RELEASE, NULL);	/* was not handed out yet */

	task = start_task(NULL);
	wait_until_given(task);
	end_task(task);
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, why);
}

static void
test_cancel_waiting(void **state)
{
	TestTask   *running;
	TestTask   *waiting;

	fixture.config.prefetch = 1;
	open_worker(PUPPET);
	running = start_task("[[\"say\", \"\"]]");
	waiting = start_task(NULL);
	run_turn();
	end_task(waiting);
	wait_for(waiting);
	assert_verdict(waiting, TASK_RELEASE, NULL);
	assert_int_equal(running->reports, 0);
}

/* ---- while the node may be gone ---- */

static void
test_gate_waiting(void **state)
{
	TestTask   *running;
	TestTask   *waiting;

	fixture.config.prefetch = 1;
	open_worker(PUPPET);
	running = start_task(NULL);
	waiting = start_task(NULL);
	wait_until_given(running);
	fixture.incarnation = 0;
	wait_for(running);
	assert_null(waiting->task.run); /* though there is room */
	assert_int_equal(waiting->reports, 0);
	fixture.incarnation = 1;
	wait_for(waiting);
	assert_verdict(waiting, TASK_DONE, NULL);
}

/*
 * Tasks of which the pipe holds no more than a part, since the worker does
 * not read; the gate is closed, and then the worker reads.
 */
static TestTask *
start_unwritten(void)
{
	char	   *data = psprintf("[[\"wait\", \"%s\"], [\"reply\", {\"result\": \"done\"}]]",
								fixture.go_path);
	TestTask   *first;
	TestTask   *large;

	open_worker(PUPPET);
	first = start_task(data);
	pfree(data);
	data = psprintf("[[\"reply\", {\"result\": \"done\"}], [\"say\", \"\", \"%0300000d\"]]", 0);
	large = start_task(data);
	pfree(data);
	wait_until_given(large);
	fixture.incarnation = 0;
	send_go();
	wait_for(first);
	for (int i = 0; i < 200; i++)
		run_turn();
	assert_int_equal(large->reports, 0);
	return large;
}

static void
test_gate_unwritten(void **state)
{
	TestTask   *large = start_unwritten();

	fixture.incarnation = 1;
	wait_for(large);
	assert_verdict(large, TASK_DONE, NULL);
}

static void
test_gate_another_incarnation(void **state)
{
	TestTask   *large = start_unwritten();
	TestTask   *next;

	fixture.incarnation = 2;
	next = start_task(NULL);
	wait_for_all();
	assert_verdict(large, TASK_RELEASE, NULL);
	assert_verdict(next, TASK_DONE, NULL);
}

static void
test_gate_shut_unwritten(void **state)
{
	TestTask   *large = start_unwritten();

	fixture.is_shut = true;
	wait_for(large);
	assert_verdict(large, TASK_RELEASE, NULL);
}

/* ---- the rest ---- */

static void
test_close_kills(void **state)
{
	open_worker(PUPPET);
	start_with_fifo("[[\"hold\", \"%s\"]]");
	wait_for_holder();
	close_runner();
	assert_true(is_fifo_free(NULL));
	assert_int_equal(fixture.reported, 0);
}

static void
test_descriptors(void **state)
{
	fixture.config.processes = 3;
	open_worker("sh", "-c", "read -r hello; read -r line\n"
				"[ $(ls /proc/self/fd | wc -l) = 4 ] && exit 7; exit 8");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "worker exited with status 7");
}

/* Returns the sidecar's log of that time; the caller frees it. */
static char *
logged(const char *data)
{
	char	   *path = psprintf("%s/log", fixture.directory);
	int			fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int			before = dup(2);
	char	   *text = palloc0(1024 * 1024);

	dup2(fd, 2);
	assert_verdict(run_task(data), TASK_DONE, NULL);
	close_runner();
	dup2(before, 2);
	close(before);
	assert_true(pread(fd, text, 1024 * 1024 - 1, 0) >= 0);
	close(fd);
	unlink(path);
	pfree(path);
	return text;
}

static void
test_stderr_is_logged(void **state)
{
	char	   *log;

	open_worker(PUPPET);
	log = logged("[[\"say\", \"first \\u001b[31m\\nsecond\\n\"], "
				 "[\"reply\", {\"result\": \"done\"}]]");
	assert_non_null(strstr(log, "first \\x1b[31m\n"));
	assert_non_null(strstr(log, "second\n"));
	assert_null(strstr(log, "WARN"));
	pfree(log);
}

static void
test_stderr_is_bounded(void **state)
{
	StringInfoData data;
	char	   *log;
	char	   *line;
	int			nlines = 0;
	int			i;

	initStringInfo(&data);
	appendStringInfoString(&data, "[[\"say\", \"");
	for (i = 0; i < 5000; i++)
		appendStringInfoString(&data, "line\\n");
	for (i = 0; i < 50000; i++)
		appendStringInfoString(&data, "too long ");
	appendStringInfoString(&data, "\"], [\"reply\", {\"result\": \"done\"}]]");
	open_worker(PUPPET);
	log = logged(data.data);
	for (line = log; (line = strchr(line, '\n')); line++)
		nlines++;
	assert_in_range(nlines, 50, 1000);
	pfree(log);
	pfree(data.data);
}

static void
test_100000_tasks(void **state)
{
	int			i;

	fixture.config.prefetch = 256;
	fixture.config.processes = 2;
	open_worker(project_file("examples/worker.py"));
	for (i = 0; i < 100000; i++)
		start_task("{\"to\": 7}");
	wait_for_all();
	assert_int_equal(fixture.reported, 100000);
	assert_int_equal(fixture.done, 100000);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_results),
		TEST(test_any_order),
		TEST(test_line),
		TEST(test_slow_start),
		TEST(test_large_lines),
		TEST(test_payload),
		TEST(test_broken_protocol),
		TEST(test_long_line),
		TEST(test_half_line_then_exit),
		TEST(test_reply_then_crash),
		TEST(test_many_replies_then_crash),
		TEST(test_dies_with_64_in_flight),
		TEST(test_other_process_is_unhurt),
		TEST(test_closes_stdout_and_stays),
		TEST(test_closes_stdin_and_stays),
		TEST(test_whole_tree_is_ended),
		TEST(test_missing_executable),
		TEST(test_executable_appears),
		TEST(test_cancel_obeyed),
		TEST(test_cancel_ignored),
		TEST(test_cancel_unread),
		TEST(test_cancel_waiting),
		TEST(test_gate_waiting),
		TEST(test_gate_unwritten),
		TEST(test_gate_shut_unwritten),
		TEST(test_gate_another_incarnation),
		TEST(test_close_kills),
		TEST(test_descriptors),
		TEST(test_stderr_is_logged),
		TEST(test_stderr_is_bounded),
		TEST(test_100000_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
