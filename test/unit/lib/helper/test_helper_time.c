/*-------------------------------------------------------------------------
 *
 * test_helper_time.c
 *		A helper's time and room, with a process and a clock of the test: how long a
 *		trouble lasts, a hello without an answer, lines that nobody reads.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <unistd.h>

#include "process/spawn.h"
#include "fake_loop.h"

#include "base/chance.h"
#include "process/bundled.h"
#include "helper/helper.h"

#define LEAVE_S 7

struct Child
{
	SpawnRequest request;
	LoopIoFn	on_output;
	void	   *arg;
	int			output;			/* the end that the process has */
	bool		is_asked_to_end;
};

static Helper *helper;
static Child child;
static int	nstarts;
static int	nlines;
static const char *never_ran;	/* why; NULL: it did */

/* ---- the process ---- */

Child *
spawn_start(Loop *loop, const SpawnRequest *request, SpawnPipes *pipes, SpawnFailure *failure)
{
	const SpawnPipe none = {-1, NULL};
	int			fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	pipes->in = pipes->out = pipes->err = none;
	pipes->out.fd = fds[0];
	child.output = fds[1];
	child.request = *request;
	child.is_asked_to_end = false;
	nstarts++;
	return &child;
}

void
spawn_free(Child *freed)
{
	close(freed->output);
}

void
spawn_wait(const Child *awaited, int timeout_ms)
{
}

void
spawn_stop(Child *stopped, int64 grace_us)
{
	stopped->is_asked_to_end = true;
}

int
spawn_pid(Child *asked)
{
	return 4711;
}

bool
spawn_never_ran(const Child *asked, SpawnFailure *failure)
{
	failure->is_temporary = true;
	failure->is_unfit = false;
	failure->message = never_ran != NULL ? pstrdup(never_ran) : NULL;
	return never_ran != NULL;
}

void
spawn_describe_exit(const Child *exited, StringInfo out)
{
	appendStringInfoString(out, "exited with status 1");
}

void
spawn_pipe_watch(SpawnPipe *pipe, Loop *loop, int want, LoopIoFn fn, void *arg)
{
	child.on_output = fn;
	child.arg = arg;
}

void
spawn_pipe_close(SpawnPipe *pipe)
{
	if (pipe->fd >= 0)
		close(pipe->fd);
	pipe->fd = -1;
}

void
loop_io_want(LoopIo *io, int want)
{
}

void
loop_on_turn(Loop *loop, LoopFn fn, void *arg)
{
}

void
loop_off_turn(Loop *loop, LoopFn fn, void *arg)
{
}

char *
bundled_path(const char *name)
{
	return pstrdup(name);
}

int64
chance_delay(int64 us)
{
	return us;
}

/* ---- steps ---- */

static void
on_line(void *arg, const char *line, size_t len)
{
	nlines++;
}

static int
set_up(void **state)
{
	static const HelperProgram program = {
		.component = "test",
		.subject = "helper \"test\"",
		.bundled = "test",
		.leave_us = SECONDS_TO_US(LEAVE_S),
		.on_line = on_line
	};

	never_ran = NULL;
	nstarts = nlines = 0;
	helper = helper_new(NULL, &program, NULL);
	helper_run(helper, "{\"hello\":1}");
	assert_int_equal(nstarts, 1);
	return 0;
}

static int
tear_down(void **state)
{
	helper_free(helper);
	return 0;
}

static void
say(const char *line)
{
	assert_int_equal(dprintf(child.output, "%s\n", line), strlen(line) + 1);
	child.on_output(child.arg, LOOP_READ);
}

static void
end_process(void)
{
	child.request.exited(child.request.arg);
}

static void
pass_s(int seconds)
{
	pass_us(SECONDS_TO_US(seconds));
}

#define READY "{\"ready\":1}"

/* It answers each line that wants an answer. */
static void
live_s(int seconds)
{
	for (int i = 0; i < seconds; i++)
	{
		pass_s(1);
		say("{\"alive\":1}");
	}
}

/* The trouble of a process ends when the next one is no longer young. */
static void
next_process_clears_trouble(void)
{
	pass_s(1);
	assert_int_equal(nstarts, 2);
	say(READY);
	live_s(29);
	assert_non_null(helper_trouble(helper));
	live_s(1);
	assert_null(helper_trouble(helper));
}

/* ---- tests ---- */

static void
test_trouble_ends_with_its_youth(void **state)
{
	say(READY);
	end_process();
	assert_string_equal(helper_trouble(helper), "helper \"test\": exited with status 1");
	next_process_clears_trouble();
	live_s(1000);
	assert_true(helper_is_ready(helper));
	assert_int_equal(nlines, 0);
}

/* It lives on without its output, so it gets TERM. */
static void
test_closed_pipe(void **state)
{
	say(READY);
	close(child.output);
	child.output = -1;
	child.on_output(child.arg, LOOP_READ);
	assert_false(helper_is_ready(helper));
	pass_s(LEAVE_S);
	assert_true(child.is_asked_to_end);
	end_process();
	assert_string_equal(helper_trouble(helper), "helper \"test\": closed its pipes");
}

/* A process that stands still cannot act on the end of its input. */
static void
test_silence(void **state)
{
	say(READY);
	live_s(5);
	pass_s(19);
	assert_true(helper_is_ready(helper));
	pass_s(1);
	assert_true(helper_is_ready(helper));
	pass_s(5);
	assert_true(child.is_asked_to_end);
	assert_false(helper_is_ready(helper));
	end_process();
	assert_string_equal(helper_trouble(helper), "helper \"test\": wrote nothing for 20 s");
	next_process_clears_trouble();
}

/* The machine's sleep is not silence, and any line is a sign of life. */
static void
test_no_silence(void **state)
{
	say(READY);
	for (int i = 0; i < 10; i++)
	{
		loop_time += SECONDS_TO_US(3600);
		pass_s(9);
		say("news");
	}
	assert_int_equal(nlines, 10);
	assert_true(helper_is_ready(helper));
}

/* Its input ends first, then it gets TERM. */
static void
test_no_answer(void **state)
{
	pass_s(59);
	assert_null(helper_trouble(helper));
	pass_s(1);
	assert_string_equal(helper_trouble(helper), "helper \"test\": has not answered its first line");
	say(READY);
	assert_false(helper_is_ready(helper));
	pass_s(LEAVE_S - 1);
	assert_false(child.is_asked_to_end);
	pass_s(1);
	assert_true(child.is_asked_to_end);
	end_process();
	assert_string_equal(helper_trouble(helper), "helper \"test\": has not answered its first line");
	pass_s(1);
	assert_int_equal(nstarts, 2);
}

/* Lines wait in memory up to a limit; the next process gets none of them. */
static void
test_unread_lines(void **state)
{
	static char line[64 * 1024];
	int			n = 0;

	memset(line, 'x', sizeof(line));
	say(READY);
	while (n < 100 && helper_send(helper, line, sizeof(line)))
		n++;
	assert_in_range(n, 15, 17);
	assert_true(helper_has_input(helper));
	end_process();
	assert_false(helper_has_input(helper));
	pass_s(1);
	say(READY);
	assert_true(helper_send(helper, line, sizeof(line)));
}

static void
test_late_failure(void **state)
{
	never_ran = "could not execute \"test\": Resource temporarily unavailable";
	end_process();
	assert_string_equal(helper_trouble(helper),
						"helper \"test\": could not execute \"test\": Resource temporarily unavailable");
	never_ran = NULL;
	pass_s(1);
	assert_int_equal(nstarts, 2);
}

/* A start that is due before the next helper_run() has the hello of before. */
static void
test_renewed_while_down(void **state)
{
	say(READY);
	end_process();
	helper_renew(helper);
	pass_s(1);
	assert_int_equal(nstarts, 2);
	say(READY);
	helper_run(helper, "{\"hello\":1}");
	assert_false(helper_is_ready(helper));
	end_process();
	pass_s(1);
	assert_int_equal(nstarts, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_trouble_ends_with_its_youth),
		TEST(test_closed_pipe),
		TEST(test_silence),
		TEST(test_no_silence),
		TEST(test_no_answer),
		TEST(test_unread_lines),
		TEST(test_late_failure),
		TEST(test_renewed_while_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
