/*-------------------------------------------------------------------------
 *
 * test_requests.c
 *		Requests of an HTTP handler: hosts with several addresses, of which a task
 *		must not choose some; what is cancelled.
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
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "execute_fixture.h"
#include "workers/http/requests.h"
#include "workers/lib/task_line.h"

#define PRIVATE "10.0.0.1"
#define PUBLIC "203.0.113.1"

/* The addresses of every name. */
static const char *addresses[2];

static atomic_int nlookups;
static atomic_bool has_gate;
static sem_t gate;				/* lets one lookup end */
static atomic_bool has_passed;

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
	bool		is_gated;

	(void) name;
	(void) hints;
	is_gated = has_gate;
	atomic_fetch_add(&nlookups, 1);
	if (is_gated)
	{
		sem_wait(&gate);
		has_passed = true;
	}
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

#define LATER SECONDS_TO_US(4000000000)

static StringInfoData replies;
static Requests *requests;

static void
open_requests(const char *settings)
{
	WorkerFault fault = {NULL, NULL};
	char	   *hello = psprintf("{\"hello\":1,\"settings\":{\"http\":\"http://own.example/\",%s}}",
								 settings);
	HttpSettings *made = http_settings_new(hello, &fault);

	assert_non_null(made);
	pfree(hello);
	initStringInfo(&replies);
	requests = requests_new(fixture.loop, &replies);
	requests_set(requests, made);
}

static void
close_requests(void)
{
	requests_free(requests);
	pfree(replies.data);
}

static void
start(const char *context, int64 start_by_us)
{
	char	   *line = psprintf("{\"id\":\"0190d1a2-0000-7000-8000-000000000001\",\"version\":7,"
								"\"type\":\"T\",\"sub_type\":null,\"tries\":1,\"max_tries\":null,"
								"\"deadline\":\"2031-01-02T03:04:05Z\",\"data\":{},\"context\":%s}",
								context);
	int64		never;
	Task	   *task = task_line_read(line, &never);

	assert_non_null(task);
	requests_start(requests, task, start_by_us);
	pfree(line);
}

static bool
has_reply(void *arg)
{
	return replies.len > 0;
}

static void
expect_reply(const char *expected)
{
	run_until(has_reply, NULL);
	if (strstr(replies.data, expected) == NULL)
		fail_msg("\"%s\" is not in %s", expected, replies.data);
}

static void
send_to(const char *first, const char *second, const char *expected)
{
	addresses[0] = first;
	addresses[1] = second;
	open_requests("\"hosts\":[\"http://two.example\"]");
	start("{\"http_url\": \"http://two.example/\"}", LATER);
	expect_reply(expected);
	close_requests();
}

static void
test_private_only(void **state)
{
	send_to(PRIVATE, NULL, "\"result\":\"error\"");
	send_to(PRIVATE, PRIVATE, "\"result\":\"error\"");
}

/* That nobody is there now is for another try. */
static void
test_public_too(void **state)
{
	send_to(PUBLIC, NULL, "\"result\":\"retry\",\"message\":\"could not connect");
	send_to(PRIVATE, PUBLIC, "\"result\":\"retry\"");
	send_to(PUBLIC, PRIVATE, "\"result\":\"retry\"");
}

#define ID "0190d1a2-0000-7000-8000-000000000001"

static void
cancel_started(const char *expected)
{
	requests_cancel(requests, ID, 8, "another");
	requests_cancel(requests, ID, 7, "told \"so\"");
	requests_cancel(requests, ID, 7, "twice");
	run_until(has_reply, NULL);
	assert_string_equal(replies.data, expected);
	close_requests();
}

/* Its reply says why, and comes once; of another version there is none. */
static void
test_cancelled(void **state)
{
	open_requests("\"hosts\":[\"http://" PUBLIC "\"]");
	start("{\"http_url\": \"http://" PUBLIC "/\"}", LATER);
	cancel_started("{\"id\":\"" ID "\",\"version\":7,"
				   "\"result\":\"cancelled\",\"message\":\"told \\\"so\\\"\"}\n");
}

static bool
has_lookup(void *arg)
{
	return atomic_load(&nlookups) > 0;
}

/* Starts a request whose lookup does not end. */
static void
start_lookup(const char *settings)
{
	atomic_store(&nlookups, 0);
	has_gate = true;
	open_requests(settings);
	start("null", LATER);
	run_until(has_lookup, NULL);
	has_gate = false;
}

static bool
has_ended(void *arg)
{
	return has_passed;
}

/* Its thread must not pass the gate of a later test. */
static void
end_lookup(void)
{
	has_passed = false;
	sem_post(&gate);
	run_until(has_ended, NULL);
}

/* Nobody has the request, so no try is counted. */
static void
test_cancelled_lookup(void **state)
{
	start_lookup("\"max_output\":0");
	cancel_started("{\"id\":\"" ID "\",\"version\":7,\"result\":\"release\",\"retry_in\":1.000000,"
				   "\"message\":\"told \\\"so\\\", while the name own.example was looked up\"}\n");
	end_lookup();
}

/* A secret of the new settings must not go to a host of the old ones. */
static void
test_reload_in_lookup(void **state)
{
	WorkerFault fault = {NULL, NULL};

	start_lookup("\"max_output\":0");
	requests_set(requests, http_settings_new("{\"hello\":1,\"settings\":{\"http\":\"http://new.example/\"}}", &fault));
	expect_reply("\"result\":\"release\",\"retry_in\":1.000000,\"message\":\"the configuration has changed, "
				 "while the name own.example was looked up\"");
	close_requests();
	end_lookup();
}

static void
test_late_lookup(void **state)
{
	start_lookup("\"connect_timeout\":0.01");
	expect_reply("\"result\":\"release\",\"retry_in\":1.000000,"
				 "\"message\":\"could not connect to own.example port 80: its name was not looked up in time\"");
	close_requests();
	end_lookup();
}

/* Libcurl would start a thread for each. */
static void
test_one_lookup(void **state)
{
	addresses[0] = PUBLIC;
	addresses[1] = NULL;
	atomic_store(&nlookups, 0);
	open_requests("\"concurrency\":100");
	for (int i = 0; i < 100; i++)
		start("null", LATER);
	expect_reply("could not connect to own.example port 80");
	assert_int_equal(atomic_load(&nlookups), 1);
	close_requests();
}

/* Without descriptors nothing is sent, and no try is counted. */
static void
expect_short(const char *host)
{
	struct rlimit before;
	struct rlimit none;
	char	   *context = psprintf("{\"http_url\": \"http://%s/\"}", host);
	char	   *expected = psprintf("\"result\":\"release\",\"retry_in\":1.000000,\"message\":"
									"\"could not connect to %s port 80: too few descriptors", host);

	open_requests("\"hosts\":[\"http://" PUBLIC "\",\"http://no.example\"]");
	start(context, LATER);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	run_until(has_reply, NULL);
	setrlimit(RLIMIT_NOFILE, &before);
	expect_reply(expected);
	close_requests();
	pfree(expected);
	pfree(context);
}

/* The resolver does not always say what it lacks. */
static void
test_no_descriptors(void **state)
{
	addresses[0] = addresses[1] = NULL;
	expect_short(PUBLIC);
	expect_short("no.example");
	send_to(NULL, NULL, "\"result\":\"retry\",\"message\":\"could not connect to two.example port 80: could not translate");
}

/* Remembers the most answers that a turn gave. */
static bool
all_are_reported(void *most)
{
	static int	before;
	int			reported = 0;

	for (const char *p = replies.data; (p = strchr(p, '\n')) != NULL; p++)
		reported++;
	if (reported < before)
		before = 0;
	*(int *) most = Max(*(int *) most, reported - before);
	before = reported;
	return reported == 100;
}

/* Reading an answer takes time: the rest of the loop has its turns in between. */
static void
test_answers_of_a_turn(void **state)
{
	int			most = 0;

	addresses[0] = PUBLIC;
	addresses[1] = NULL;
	open_requests("\"concurrency\":100");
	(void) all_are_reported(&most);
	for (int i = 0; i < 100; i++)
		start("null", LATER);
	run_until(all_are_reported, &most);
	assert_in_range(most, 1, 16);
	close_requests();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_private_only),
		TEST(test_public_too),
		TEST(test_cancelled),
		TEST(test_cancelled_lookup),
		TEST(test_reload_in_lookup),
		TEST(test_late_lookup),
		TEST(test_one_lookup),
		TEST(test_no_descriptors),
		TEST(test_answers_of_a_turn),
	};

	sem_init(&gate, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
