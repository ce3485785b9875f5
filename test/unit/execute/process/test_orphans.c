/*-------------------------------------------------------------------------
 *
 * test_orphans.c
 *		A sidecar that starts ends what the handlers of a dead one left running,
 *		and leaves alone what belongs to a living one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "execute/process/leftovers.h"
#include "execute/process/spawn.h"
#include "execute_fixture.h"

/* Two processes in the group of a third, both with a fifo open. */
#define PIPELINE "exec 9>$0; (echo here >&9; exec tail -f /dev/null) | cat"

static void
on_exited(void *arg)
{
	(void) arg;
}

/* Stands for a sidecar: has a handler that holds the fifo, and does no more. */
static void
__attribute__((noreturn))
be_sidecar(const char *fifo)
{
	Loop	   *loop = loop_new();
	char	   *argv[] = {"sh", "-c", PIPELINE, pstrdup(fifo), NULL};
	SpawnRequest request = {.argv = argv, .exited = on_exited};
	SpawnPipes	pipes;
	SpawnFailure failure;

	if (spawn_start(loop, &request, &pipes, &failure) == NULL)
		_exit(1);
	for (;;)
		pause();
}

static pid_t
start_sidecar(const char *fifo)
{
	pid_t		pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		be_sidecar(fifo);
	return pid;
}

static void
kill_sidecar(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
test_orphans(void **state)
{
	char	   *other_path = psprintf("%s.other", fixture.path);
	int			other;
	int			first = fixture.fifo;
	pid_t		dead;
	pid_t		living;

	assert_int_equal(mkfifo(other_path, 0600), 0);
	other = open(other_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	dead = start_sidecar(fixture.path);
	wait_for_holder();
	living = start_sidecar(other_path);
	fixture.fifo = other;
	wait_for_holder();

	kill_sidecar(dead);
	fixture.fifo = first;
	assert_false(is_fifo_free(NULL));
	leftovers_kill_orphans(fixture.loop);
	run_until(is_fifo_free, NULL);
	fixture.fifo = other;
	assert_false(is_fifo_free(NULL));

	kill_sidecar(living);
	leftovers_kill_orphans(fixture.loop);
	run_until(is_fifo_free, NULL);
	fixture.fifo = first;
	close(other);
	unlink(other_path);
	pfree(other_path);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_orphans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
