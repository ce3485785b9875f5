/*-------------------------------------------------------------------------
 *
 * test_loop.c
 *		The event loop: order, what callbacks may do, and that it rests.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/loop.h"
#include "check.h"

static Loop *loop;
static StringInfoData trace;	/* the events, in order */
static LoopTimer *timers[1000];
static int	pipe_fds[2];
static LoopIo *io;

static int
setup(void **state)
{
	(void) state;
	loop = loop_new();
	initStringInfo(&trace);
	return loop && pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC) == 0 ? 0 : -1;
}

static int
teardown(void **state)
{
	(void) state;
	loop_free(loop);
	pfree(trace.data);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

static void
note(void *arg)
{
	appendStringInfoString(&trace, arg);
}

static void
end_loop(void *arg)
{
	(void) arg;
	loop_stop(loop);
}

/* Runs the loop for so long; stops it in the middle of a turn. */
static void
run_for(int64 us)
{
	LoopTimer  *timer = loop_timer_new(loop, end_loop, NULL);

	loop_timer_start(timer, us);
	loop_run(loop);
	loop_timer_free(timer);
}

/* ---- timers ---- */

static void
test_timer_order(void **state)
{
	LoopTimer  *a = loop_timer_new(loop, note, "a");
	LoopTimer  *b = loop_timer_new(loop, note, "b");
	LoopTimer  *c = loop_timer_new(loop, note, "c");

	loop_timer_start(c, 15000);
	loop_timer_start(a, -5);
	loop_timer_start(b, 10000);
	assert_true(loop_timer_active(c));
	loop_timer_start(c, 5000);	/* moves it before b */
	run_for(20000);
	assert_string_equal(trace.data, "acb");
	assert_false(loop_timer_active(c));

	loop_timer_start(a, PG_INT64_MAX);
	loop_timer_start(b, 0);
	loop_timer_stop(b);
	loop_timer_stop(b);
	run_for(1000);
	assert_string_equal(trace.data, "acb");
	loop_timer_free(a);
	loop_timer_free(b);
	loop_timer_free(c);
}

static int64 last_due_us;
static int	nfired;

/* The loop reads its clock between our looks at it, which a busy machine may part. */
typedef struct Due
{
	int64		earliest_us;
	int64		latest_us;
	bool		is_stopped;
} Due;

static Due	dues[1000];

static void
on_due(void *arg)
{
	Due		   *due = arg;

	assert_false(due->is_stopped);
	assert_true(due->earliest_us <= loop_now_us(loop));
	assert_true(due->latest_us >= last_due_us);
	last_due_us = Max(last_due_us, due->earliest_us);
	nfired++;
}

/* In order of their times, never early, and the stopped ones not at all. */
static void
test_many_timers(void **state)
{
	Chance		chance;
	int			nstopped = 0;
	int			i;

	chance_init(&chance, test_seed());
	nfired = 0;
	last_due_us = 0;
	for (i = 0; i < 1000; i++)
	{
		int			delay_us = chance_below(&chance, 50000);

		timers[i] = loop_timer_new(loop, on_due, &dues[i]);
		dues[i].earliest_us = loop_now_us(loop) + delay_us;
		loop_timer_start(timers[i], delay_us);
		dues[i].latest_us = loop_now_us(loop) + delay_us;
	}
	for (i = 0; i < 1000; i += 3)
	{
		loop_timer_stop(timers[i]);
		dues[i].is_stopped = true;
		nstopped++;
	}
	run_for(100000);
	assert_int_equal(nfired, 1000 - nstopped);
	for (i = 0; i < 1000; i++)
		loop_timer_free(timers[i]);
}

/* A callback may free its own timer and those that were due with it. */
static void
free_both(void *arg)
{
	note("x");
	loop_timer_free(timers[0]);
	loop_timer_free(timers[1]);
	loop_stop(loop);
}

static void
test_timer_frees_timers(void **state)
{
	timers[0] = loop_timer_new(loop, free_both, NULL);
	timers[1] = loop_timer_new(loop, free_both, NULL);
	loop_timer_start(timers[0], 0);
	loop_timer_start(timers[1], 0);
	loop_run(loop);
	assert_string_equal(trace.data, "x");
}

/* Restarted with nothing to wait for, it lets the others have their turn. */
static void
restart(void *arg)
{
	note("t");
	loop_timer_start(timers[0], 0);
}

static void
on_readable(void *arg, int ready)
{
	assert_int_equal(ready, LOOP_READ);
	note("r");
	loop_stop(loop);
}

static void
test_timer_does_not_starve(void **state)
{
	timers[0] = loop_timer_new(loop, restart, NULL);
	loop_timer_start(timers[0], 0);
	io = loop_io_new(loop, pipe_fds[0], on_readable, NULL);
	loop_io_want(io, LOOP_READ);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	loop_run(loop);
	assert_non_null(strchr(trace.data, 'r'));
	loop_io_free(io);
	loop_timer_free(timers[0]);
}

/* ---- descriptors ---- */

static void
on_pipe(void *arg, int ready)
{
	char		c;

	appendStringInfo(&trace, "%d", ready);
	assert_int_equal(read(pipe_fds[0], &c, 1), 1);
	if (trace.len == 2)
		loop_stop(loop);
}

static void
test_io_wants(void **state)
{
	io = loop_io_new(loop, pipe_fds[0], on_pipe, NULL);
	assert_int_equal(write(pipe_fds[1], "xx", 2), 2);
	run_for(1000);				/* nothing is wanted */
	assert_string_equal(trace.data, "");
	loop_io_want(io, LOOP_READ);
	loop_io_want(io, LOOP_READ);
	loop_run(loop);
	assert_string_equal(trace.data, "11");
	loop_io_want(io, 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	run_for(1000);
	assert_string_equal(trace.data, "11");
	loop_io_free(io);
}

/* libpq closes its socket when a write fails; the next pipe has that number. */
static void
test_number_is_used_again(void **state)
{
	int			number = pipe_fds[0];
	LoopIo	   *closed = loop_io_new(loop, number, on_pipe, NULL);

	loop_io_want(closed, LOOP_READ);
	close(number);
	close(pipe_fds[1]);
	assert_int_equal(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(pipe_fds[0], number);
	io = loop_io_new(loop, number, on_pipe, NULL);
	loop_io_want(io, LOOP_READ);
	loop_io_free(closed);
	assert_int_equal(write(pipe_fds[1], "xx", 2), 2);
	run_for(SECONDS_TO_US(60));
	assert_string_equal(trace.data, "11");
	loop_io_free(io);
}

static void
on_writable_once(void *arg, int ready)
{
	appendStringInfo(&trace, "%d", ready);
	loop_io_free(io);
	loop_stop(loop);
}

static void
test_io_frees_itself(void **state)
{
	io = loop_io_new(loop, pipe_fds[1], on_writable_once, NULL);
	loop_io_want(io, LOOP_READ | LOOP_WRITE);
	loop_run(loop);
	run_for(1000);
	assert_string_equal(trace.data, "2");
}

static void
test_signal(void **state)
{
	loop_on_signal(loop, SIGHUP, note, "h");
	loop_on_signal(loop, SIGUSR1, end_loop, NULL);
	raise(SIGHUP);
	assert_string_equal(trace.data, "");
	raise(SIGUSR1);
	loop_run(loop);
	run_for(0);
	assert_string_equal(trace.data, "h");
}

/* More than a socket or a pipe could hold, were each of them written down. */
static void
test_signal_after_many(void **state)
{
	loop_on_signal(loop, SIGHUP, end_loop, NULL);
	loop_on_signal(loop, SIGUSR1, note, "u");
	for (int i = 0; i < 70000; i++)
		raise(SIGHUP);
	raise(SIGUSR1);
	run_for(0);
	run_for(0);
	assert_string_equal(trace.data, "u");
}

/* ---- the end of the turn ---- */

static int	wishes;

static void
wish(void *arg)
{
	note("w");
	if (wishes-- > 0)
		loop_want_turn(loop);
	else
		loop_stop(loop);
}

static void
test_turns(void **state)
{
	timers[0] = loop_timer_new(loop, note, "t");
	loop_on_turn(loop, note, "1");
	loop_on_turn(loop, note, "2");
	loop_timer_start(timers[0], 0);
	loop_on_turn(loop, wish, NULL);
	wishes = 2;
	loop_run(loop);				/* needs no event but the first */
	assert_string_equal(trace.data, "t12w12w12w");

	loop_off_turn(loop, note, "1");
	loop_want_turn(loop);
	wishes = 0;
	loop_run(loop);
	assert_string_equal(trace.data, "t12w12w12w2w");
	loop_timer_free(timers[0]);
}

static void
leave(void *arg)
{
	note("l");
	loop_off_turn(loop, leave, NULL);
	loop_off_turn(loop, note, "never");
	loop_on_turn(loop, end_loop, NULL);
	loop_want_turn(loop);
}

static void
test_turn_functions_change(void **state)
{
	loop_on_turn(loop, leave, NULL);
	loop_on_turn(loop, note, "never");
	loop_want_turn(loop);
	loop_run(loop);
	loop_want_turn(loop);
	loop_run(loop);
	assert_string_equal(trace.data, "l");
}

/* A wish made in a callback needs no turn of its own. */
static int	nturns;

static void
count_turn(void *arg)
{
	nturns++;
}

static void
want_turn(void *arg)
{
	loop_want_turn(loop);
}

static void
test_wish_in_callback(void **state)
{
	timers[0] = loop_timer_new(loop, want_turn, NULL);
	loop_timer_start(timers[0], 0);
	nturns = 0;
	loop_on_turn(loop, count_turn, NULL);
	run_for(20000);
	assert_int_equal(nturns, 2);	/* the second is run_for()'s own */
	loop_timer_free(timers[0]);
}

static void
test_stop_before_run(void **state)
{
	loop_stop(loop);
	loop_run(loop);				/* returns */
}

/* With nothing to do it waits: it uses no time of the processor. */
static void
test_idle(void **state)
{
	struct rusage before;
	struct rusage after;

	nturns = 0;
	loop_on_turn(loop, count_turn, NULL);
	getrusage(RUSAGE_SELF, &before);
	run_for(300000);
	getrusage(RUSAGE_SELF, &after);
	assert_in_range(nturns, 1, 3);
	assert_true(after.ru_nvcsw - before.ru_nvcsw < 20);
}

static void
test_deferred_free(void **state)
{
	int			i;

	for (i = 0; i < 100; i++)
		loop_defer_free(loop, palloc(16));
	run_for(0);
	loop_defer_free(loop, palloc(16));	/* loop_free() does that one */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_timer_order),
		TEST(test_many_timers),
		TEST(test_timer_frees_timers),
		TEST(test_timer_does_not_starve),
		TEST(test_io_wants),
		TEST(test_number_is_used_again),
		TEST(test_io_frees_itself),
		TEST(test_signal),
		TEST(test_signal_after_many),
		TEST(test_turns),
		TEST(test_turn_functions_change),
		TEST(test_wish_in_callback),
		TEST(test_stop_before_run),
		TEST(test_idle),
		TEST(test_deferred_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
