/*-------------------------------------------------------------------------
 *
 * execute_fixture.c
 *		For the tests of runners: real processes on the real loop, no database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "execute_fixture.h"

/* Far more than anything takes, under valgrind too. */
#define PATIENCE_US SECONDS_TO_US(240)

/* How often a condition is looked at while nothing happens. */
#define TICK_US MS_TO_US(1)

Fixture		fixture;

typedef struct Wait
{
	Condition	condition;
	void	   *arg;
	LoopTimer  *tick;
	int64		give_up_us;
	bool		gave_up;
} Wait;

/* Tasks know their place in the list of all by this. */
typedef struct Entry
{
	dlist_node	node;
	TestTask	task;
} Entry;

static bool
get_is_shut(void *arg)
{
	return fixture.is_shut;
}

static int64
get_incarnation(void *arg)
{
	(void) arg;
	return fixture.incarnation;
}

static int64
get_until(void *arg)
{
	(void) arg;
	return fixture.until_us;
}

int
fixture_setup(void **state)
{
	(void) state;
	memset(&fixture, 0, sizeof(fixture));
	dlist_init(&fixture.tasks);
	strcpy(fixture.directory, "/tmp/twtasks_test_execute.XXXXXX");
	if (mkdtemp(fixture.directory) == NULL)
		return -1;
	snprintf(fixture.path, sizeof(fixture.path), "%s/fifo", fixture.directory);
	if (mkfifo(fixture.path, 0600) != 0)
		return -1;
	fixture.go_path = psprintf("%s.go", fixture.path);
	if (mkfifo(fixture.go_path, 0600) != 0)
		return -1;
	fixture.go = open(fixture.go_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	fixture.fifo = open(fixture.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	fixture.loop = loop_new();
	fixture.parts.loop = fixture.loop;
	fixture.parts.clock = task_clock_new(fixture.loop);
	fixture.parts.gate.incarnation = get_incarnation;
	fixture.parts.gate.is_shut = get_is_shut;
	fixture.incarnation = 1;
	fixture.is_shut = false;
	fixture.parts.gate.until_us = get_until;
	fixture.until_us = SECONDS_TO_US(4000000000);
	fixture.config.hello = "{\"hello\":1,\"node\":\"test\",\"settings\":{}}";
	fixture.config.processes = 1;
	fixture.config.prefetch = 64;
	fixture.config.timeout_us = SECONDS_TO_US(600);
	fixture.config.grace_us = SECONDS_TO_US(20);
	fixture.config.max_output = 65536;
	return 0;
}

int
fixture_teardown(void **state)
{
	(void) state;
	if (fixture.runner)
		close_runner();
	while (!dlist_is_empty(&fixture.tasks))
	{
		Entry	   *entry = dlist_head_element(Entry, node, &fixture.tasks);

		dlist_delete(&entry->node);
		pfree(entry->task.task.data);
		pfree(entry->task.message);
		pfree(entry);
	}
	task_clock_free(fixture.parts.clock);
	loop_free(fixture.loop);
	close(fixture.fifo);
	close(fixture.go);
	unlink(fixture.path);
	unlink(fixture.go_path);
	pfree(fixture.go_path);
	return rmdir(fixture.directory);
}

static void
on_done(void *arg, Task *task, const Verdict *verdict)
{
	TestTask   *test = (TestTask *) task;

	assert_ptr_equal(arg, &fixture);
	fixture.reported++;
	if (verdict->result == TASK_DONE)
		fixture.done++;
	test->reports++;
	test->result = verdict->result;
	test->delay_us = verdict->delay_us;
	pfree(test->message);
	test->message = verdict->message ? pstrdup(verdict->message) : NULL;
}

void
open_runner(const HandlerKind *kind, const char **argv)
{
	int			n = 0;

	fixture.kind = kind;
	while (argv && argv[n])
	{
		fixture.argv[n] = pstrdup(argv[n]);
		n++;
	}
	fixture.argv[n] = NULL;
	fixture.config.argv = fixture.argv;
	fixture.reported = fixture.done = 0;
	fixture.runner = kind->open(&fixture.parts,
								fixture.whole_config ? fixture.whole_config : &fixture.config,
								on_done, &fixture);
}

void
close_runner(void)
{
	char	  **arg;

	fixture.kind->close(fixture.runner);
	fixture.runner = NULL;
	for (arg = fixture.argv; *arg; arg++)
		pfree(*arg);
}

const char *
project_file(const char *name)
{
	static char paths[4][MAXPGPATH];
	static int	next = 0;
	char	   *path = paths[next++ % 4];
	char		cwd[MAXPGPATH / 2];

	/* The tests run where they are. */
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(path, MAXPGPATH, "%s/../../%s", cwd, name);
	assert_int_equal(access(path, R_OK), 0);
	return path;
}

TestTask *
new_task(const char *data)
{
	static int	count = 0;
	Entry	   *entry = palloc0(sizeof(Entry));
	Task	   *task = &entry->task.task;

	snprintf(task->id_text, sizeof(task->id_text),
			 "0190d1a2-0000-7000-8000-%012x", ++count);
	task->version = 2 + count % 3;
	task->type = "TEST";
	task->bucket = "default";
	task->tries = 1;
	task->deadline_text = "2031-01-02T03:04:05Z";
	if (data)
	{
		task->data = pstrdup(data);
		task->data_len = strlen(data);
	}
	dlist_push_tail(&fixture.tasks, &entry->node);
	return &entry->task;
}

TestTask *
start_payload(const char *bytes, size_t len)
{
	TestTask   *test = new_task(NULL);

	test->task.is_binary = true;
	test->task.data = palloc(len + 1);
	memcpy(test->task.data, bytes, len);
	test->task.data[len] = '\0';
	test->task.data_len = len;
	fixture.kind->start(fixture.runner, &test->task);
	return test;
}

TestTask *
start_task(const char *data)
{
	TestTask   *test = new_task(data);

	fixture.kind->start(fixture.runner, &test->task);
	return test;
}

/* ---- waiting ---- */

static void
check_condition(void *arg)
{
	Wait	   *wait = arg;

	wait->gave_up = loop_now_us(fixture.loop) > wait->give_up_us;
	if (wait->gave_up || wait->condition(wait->arg))
		loop_stop(fixture.loop);
}

static void
on_tick(void *arg)
{
	Wait	   *wait = arg;

	loop_timer_start(wait->tick, TICK_US);
}

void
run_until(Condition condition, void *arg)
{
	Wait		wait = {.condition = condition, .arg = arg};

	wait.give_up_us = loop_now_us(fixture.loop) + PATIENCE_US;
	wait.tick = loop_timer_new(fixture.loop, on_tick, &wait);
	loop_timer_start(wait.tick, 0);
	loop_on_turn(fixture.loop, check_condition, &wait);
	loop_run(fixture.loop);
	loop_off_turn(fixture.loop, check_condition, &wait);
	loop_timer_free(wait.tick);
	assert_false(wait.gave_up);
}

static bool
at_once(void *arg)
{
	(void) arg;
	return true;
}

void
run_turn(void)
{
	run_until(at_once, NULL);
}

static bool
is_reported(void *arg)
{
	return ((TestTask *) arg)->reports > 0;
}

void
wait_for(TestTask *task)
{
	run_until(is_reported, task);
	assert_int_equal(task->reports, 1);
}

static bool
are_all_reported(void *arg)
{
	dlist_iter	iter;

	(void) arg;
	dlist_foreach(iter, &fixture.tasks)
	{
		if (dlist_container(Entry, node, iter.cur)->task.reports == 0)
			return false;
	}
	return true;
}

void
wait_for_all(void)
{
	run_until(are_all_reported, NULL);
}

TestTask *
run_task(const char *data)
{
	TestTask   *task = start_task(data);

	wait_for(task);
	return task;
}

static bool
has_line(void *arg)
{
	char		c = 0;

	(void) arg;
	while (c != '\n' && read(fixture.fifo, &c, 1) == 1)
		;
	return c == '\n';
}

void
wait_for_holder(void)
{
	run_until(has_line, NULL);
}

void
send_go(void)
{
	assert_int_equal(write(fixture.go, "go\n", 3), 3);
}

bool
is_fifo_free(void *arg)
{
	char		c;
	ssize_t		n;

	(void) arg;
	while ((n = read(fixture.fifo, &c, 1)) > 0)
		;
	return n == 0;
}

void
assert_verdict(const TestTask *task, TaskResult result, const char *message)
{
	if (task->reports != 1 || task->result != result ||
		(message == NULL) != (task->message == NULL) ||
		(message && strcmp(task->message, message) != 0))
		fail_msg("%d reports: %s, \"%s\" instead of %s, \"%s\"", task->reports,
				 task_result_name(task->result),
				 task->message ? task->message : "no message",
				 task_result_name(result), message ? message : "no message");
}

static bool
is_given(void *task)
{
	return ((TestTask *) task)->task.run != NULL;
}

void
wait_until_given(TestTask *task)
{
	run_until(is_given, task);
}
