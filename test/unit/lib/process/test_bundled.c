/*-------------------------------------------------------------------------
 *
 * test_bundled.c
 *		A program finds the programs beside it, or ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "check.h"

/* ---- in place of the C library's readlink() ---- */

static bool fails;

ssize_t
readlink(const char *path, char *to, size_t size)
{
	if (fails)
	{
		errno = ENOMEM;
		return -1;
	}
	return syscall(SYS_readlink, path, to, size);
}

/* Tests of other modules have a bundled_path() of their own. */
#include "process/bundled.c"

/* ---- tests ---- */

/* A path from somewhere else would start another program, or none, until the end. */
static void
test_unknown_folder_ends_the_program(void **state)
{
	pid_t		pid = fork();
	int			status;

	assert_true(pid >= 0);
	if (pid == 0)
	{
		fails = true;
		(void) bundled_path("run");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_NO_RESOURCES);
}

static void
test_folder_is_kept(void **state)
{
	char	   *before = bundled_path("run");
	char	   *after;

	assert_int_equal(before[0], '/');
	fails = true;
	after = bundled_path("run");
	fails = false;
	assert_string_equal(after, before);
	pfree(before);
	pfree(after);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_folder_ends_the_program),
		cmocka_unit_test(test_folder_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
