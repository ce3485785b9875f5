/*-------------------------------------------------------------------------
 *
 * test_child.c
 *		A child gets its own descriptors and no others, also where the kernel
 *		refuses close_range(), and where nothing lists them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/run_report.h"
#include "process/child.h"
#include "check.h"

typedef long (*SystemCall) (long number,...);

/* Descriptors that a child must not get; the second one is above most others. */
static const int surplus[] = {RUN_REPORT_FD + 10, 900};

static bool has_close_range;
static bool has_list;
static int *refusals;			/* shared, since valgrind gives the child its
								 * own memory */

/* In place of the C library's function.  It runs on the child's stack, too. */
__attribute__((no_sanitize_address))
long
syscall(long number,...)
{
	static SystemCall real = NULL;
	long		args[6];
	va_list		list;

	if (number == SYS_close_range && !has_close_range)
	{
		++*refusals;
		errno = ENOSYS;
		return -1;
	}
	if (number == SYS_getdents64 && !has_list)
	{
		errno = ENOSYS;
		return -1;
	}
	if (real == NULL)			/* a library may call us before main() */
		real = (SystemCall) dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

/* The descriptors of a child; "ls" opens the last one itself. */
static void
descriptors_of_child(char *out, size_t size)
{
	char	   *argv[] = {"ls", "/proc/self/fd", NULL};
	char	   *environment[] = {NULL};
	int			output[2];
	int			report[2];
	int			pidfd = -1;
	int			status;
	size_t		length = 0;
	ssize_t		got;
	ChildPlan	plan = {
		.program = "/bin/ls", .argv = argv, .environment = environment, .stdin_fd = STDIN_FILENO, .stderr_fd = STDERR_FILENO
	};
	pid_t		pid;

	assert_int_equal(pipe(output), 0);
	assert_int_equal(pipe(report), 0);
	plan.stdout_fd = output[1];
	plan.report_fd = report[1];
	pid = child_start(&plan, &pidfd);
	assert_true(pid > 0);
	close(output[1]);
	close(report[1]);
	while ((got = read(output[0], out + length, size - 1 - length)) > 0)
		length += (size_t) got;
	out[length] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(output[0]);
	close(report[0]);
	close(pidfd);
}

static void
assert_gets_its_own(bool may_close_range, bool may_list)
{
	char		out[4096];

	has_close_range = may_close_range;
	has_list = may_list;
	*refusals = 0;
	for (size_t i = 0; i < lengthof(surplus); i++)
		assert_int_equal(dup2(STDERR_FILENO, surplus[i]), surplus[i]);
	descriptors_of_child(out, sizeof(out));
	for (size_t i = 0; i < lengthof(surplus); i++)
		close(surplus[i]);
	assert_string_equal(out, "0\n1\n2\n3\n4\n");
	assert_int_equal(*refusals, may_close_range ? 0 : 1);
}

static void
test_close_range(void **state)
{
	(void) state;
	assert_gets_its_own(true, true);
}

static void
test_without_close_range(void **state)
{
	(void) state;
	assert_gets_its_own(false, true);
}

/* A limit that was lowered does not close what is above it. */
static void
test_above_limit(void **state)
{
	struct rlimit before;
	struct rlimit low;
	char		out[4096];

	(void) state;
	has_close_range = false;
	has_list = true;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 100;
	assert_int_equal(dup2(STDERR_FILENO, 901), 901);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	descriptors_of_child(out, sizeof(out));
	assert_string_equal(out, "0\n1\n2\n3\n4\n");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(901);
}

static void
test_without_list(void **state)
{
	(void) state;
	assert_gets_its_own(false, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_range),
		cmocka_unit_test(test_without_close_range),
		cmocka_unit_test(test_above_limit),
		cmocka_unit_test(test_without_list),
	};

	refusals = mmap(NULL, sizeof(*refusals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (refusals == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
