/*-------------------------------------------------------------------------
 *
 * test_loop_watch.c
 *		A descriptor that the kernel cannot watch is tried again, and a loop that
 *		cannot wait for events ends the process.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <dlfcn.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "check.h"

/* Takes the place of libevent's function, which it calls unless it is to fail. */

static int	failures_left;

int
event_add(struct event *event, const struct timeval *timeout)
{
	int			(*real) (struct event *, const struct timeval *) = dlsym(RTLD_NEXT, "event_add");

	if (failures_left > 0)
	{
		failures_left--;
		errno = ENOMEM;
		return -1;
	}
	return real(event, timeout);
}

static Loop *loop;
static int	reads;

static void
on_readable(void *arg, int ready)
{
	reads++;
	loop_stop(loop);
}

static void
test_is_tried_again(void **state)
{
	int			fds[2];
	LoopIo	   *io;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	loop = loop_new();
	io = loop_io_new(loop, fds[0], on_readable, NULL);
	failures_left = 2;
	loop_io_want(io, LOOP_READ);
	loop_run(loop);
	assert_int_equal(reads, 1);
	assert_int_equal(failures_left, 0);
	loop_io_want(io, 0);
	failures_left = 1;
	loop_io_want(io, LOOP_READ);
	loop_io_free(io);			/* is not watched, and not tried again */
	loop_free(loop);
	close(fds[0]);
	close(fds[1]);
}

static void
watch_no_signal(void)
{
	loop = loop_new();
	failures_left = 1;
	loop_on_signal(loop, SIGUSR1, NULL, NULL);
}

static void
open_no_loop(void)
{
	failures_left = 1;
	loop_free(loop_new());
}

static void
lose_epoll(void)
{
	loop = loop_new();
	closefrom(STDERR_FILENO + 1);
	loop_run(loop);
}

static int
status_of(void (*run) (void))
{
	int			status;
	pid_t		child = fork();

	assert_true(child >= 0);
	if (child == 0)
	{
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		run();
		_exit(EXIT_SUCCESS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void
test_cannot_wait(void **state)
{
	assert_int_equal(WEXITSTATUS(status_of(watch_no_signal)), EXIT_FAILURE);
	assert_int_equal(WEXITSTATUS(status_of(open_no_loop)), EXIT_FAILURE);
	assert_int_equal(WEXITSTATUS(status_of(lose_epoll)), EXIT_FAILURE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_tried_again),
		cmocka_unit_test(test_cannot_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
