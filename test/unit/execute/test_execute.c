/*-------------------------------------------------------------------------
 *
 * test_execute.c
 *		Handler modes "command" and "noop": whatever a handler may do to us.
 *
 * test/handlers/command.sh plays the handler.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "execute_fixture.h"

#define GIGABYTE "1073741824"

#define HANDLER project_file("test/handlers/command.sh")

static const char *const why = "deadline of 10min passed";

static void
end_task(TestTask *task)
{
	fixture.kind->stop_task(fixture.runner, &task->task, why);
}

/* ---- exits ---- */

static void
test_exit_statuses(void **state)
{
	open_command(HANDLER, "exit", "0", "all is well\\n");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	close_runner();

	open_command(HANDLER, "exit", "3", "no such customer\\n\\n");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler exited with status 3: no such customer");
	close_runner();

	open_command(HANDLER, "exit", "1");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler exited with status 1");
	close_runner();

	open_command(HANDLER, "exit", "65", "bad data");
	assert_verdict(run_task(NULL), TASK_ERROR,
				   "handler exited with status 65: bad data");
	close_runner();

	open_command(HANDLER, "exit", "75", "busy");
	assert_verdict(run_task(NULL), TASK_RETRY,
				   "handler exited with status 75: busy");
	assert_int_equal(run_task(NULL)->delay_us, TASK_DELAY_BY_POLICY);
}

static void
test_signals(void **state)
{
	open_command(HANDLER, "signal", "SEGV");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler was ended by signal 11 (Segmentation fault)");
	close_runner();

	open_command(HANDLER, "signal", "KILL");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler was ended by signal 9 (Killed)");
}

static void
test_many_at_once(void **state)
{
	int			i;

	open_command("/bin/true");
	for (i = 0; i < 200; i++)
		start_task("{}");
	assert_int_equal(fixture.reported, 0);
	wait_for_all();
	assert_int_equal(fixture.reported, 200);
}

/* ---- not started ---- */

static void
test_missing_executable(void **state)
{
	TestTask   *task;

	open_command("/nonexistent/handler");
	task = start_task(NULL);
	assert_int_equal(task->reports, 0); /* not from inside of start */
	wait_for(task);
	assert_verdict(task, TASK_RELEASE, "could not execute "
				   "\"/nonexistent/handler\": No such file or directory");
	assert_int_equal(task->delay_us, TASK_DELAY_UNFIT);
	close_runner();

	open_command("no-such-program-in-path");
	assert_verdict(run_task(NULL), TASK_RELEASE, "could not execute "
				   "\"no-such-program-in-path\": No such file or directory");
	close_runner();

	open_command("/etc/passwd");
	assert_verdict(run_task(NULL), TASK_RELEASE, "could not execute "
				   "\"/etc/passwd\": Permission denied");
}

static void
test_missing_directory(void **state)
{
	fixture.config.directory = "/nonexistent";
	open_command("true");
	assert_verdict(run_task(NULL), TASK_RELEASE, "could not change directory to "
				   "\"/nonexistent\": No such file or directory");
}

static bool
has_no_trouble(void *arg)
{
	return fixture.kind->trouble(fixture.runner) == NULL;
}

/* With no descriptor left the task goes back as it was, and the shortage passes. */
static void
test_shortage(void **state)
{
	struct rlimit before;
	struct rlimit none;
	int			unused = dup(0);

	open_command("true");
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = unused + 1;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_verdict(run_task(NULL), TASK_RELEASE, "could not start a process "
				   "for \"true\": Too many open files");
	setrlimit(RLIMIT_NOFILE, &before);
	assert_string_equal(fixture.kind->trouble(fixture.runner),
						"could not start a process for \"true\": Too many open files");
	run_until(has_no_trouble, NULL);
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	close(unused);
}

/* ---- the deadline ---- */

/* Starts a handler that stays, and stops it once it is there. */
static TestTask *
stop_handler(const char *how)
{
	TestTask   *task;

	open_command(HANDLER, "hold", fixture.path, how);
	task = start_task(NULL);
	wait_for_holder();
	assert_int_equal(task->reports, 0);
	end_task(task);
	end_task(task);				/* once more changes nothing */
	assert_int_equal(task->reports, 0);
	wait_for(task);
	return task;
}

static void
test_deadline(void **state)
{
	assert_verdict(stop_handler("alone"), TASK_FAILURE, why);
	assert_true(is_fifo_free(NULL));
}

static void
test_deadline_kills_who_ignores_term(void **state)
{
	fixture.config.grace_us = MS_TO_US(50);
	assert_verdict(stop_handler("deaf"), TASK_FAILURE, why);
	assert_true(is_fifo_free(NULL));
}

/* A handler that ends well when it is asked to was too late all the same. */
static void
test_deadline_is_no_success(void **state)
{
	char	   *message = psprintf("%s: bye", why);

	assert_verdict(stop_handler("polite"), TASK_FAILURE, message);
	pfree(message);
}

static void
test_deadline_kills_group(void **state)
{
	assert_verdict(stop_handler("child"), TASK_FAILURE, why);
	assert_true(is_fifo_free(NULL));
}

static void
test_deadline_kills_other_session(void **state)
{
	assert_verdict(stop_handler("session"), TASK_FAILURE, why);
	assert_true(is_fifo_free(NULL));
}

static void
restore_limit(void *arg)
{
	setrlimit(RLIMIT_NOFILE, arg);
}

/* Without descriptors to look for them, processes do not count as gone. */
static void
test_deadline_in_a_shortage(void **state)
{
	struct rlimit before;
	struct rlimit one_left;
	LoopTimer  *timer = loop_timer_new(fixture.loop, restore_limit, &before);
	TestTask   *task;
	int			unused;

	open_command(HANDLER, "hold", fixture.path, "session");
	task = start_task(NULL);
	wait_for_holder();
	unused = dup(0);
	close(unused);
	getrlimit(RLIMIT_NOFILE, &before);
	one_left = before;
	one_left.rlim_cur = unused + 1;
	setrlimit(RLIMIT_NOFILE, &one_left);
	loop_timer_start(timer, MS_TO_US(500));
	end_task(task);
	wait_for(task);
	assert_true(is_fifo_free(NULL));
	setrlimit(RLIMIT_NOFILE, &before);
	loop_timer_free(timer);
}

/* Many that are stopped together are looked for together. */
static void
test_deadline_of_many(void **state)
{
	TestTask   *tasks[20];
	int			i;

	open_command(HANDLER, "hold", fixture.path, "session");
	for (i = 0; i < 20; i++)
	{
		tasks[i] = start_task(NULL);
		wait_for_holder();
	}
	for (i = 0; i < 20; i++)
		end_task(tasks[i]);
	wait_for_all();
	for (i = 0; i < 20; i++)
		assert_verdict(tasks[i], TASK_FAILURE, why);
	assert_true(is_fifo_free(NULL));
}

/* The exit was before the deadline, though the loop hears of it after. */
static void
test_exit_wins_over_deadline(void **state)
{
	TestTask   *task;
	siginfo_t	info;

	open_command("true");
	task = start_task(NULL);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	end_task(task);
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
}

/* ---- who remains ---- */

static void
test_leader_exits_first(void **state)
{
	open_command(HANDLER, "leave", fixture.path, "child");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	run_until(is_fifo_free, NULL);
}

/* It holds our pipe, but the exit counts, and it does not outlive the verdict. */
static void
test_daemon_keeps_pipe_open(void **state)
{
	open_command(HANDLER, "leave", fixture.path, "session");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	assert_true(is_fifo_free(NULL));
}

static void
test_close_kills(void **state)
{
	open_command(HANDLER, "hold", fixture.path, "session");
	start_task(NULL);
	wait_for_holder();
	close_runner();
	assert_true(is_fifo_free(NULL));
	assert_int_equal(fixture.reported, 0);
}

static void
test_close_reports_known_verdicts(void **state)
{
	TestTask   *task;

	open_command("no-such-program-in-path");
	task = start_task(NULL);
	close_runner();
	assert_int_equal(task->reports, 1);
	assert_int_equal(task->result, TASK_RELEASE);
}

/* The death of the sidecar kills its handlers. */
static void
test_death_of_sidecar(void **state)
{
	struct pollfd fifo = {.fd = fixture.fifo, .events = POLLIN};
	pid_t		pid = fork();
	char		line[16];

	if (pid == 0)
	{
		Loop	   *loop = loop_new();

		fixture.loop = loop;
		open_command(HANDLER, "hold", fixture.path, "alone");
		start_task(NULL);
		loop_run(loop);
		_exit(0);
	}
	assert_int_equal(poll(&fifo, 1, 60000), 1);
	assert_int_equal(read(fixture.fifo, line, sizeof(line)), 5);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	run_until(is_fifo_free, NULL);
}

/* ---- output ---- */

static long
resident_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void
test_flood(void **state)
{
	long		before_kb = resident_kb();
	TestTask   *task;

	open_command(HANDLER, "flood", GIGABYTE);
	task = run_task(NULL);
	assert_int_equal(task->result, TASK_FAILURE);
	assert_int_equal(strncmp(task->message, "handler exited with status 3: "
							 "...\\x00\\x00", 41), 0);
	assert_in_range(strlen(task->message), 60000, 65536 + 100);
	assert_true(resident_kb() - before_kb < 16 * 1024);
}

static void
test_kept_output(void **state)
{
	open_command(HANDLER, "exit", "3",
				 "a\\000b \\033[31mred \\303\\251 \\377\\ttab\\nline");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler exited with status 3: a\\x00b \\x1b[31mred "
				   "\xc3\xa9 \\xff\ttab\nline");
	close_runner();

	/* Cut in the middle of a character. */
	fixture.config.max_output = 6;
	open_command(HANDLER, "exit", "3", "\\303\\251\\303\\251 end\\n");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler exited with status 3: ... end");
	close_runner();

	fixture.config.max_output = 0;
	open_command(HANDLER, "exit", "3", "text");
	assert_verdict(run_task(NULL), TASK_FAILURE,
				   "handler exited with status 3");
}

static void
test_drip(void **state)
{
	TestTask   *task;

	open_command(HANDLER, "drip", fixture.path);
	task = start_task(NULL);
	wait_for_holder();
	end_task(task);
	wait_for(task);
	assert_int_equal(task->result, TASK_FAILURE);
	assert_true(is_fifo_free(NULL));
}

/* ---- input ---- */

#define PAYLOAD_BYTES (16 * 1024 * 1024)

static char *
make_payload(void)
{
	char	   *payload = palloc(PAYLOAD_BYTES);
	int			i;

	for (i = 0; i < PAYLOAD_BYTES; i++)
		payload[i] = (char) (i ^ (i >> 8) ^ (i >> 16));
	return payload;
}

static void
test_unread_payload(void **state)
{
	char	   *payload = make_payload();
	TestTask   *task;

	open_command(HANDLER, "unread");
	task = start_payload(payload, PAYLOAD_BYTES);
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);
	close_runner();

	open_command(HANDLER, "unread", fixture.path);
	task = start_payload(payload, PAYLOAD_BYTES);
	wait_for_holder();
	end_task(task);
	wait_for(task);
	assert_verdict(task, TASK_FAILURE, why);
	pfree(payload);
}

static void
test_payload_byte_for_byte(void **state)
{
	char	   *payload = make_payload();
	char	   *path = psprintf("%s/payload", fixture.directory);
	int			fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	TestTask   *whole;
	TestTask   *less;

	assert_int_equal(write(fd, payload, PAYLOAD_BYTES), PAYLOAD_BYTES);
	close(fd);
	open_command(HANDLER, "compare", path);
	whole = start_payload(payload, PAYLOAD_BYTES);
	less = start_payload(payload, PAYLOAD_BYTES - 1);
	wait_for_all();
	assert_verdict(whole, TASK_DONE, NULL);
	assert_verdict(less, TASK_FAILURE, "handler exited with status 1");
	unlink(path);
	pfree(path);
	pfree(payload);
}

static void
test_no_data(void **state)
{
	open_command("cmp", "-s", "-", "/dev/null");
	assert_verdict(run_task(NULL), TASK_DONE, NULL);
	assert_verdict(run_task(""), TASK_DONE, NULL);
	assert_int_equal(run_task("{}")->result, TASK_FAILURE);
}

/* ---- surroundings ---- */

/* The message of sh on stderr. */
static void
assert_prints(const char *script, const char *expected)
{
	char	   *command = psprintf("{ %s; } >&2; exit 3", script);
	char	   *message = psprintf("handler exited with status 3: %s",
								   expected);
	TestTask   *task;

	open_command("sh", "-c", command);
	task = run_task("{}");
	assert_verdict(task, TASK_FAILURE, message);
	close_runner();
	pfree(command);
	pfree(message);
}

/* The fourth is the directory that ls itself reads. */
static void
test_descriptors(void **state)
{
	int			extra[] = {dup(1), dup2(1, 77), dup2(1, 500)};
	int			i;

	assert_prints("ls /proc/self/fd", "0\n1\n2\n3");
	for (i = 0; i < (int) lengthof(extra); i++)
		close(extra[i]);
}

static void
test_environment(void **state)
{
	setenv("PGPASSWORD", "secret", 1);
	setenv("TWTASKS_ID", "another's", 1);
	setenv("TZ", "UTC", 1);
	assert_prints("env | sed 's/=.*//' | grep -Ev '^(PATH|HOME|LANG|LC_ALL|"
				  "USER|TMPDIR)$' | grep -Ev '^(PWD|_|SHLVL|OLDPWD)$' | sort",
				  "TWTASKS_DEADLINE\nTWTASKS_ID\nTWTASKS_TRIES\n"
				  "TWTASKS_TYPE\nTWTASKS_VERSION\nTZ");
	assert_prints("env | grep -c -E \"secret|another's\"", "0");
	unsetenv("PGPASSWORD");
	unsetenv("TWTASKS_ID");
}

static void
test_facts(void **state)
{
	static char sub_type[] = "URGENT";
	static char context[] = "{\"request\": \"a b\"}";
	TestTask   *task;
	char	   *expected;

	open_command("sh", "-c", "echo \"$TWTASKS_ID $TWTASKS_VERSION "
				 "$TWTASKS_TYPE $TWTASKS_SUB_TYPE $TWTASKS_TRIES "
				 "$TWTASKS_DEADLINE $TWTASKS_CONTEXT\" >&2; exit 1");
	task = new_task(NULL);
	task->task.sub_type = sub_type;
	task->task.context = context;
	fixture.kind->start(fixture.runner, &task->task);
	wait_for(task);
	expected = psprintf("handler exited with status 1: %s %d TEST URGENT 1 "
						"2031-01-02T03:04:05Z %s", task->task.id_text,
						(int) task->task.version, context);
	assert_verdict(task, TASK_FAILURE, expected);
	pfree(expected);
}

/* A context too large for the environment is an error, not a retry. */
static void
test_large_context(void **state)
{
	size_t		most = 32 * sysconf(_SC_PAGESIZE) - strlen("TWTASKS_CONTEXT=") - 1;
	char	   *context = palloc0(most + 2);
	TestTask   *task;

	open_command("true");
	memset(context, ' ', most);
	task = new_task(NULL);
	task->task.context = context;
	fixture.kind->start(fixture.runner, &task->task);
	wait_for(task);
	assert_verdict(task, TASK_DONE, NULL);

	context[most] = ' ';
	task = new_task(NULL);
	task->task.context = context;
	fixture.kind->start(fixture.runner, &task->task);
	wait_for(task);
	assert_int_equal(task->result, TASK_ERROR);
	assert_non_null(strstr(task->message, "bytes is too large for a command"));
	pfree(context);
}

static void
test_restrictions(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	assert_prints("umask; ulimit -c; pwd", "0077\n0\n/");
	/* not looked at: 32 and 33, which the C library keeps to itself */
	assert_prints("grep -E '^(NoNewPrivs|SigBlk|SigIgn)' /proc/self/status | "
				  "sed 's/0000000180000000/0000000000000000/'",
				  "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
				  "NoNewPrivs:\t1");
	/* pid, process group and session of the shell are one */
	assert_prints("read -r _ _ _ _ g s _ </proc/$$/stat; "
				  "echo $((g - $$)) $((s - $$))", "0 0");
	fixture.config.directory = "/usr";
	assert_prints("pwd", "/usr");
}

/* ---- noop ---- */

static void
test_noop(void **state)
{
	TestTask   *first;
	int			i;

	open_runner(&handler_noop, NULL);
	first = start_task(NULL);
	end_task(first);
	for (i = 0; i < 1000; i++)
		start_task("{}");
	assert_int_equal(fixture.reported, 0);
	wait_for_all();
	assert_int_equal(fixture.reported, 1001);
	assert_verdict(first, TASK_DONE, NULL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_exit_statuses),
		TEST(test_signals),
		TEST(test_many_at_once),
		TEST(test_missing_executable),
		TEST(test_missing_directory),
		TEST(test_shortage),
		TEST(test_deadline),
		TEST(test_deadline_kills_who_ignores_term),
		TEST(test_deadline_is_no_success),
		TEST(test_deadline_kills_group),
		TEST(test_deadline_kills_other_session),
		TEST(test_deadline_in_a_shortage),
		TEST(test_deadline_of_many),
		TEST(test_exit_wins_over_deadline),
		TEST(test_leader_exits_first),
		TEST(test_daemon_keeps_pipe_open),
		TEST(test_close_kills),
		TEST(test_close_reports_known_verdicts),
		TEST(test_death_of_sidecar),
		TEST(test_flood),
		TEST(test_kept_output),
		TEST(test_drip),
		TEST(test_unread_payload),
		TEST(test_payload_byte_for_byte),
		TEST(test_no_data),
		TEST(test_descriptors),
		TEST(test_environment),
		TEST(test_facts),
		TEST(test_large_context),
		TEST(test_restrictions),
		TEST(test_noop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
