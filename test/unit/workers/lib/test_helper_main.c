/*-------------------------------------------------------------------------
 *
 * test_helper_main.c
 *		TERM ends a helper in order, and one whose last work takes too long at once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "workers/lib/helper_main.h"

/* ---- the helper, in a process of its own ---- */

static void *
settings_new(const char *hello, WorkerFault *fault)
{
	return pstrdup(hello);
}

static void
settings_free(void *settings)
{
	pfree(settings);
}

static void *
begin(HelperMain *frame, void *settings)
{
	helper_main_take_term(frame);
	return settings;
}

/* Its last work never ends. */
static void
leave(void *own)
{
	static const char line[] = "leaves\n";

	(void) !write(STDOUT_FILENO, line, strlen(line));
}

/* ---- steps ---- */

typedef struct Process
{
	pid_t		pid;
	int			to;
	FILE	   *from;
} Process;

static void
run_helper(int in, int out)
{
	static const HelperUse use = {
		.hello = {"twtasks-test", "", settings_new, settings_free},
		.component = "test",
		.begin = begin,
		.leave = leave
	};
	char	   *argv[] = {"twtasks-test", NULL};

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	_exit(helper_main(&use, 1, argv));
}

static Process
start(void)
{
	static const char hello[] = "{\"hello\":1,\"settings\":{}}\n";
	int			in[2];
	int			out[2];
	Process		process;
	char		line[100];

	assert_int_equal(pipe(in) | pipe(out), 0);
	process.pid = fork();
	if (process.pid == 0)
	{
		close(in[1]);
		run_helper(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	process.to = in[1];
	process.from = fdopen(out[0], "r");
	assert_int_equal(write(process.to, hello, strlen(hello)), strlen(hello));
	assert_non_null(fgets(line, sizeof(line), process.from));
	assert_string_equal(line, "{\"ready\":1}\n");
	return process;
}

static void
wait_until_leaving(Process *process)
{
	char		line[100];

	assert_non_null(fgets(line, sizeof(line), process->from));
	assert_string_equal(line, "leaves\n");
}

static void
assert_ends(Process *process)
{
	int			status;

	kill(process->pid, SIGTERM);
	assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fclose(process->from);
}

/* ---- tests ---- */

static void
test_term_after_input(void **state)
{
	Process		process = start();

	close(process.to);
	wait_until_leaving(&process);
	assert_ends(&process);
}

static void
test_second_term(void **state)
{
	Process		process = start();

	kill(process.pid, SIGTERM);
	wait_until_leaving(&process);
	assert_ends(&process);
	close(process.to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_term_after_input),
		cmocka_unit_test(test_second_term)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
