/*-------------------------------------------------------------------------
 *
 * test_http_lookup.c
 *		Names of hosts: few threads, each name once, and no thread of libcurl's.
 *
 * The resolver is ours here: it does not answer before it may.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "execute_fixture.h"
#include "workers/http/http_lookup.h"

#define NAMES 100

static sem_t gate;				/* lets one call end */
static atomic_int begun;
static HttpLookups *lookups;
static HttpLookup waits[2 * NAMES];
static struct sockaddr_in address;	/* all names have it */
static int	nknown;
static int	nfailed;

int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
			struct addrinfo **found)
{
	(void) service;
	(void) hints;
	atomic_fetch_add(&begun, 1);
	sem_wait(&gate);
	*found = NULL;
	if (strcmp(host, "unknown.test") == 0)
		return EAI_NONAME;
	*found = palloc0(sizeof(struct addrinfo));
	(*found)->ai_addr = (struct sockaddr *) &address;
	(*found)->ai_addrlen = sizeof(address);
	return 0;
}

void
freeaddrinfo(struct addrinfo *found)
{
	pfree(found);
}

static void
on_addresses(void *arg, const char *addresses, const char *error)
{
	if (addresses == NULL)
	{
		assert_non_null(strstr(error, "could not translate host name"));
		nfailed++;
		return;
	}
	assert_string_equal(addresses, "203.0.113.1");
	nknown++;
}

static const char *
look_up(int i, const char *host)
{
	waits[i].fn = on_addresses;
	return http_lookup_start(lookups, host, &waits[i]);
}

static bool
have_begun(void *n)
{
	return atomic_load(&begun) >= *(int *) n;
}

static bool
are_told(void *n)
{
	return nknown + nfailed >= *(int *) n;
}

static void
let_end(int n)
{
	while (n-- > 0)
		sem_post(&gate);
}

static int
setup(void **state)
{
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(0xcb007101);
	sem_init(&gate, 0, 0);
	atomic_init(&begun, 0);
	nknown = nfailed = 0;
	if (fixture_setup(state) != 0)
		return -1;
	lookups = http_lookups_new(fixture.loop);
	return 0;
}

static int
teardown(void **state)
{
	http_lookups_free(lookups);
	return fixture_teardown(state);
}

static void
test_one_for_a_name(void **state)
{
	int			one = 1;
	int			all = NAMES;

	for (int i = 0; i < NAMES; i++)
		assert_null(look_up(i, "a.test"));
	let_end(1);
	run_until(are_told, &all);
	assert_true(have_begun(&one));
	assert_int_equal(atomic_load(&begun), 1);
	assert_string_equal(look_up(0, "a.test"), "203.0.113.1");
	assert_int_equal(atomic_load(&begun), 1);
}

static void
test_few_at_once(void **state)
{
	int			most = 16;
	int			all = NAMES;

	for (int i = 0; i < NAMES; i++)
	{
		char	   *host = psprintf("%d.test", i);

		assert_null(look_up(i, host));
		pfree(host);
	}
	run_until(have_begun, &most);
	for (int i = 0; i < NAMES; i++)
	{
		int			told = i + 1;

		let_end(1);
		run_until(are_told, &told);
		assert_true(atomic_load(&begun) <= most + told);
	}
	assert_true(are_told(&all));
	assert_int_equal(nfailed, 0);
}

/* The next caller asks anew. */
static void
test_failure(void **state)
{
	for (int told = 1; told <= 2; told++)
	{
		assert_null(look_up(0, "unknown.test"));
		let_end(1);
		run_until(are_told, &told);
		assert_int_equal(nfailed, told);
	}
}

/* A thread that nobody waits for still counts, and its answer is of use. */
static void
test_cancelled(void **state)
{
	int			one = 1;

	assert_null(look_up(0, "a.test"));
	run_until(have_begun, &one);
	http_lookup_cancel(&waits[0]);
	http_lookup_cancel(&waits[0]);
	assert_null(look_up(1, "a.test"));
	let_end(1);
	run_until(are_told, &one);
	assert_int_equal(atomic_load(&begun), 1);
	assert_int_equal(nknown, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_for_a_name),
		TEST(test_few_at_once),
		TEST(test_failure),
		TEST(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
