/*-------------------------------------------------------------------------
 *
 * test_faults.c
 *		Tasks that come back without a try tell of a fault of their handler: one
 *		line in the log, a row for the view of warnings, and no more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <unistd.h>

#include "fake_loop.h"
#include "fake_pg.h"

#include "base/blocking.h"
#include "calls/calls.h"
#include "check/faults.h"
#include "process/spawn.h"

static char *type_a = (char *) "A";
static char *type_f = (char *) "F";
static HandlerConfig by_http = {.index = 0, .types = &type_a, .ntypes = 1};
static HandlerConfig by_function = {.index = 1, .types = &type_f, .ntypes = 1, .function = (char *) "app.f"};
static HandlerConfig *handlers[] = {&by_http, &by_function};
static Config config = {.handlers = handlers, .nhandlers = lengthof(handlers)};
static Pg	control = {.is_up = true};
static Faults *faults;
static const char *asked;		/* the trouble of all programs */
static int	reader;
static int	real_stderr;

int64
node_incarnation(const Node *node)
{
	return 1;
}

Pg *
node_pg(const Node *node)
{
	return &control;
}

bool
spawn_can_execute(const char *name)
{
	return true;
}

/* The thread that looks for programs. */
struct Blocking
{
	const BlockingCall *call;
	void	   *what;
};

static Blocking thread;

Blocking *
blocking_start(Loop *loop, const BlockingCall *call, void *what)
{
	call->ask(what);
	thread.call = call;
	thread.what = what;
	return &thread;
}

void
blocking_cancel(Blocking *blocking)
{
	blocking->call->release(blocking->what);
}

static const char *
ask(void *arg, int handler)
{
	return asked;
}

/* The answer of a check: the function has that fault, or NULL. */
static void
check(const char *fault)
{
	PGresult   *result = make_result(HANDLERS_FAULT + 1);

	if (fault != NULL)
	{
		put_int4(result, 0, HANDLERS_PLACE, by_function.index + 1);
		put_text(result, 0, HANDLERS_FAULT, fault);
	}
	faults_pump(faults);
	thread.call->answered(thread.what);
	blocking_cancel(&thread);
	answer("check_handlers", result);
}

/* Returns what the log has said since. */
static const char *
tick(void)
{
	static char said[4096];
	ssize_t		n;

	faults_tick(faults, NULL);
	n = read(reader, said, sizeof(said) - 1);
	said[Max(n, 0)] = '\0';
	return said;
}

static void
assert_says(const char *level, const char *words)
{
	const char *said = tick();

	assert_non_null(strstr(said, level));
	assert_non_null(strstr(said, words));
	assert_int_equal(strcspn(said, "\n"), strlen(said) - 1);
}

static void
come_back(const char *type, const char *why)
{
	Task		task = {.type = (char *) type};

	faults_note(faults, &task, why);
}

/* The view of warnings has got the faults. */
static void
assert_published(void)
{
	answer("note_faults", NULL);
	assert_null(find_call("note_faults"));
}

static int
start(void **state)
{
	int			ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	reader = ends[0];
	real_stderr = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	asked = NULL;
	faults = faults_open(NULL, &config, NULL, ask, NULL);
	faults_look(faults);
	check(NULL);
	assert_published();
	return 0;
}

static int
end_test(void **state)
{
	faults_free(faults);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(reader);
	return 0;
}

static void
test_noted_once_while_it_lasts(void **state)
{
	come_back("A", "no descriptors");
	assert_string_equal(faults_text(faults), "handlers[0]: no descriptors");
	assert_says("ERROR", "cannot be started, its tasks wait: handlers[0]: no descriptors");
	assert_published();
	for (int i = 0; i < 100; i++)
	{
		pass_us(SECONDS_TO_US(50));
		come_back("A", i % 2 == 0 ? "no other descriptors" : "no descriptors");
		assert_string_equal(tick(), "");
	}
	pass_us(SECONDS_TO_US(61));
	assert_says("INFO", "can be started again: handlers[0]");
	assert_published();
	assert_null(faults_text(faults));
}

/* Other tasks of the handlers may work. */
static void
test_noted_is_not_all(void **state)
{
	come_back("A", "no such host");
	come_back("F", "no such function");
	assert_non_null(strstr(faults_text(faults), "; handlers[1]: no such function"));
	assert_false(faults_are_all(faults));
	asked = "no such program";
	assert_true(faults_are_all(faults));
}

/* The program's own trouble has been told, and ends by itself. */
static void
test_known_trouble_is_not_noted(void **state)
{
	asked = "worker exited";
	come_back("A", "worker exited");
	asked = NULL;
	assert_null(faults_text(faults));
	come_back("NONE", "it has no handler");
	assert_null(faults_text(faults));
}

static void
test_function_is_checked(void **state)
{
	come_back("F", "no such function");
	assert_says("ERROR", "handlers[1]: no such function");
	assert_published();
	check("no such function");
	answer("note_faults", NULL);
	assert_string_equal(tick(), "");
	assert_true(strcmp(faults_text(faults), "handlers[1]: no such function") == 0);

	pass_us(SECONDS_TO_US(30));
	come_back("F", "no such function");
	check(NULL);
	answer("note_faults", NULL);
	assert_says("INFO", "can be started again: handlers[1]");
	assert_null(faults_text(faults));
}

/* A reload may be refused while the database is away. */
static void
test_lost_news_are_told_again(void **state)
{
	control.is_up = false;
	faults_note_config(faults, "refused");
	assert_string_equal(tick(), "");
	assert_null(find_call("note_faults"));
	control.is_up = true;
	assert_string_equal(tick(), "");
	end_call(find_call("note_faults"), PG_LOST, NULL);
	assert_string_equal(tick(), "");
	assert_published();
	assert_string_equal(tick(), "");
	assert_null(find_call("note_faults"));
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_noted_once_while_it_lasts),
		UNIT(test_noted_is_not_all),
		UNIT(test_known_trouble_is_not_noted),
		UNIT(test_function_is_checked),
		UNIT(test_lost_news_are_told_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
