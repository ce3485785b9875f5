/*-------------------------------------------------------------------------
 *
 * test_blocking.c
 *		A call is made also while no thread can be started, but one at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/blocking.h"
#include "check.h"

/* A test that hangs fails. */
#define PATIENCE_SECONDS 60

static Loop *loop;
static LoopTimer *again;
static bool is_short;			/* no thread can be started */
static int	gate[2];			/* a call waits for a byte */
static int	nreleased;

/* Takes the place of the one in the C library. */
int
pthread_create(pthread_t * thread, const pthread_attr_t * attributes, void *(*begin_thread) (void *), void *arg)
{
	__typeof__(pthread_create) * create = dlsym(RTLD_NEXT, "pthread_create");

	return is_short ? EAGAIN : create(thread, attributes, begin_thread, arg);
}

static void
wait_at_gate(void *what)
{
	char		byte;

	assert_int_equal(read(gate[0], &byte, 1), 1);
}

static void
end_loop(void *what)
{
	loop_stop(loop);
}

static void
count(void *what)
{
	__atomic_add_fetch(&nreleased, 1, __ATOMIC_SEQ_CST);
}

static const BlockingCall call = {wait_at_gate, end_loop, count};

static void
open_gate(void)
{
	assert_int_equal(write(gate[1], "", 1), 1);
}

/* The thread of the call before may not wait for another one yet. */
static void
try_again(void *arg)
{
	Blocking  **blocking = arg;

	*blocking = blocking_start(loop, &call, NULL);
	if (*blocking != NULL)
		loop_stop(loop);
	else
	{
		assert_int_equal(errno, EAGAIN);
		loop_timer_start(again, MS_TO_US(1));
	}
}

static void
test_no_threads(void **state)
{
	Blocking   *blocking;

	alarm(PATIENCE_SECONDS);
	loop = loop_new();
	again = loop_timer_new(loop, try_again, &blocking);
	assert_int_equal(pipe(gate), 0);
	assert_non_null(blocking_start(loop, &call, NULL));
	open_gate();
	loop_run(loop);

	is_short = true;
	loop_timer_start(again, 0);
	loop_run(loop);
	nreleased = 0;
	assert_null(blocking_start(loop, &call, NULL));
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(nreleased, 1);
	open_gate();
	loop_run(loop);

	/* The thread of a call that was given up is of use again. */
	loop_timer_start(again, 0);
	loop_run(loop);
	blocking_cancel(blocking);
	open_gate();
	loop_timer_start(again, 0);
	loop_run(loop);
	open_gate();
	loop_run(loop);

	loop_timer_free(again);
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
