/*-------------------------------------------------------------------------
 *
 * test_attempt.c
 *		Which servers an attempt tries, and that the loop goes on meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "pg/attempt.h"

/* A test that hangs fails. */
#define PATIENCE_SECONDS 60

static Loop *loop;
static int	silent;				/* takes connections, and never answers */
static int	silent_port;
static char *ports;				/* refused, silent */
static char *directory;
static char *services;			/* a FIFO */
static int	server;
static int	step;
static char *said;

static int
new_socket(int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &len), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static int
setup(void **state)
{
	int			refused_port;
	int			refused = new_socket(&refused_port);

	alarm(PATIENCE_SECONDS);
	loop = loop_new();
	silent = new_socket(&silent_port);
	assert_int_equal(listen(silent, 5), 0);
	ports = psprintf("port=%d,%d", refused_port, silent_port);
	directory = strdup("/tmp/twtasks-attempt.XXXXXX");
	assert_non_null(mkdtemp(directory));
	services = psprintf("%s/services", directory);
	assert_int_equal(mkfifo(services, 0600), 0);
	*state = (void *) (intptr_t) refused;
	return 0;
}

static int
teardown(void **state)
{
	loop_free(loop);
	close(silent);
	close((int) (intptr_t) * state);
	unlink(services);
	rmdir(directory);
	pfree(services);
	pfree(ports);
	free(directory);
	return 0;
}

static void
note_end(void *arg, Attempt *attempt, PGconn *conn, const char *error)
{
	server = attempt_server(attempt);
	step = attempt_step(attempt);
	said = pstrdup(error == NULL ? "" : error);
	loop_stop(loop);
}

static Attempt *
start(const char *conninfo, int first)
{
	AttemptPlan plan = {conninfo, first, "test"};
	Attempt    *attempt = attempt_start(loop, &plan, note_end, NULL);

	assert_non_null(attempt);
	return attempt;
}

/* A server that refuses is passed over; one that is silent has its time. */
static void
test_servers_in_a_circle(void **state)
{
	char	   *conninfo = psprintf("host=127.0.0.1,127.0.0.1 %s connect_timeout=2", ports);

	(void) start(conninfo, 0);
	loop_run(loop);
	assert_string_equal(said, "could not connect in time");
	assert_int_equal(server, 0);
	assert_int_equal(step, 2);
	pfree(said);

	(void) start(conninfo, 3);
	loop_run(loop);
	assert_non_null(strstr(said, "Connection refused"));
	assert_int_equal(server, 1);
	assert_int_equal(step, 2);
	pfree(said);
	pfree(conninfo);
}

static void
write_services(void *arg)
{
	int			fd = open(services, O_WRONLY);

	assert_true(fd >= 0);
	close(fd);
}

/* Only a loop that goes on gets to the timer. */
static void
test_file_that_nobody_writes(void **state)
{
	LoopTimer  *timer = loop_timer_new(loop, write_services, NULL);

	setenv("PGSERVICEFILE", services, 1);
	(void) start("service=main", 0);
	loop_timer_start(timer, MS_TO_US(1));
	loop_run(loop);
	assert_non_null(strstr(said, "definition of service \"main\" not found"));
	unsetenv("PGSERVICEFILE");
	loop_timer_free(timer);
	pfree(said);
}

/* ---- attempts that were given up ---- */

typedef struct Condition
{
	bool		(*holds) (void *arg);
	void	   *arg;
	LoopTimer  *timer;
} Condition;

static void
look(void *arg)
{
	const Condition *condition = arg;

	if (condition->holds(condition->arg))
		loop_stop(loop);
	else
		loop_timer_start(condition->timer, MS_TO_US(1));
}

static void
wait_until(bool (*holds) (void *arg), void *arg)
{
	Condition	condition = {holds, arg};

	condition.timer = loop_timer_new(loop, look, &condition);
	loop_timer_start(condition.timer, 0);
	loop_run(loop);
	loop_timer_free(condition.timer);
}

/* Its thread is about to ask libpq, which reads the FIFO. */
static bool
has_begun(void *attempt)
{
	return attempt_step(attempt) > 0;
}

static Attempt *
start_that_hangs(void)
{
	Attempt    *attempt = start("service=main", 0);

	wait_until(has_begun, attempt);
	return attempt;
}

static bool
is_read(void *fd)
{
	*(int *) fd = open(services, O_WRONLY | O_NONBLOCK);
	return *(int *) fd >= 0;
}

static int
wait_for_input(int fd)
{
	struct pollfd input = {.fd = fd, .events = POLLIN};

	return poll(&input, 1, -1);
}

/* Once the file is there, the thread asks the server for nothing. */
static void
test_given_up(void **state)
{
	Attempt    *attempt;
	int			fd;
	int			client;
	char		byte;

	setenv("PGSERVICEFILE", services, 1);
	attempt = start_that_hangs();
	wait_until(is_read, &fd);
	attempt_cancel(attempt);
	assert_true(dprintf(fd, "[main]\nhost=127.0.0.1\nport=%d\n", silent_port) > 0);
	close(fd);
	assert_int_equal(wait_for_input(silent), 1);
	client = accept(silent, NULL, NULL);
	assert_true(client >= 0);
	assert_int_equal(wait_for_input(client), 1);
	assert_int_equal(read(client, &byte, 1), 0);
	close(client);
}

/* Lets those who read the FIFO go on. */
static bool
can_start(void *arg)
{
	AttemptPlan plan = {"service=main", 0, "test"};
	Attempt    *attempt = attempt_start(loop, &plan, note_end, NULL);
	int			fd;

	if (attempt != NULL)
		attempt_cancel(attempt);
	else
	{
		assert_int_equal(errno, EBUSY);
		if (is_read(&fd))
			close(fd);
	}
	return attempt != NULL;
}

/* A mount that stays dead takes a bounded number of threads. */
static void
test_many_given_up(void **state)
{
	setenv("PGSERVICEFILE", services, 1);
	for (int i = 0; i < 64; i++)
		attempt_cancel(start_that_hangs());
	assert_false(can_start(NULL));
	wait_until(can_start, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_servers_in_a_circle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_that_nobody_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_given_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
