/*-------------------------------------------------------------------------
 *
 * test_execute_http.c
 *		Handler mode "http": hosts with several addresses, of which a task must
 *		not choose some.
 *
 * libcurl finds the names and connections of this file, not those of the
 * machine.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "workers/http/settings.h"
#include "execute_fixture.h"
#include "node/policy.h"

#define PRIVATE "10.0.0.1"
#define PUBLIC "203.0.113.1"

/* The addresses of every name. */
static const char *addresses[2];

/* ---- in the place of the C library's ---- */

static struct addrinfo *
make_address(const char *text, const char *service, struct addrinfo *next)
{
	struct addrinfo *info = palloc0(sizeof(struct addrinfo));
	struct sockaddr_in *address = palloc0(sizeof(struct sockaddr_in));

	address->sin_family = AF_INET;
	address->sin_port = htons(service == NULL ? 0 : atoi(service));
	assert_int_equal(inet_pton(AF_INET, text, &address->sin_addr), 1);
	info->ai_family = AF_INET;
	info->ai_socktype = SOCK_STREAM;
	info->ai_protocol = IPPROTO_TCP;
	info->ai_addr = (struct sockaddr *) address;
	info->ai_addrlen = sizeof(*address);
	info->ai_next = next;
	return info;
}

int
getaddrinfo(const char *name, const char *service,
			const struct addrinfo *hints, struct addrinfo **found)
{
	(void) name;
	(void) hints;
	*found = NULL;
	for (int i = lengthof(addresses) - 1; i >= 0; i--)
		if (addresses[i] != NULL)
			*found = make_address(addresses[i], service, *found);
	return 0;
}

void
freeaddrinfo(struct addrinfo *info)
{
	while (info != NULL)
	{
		struct addrinfo *next = info->ai_next;

		pfree(info->ai_addr);
		pfree(info);
		info = next;
	}
}

int
connect(int fd, const struct sockaddr *address, socklen_t len)
{
	(void) fd;
	(void) address;
	(void) len;
	errno = ECONNREFUSED;
	return -1;
}

/* ---- the tests ---- */

static TestTask *
send_to(const char *first, const char *second)
{
	static char *hosts[] = {"http://two.example"};
	static Policy policy = {.asks_retry = true};
	const char *option;
	char	   *reason;
	TestTask   *task = new_task("{}");

	addresses[0] = first;
	addresses[1] = second;
	fixture.config.url = "http://own.example/";
	fixture.config.hosts = hosts;
	fixture.config.nhosts = 1;
	fixture.config.concurrency = 1;
	fixture.config.connect_timeout_us = SECONDS_TO_US(60);
	fixture.config.networks = NETWORKS_PUBLIC;
	fixture.config.target = http_target_new(&fixture.config, &option, &reason);
	assert_non_null(fixture.config.target);
	open_runner(&runner_http, NULL);
	task->task.policy = &policy;
	task->task.context = "{\"http_url\": \"http://two.example/\"}";
	fixture.ops->start(fixture.runner, &task->task);
	wait_for(task);
	close_runner();
	http_target_free(fixture.config.target);
	return task;
}

static void
test_private_only(void **state)
{
	assert_int_equal(send_to(PRIVATE, NULL)->result, TASK_ERROR);
	assert_int_equal(send_to(PRIVATE, PRIVATE)->result, TASK_ERROR);
}

/* That nobody is there now is for another try. */
static void
test_public_too(void **state)
{
	assert_int_equal(send_to(PUBLIC, NULL)->result, TASK_RETRY);
	assert_int_equal(send_to(PRIVATE, PUBLIC)->result, TASK_RETRY);
	assert_int_equal(send_to(PUBLIC, PRIVATE)->result, TASK_RETRY);
}

/* Remembers the most answers that a turn gave. */
static bool
all_are_reported(void *most)
{
	static int	before;

	if (fixture.reported < before)
		before = 0;
	*(int *) most = Max(*(int *) most, fixture.reported - before);
	before = fixture.reported;
	return fixture.reported == 100;
}

/* Reading an answer takes time: the rest of the loop has its turns in between. */
static void
test_answers_of_a_turn(void **state)
{
	static Policy policy = {.asks_retry = true};
	const char *option;
	char	   *reason;
	int			most = 0;

	addresses[0] = PUBLIC;
	addresses[1] = NULL;
	fixture.config.url = "http://own.example/";
	fixture.config.concurrency = 100;
	fixture.config.connect_timeout_us = SECONDS_TO_US(60);
	fixture.config.target = http_target_new(&fixture.config, &option, &reason);
	open_runner(&runner_http, NULL);
	(void) all_are_reported(&most);
	for (int i = 0; i < 100; i++)
	{
		TestTask   *task = new_task("{}");

		task->task.policy = &policy;
		fixture.ops->start(fixture.runner, &task->task);
	}
	run_until(all_are_reported, &most);
	assert_in_range(most, 1, 16);
	close_runner();
	http_target_free(fixture.config.target);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_private_only),
		TEST(test_public_too),
		TEST(test_answers_of_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
