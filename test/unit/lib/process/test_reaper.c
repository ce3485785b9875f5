/*-------------------------------------------------------------------------
 *
 * test_reaper.c
 *		A process that gets orphans reaps them all, and its own children end as
 *		they should.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "process/reaper.h"
#include "execute_fixture.h"

#define NTASKS 20

static int
be_subreaper(void **state)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? fixture_setup(state) : -1;
}

static bool
has_no_child(void *arg)
{
	siginfo_t	info;

	(void) arg;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;
}

/* One in a session of its own, whose parent exits. */
static void
leave_orphan(void)
{
	pid_t		pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return;
	if (fork() == 0)
		setsid();
	_exit(0);
}

/* Our own handlers leave none, so the test makes some. */
static void
test_orphans_are_reaped(void **state)
{
	TestTask   *tasks[NTASKS];

	reaper_open(fixture.loop);
	open_command("sh", "-c", "exit $(cat)");
	for (int i = 0; i < NTASKS; i++)
	{
		leave_orphan();
		tasks[i] = start_task(i % 2 == 0 ? "0" : "65");
	}
	wait_for_all();
	for (int i = 0; i < NTASKS; i++)
		assert_int_equal(tasks[i]->result, i % 2 == 0 ? TASK_DONE : TASK_ERROR);
	run_until(has_no_child, NULL);
}

/* The child exits within the turn in which the reaper hears of an exit. */
static void
let_child_exit(void *arg, int ready)
{
	siginfo_t	info;

	(void) ready;
	send_go();
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	loop_io_want(*(LoopIo **) arg, 0);
}

static void
test_own_child_is_reported(void **state)
{
	int			fds[2];
	LoopIo	   *io;
	TestTask   *task;

	reaper_open(fixture.loop);
	open_command("sh", "-c", "echo >$0; read -r go <$1; exit 65", fixture.path, fixture.go_path);
	task = start_task(NULL);
	wait_for_holder();
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	io = loop_io_new(fixture.loop, fds[0], let_child_exit, &io);
	loop_io_want(io, LOOP_READ);
	raise(SIGCHLD);
	wait_for(task);
	assert_int_equal(task->result, TASK_ERROR);
	loop_io_free(io);
	close(fds[0]);
	close(fds[1]);
}

/* The kernel reaps what a program without children gets: nothing is left to wait for. */
static void
test_without_children(void **state)
{
	int			status;
	pid_t		pid = fork();

	if (pid == 0)
	{
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		program_prepare();
		if (fork() == 0)
		{
			if (fork() == 0)
				_exit(0);
			_exit(0);
		}
		_exit(waitpid(-1, NULL, 0) == -1 && errno == ECHILD ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, be_subreaper, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_orphans_are_reaped),
		TEST(test_own_child_is_reported),
		TEST(test_without_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
