/*-------------------------------------------------------------------------
 *
 * test_hosts.c
 *		Which server comes next, and what of it is to be looked up.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "pg/hosts.h"

/* The names in the order in which they are to be looked up; "-": nothing is. */
static void
expect_round(const char *conninfo, const char *expected)
{
	Hosts	   *hosts = hosts_new(conninfo);
	StringInfoData seen;

	initStringInfo(&seen);
	for (int i = 0; i < hosts_count(hosts); i++)
	{
		const char *name = hosts_name(hosts, i);

		appendStringInfo(&seen, "%s ", name == NULL ? "-" : name);
	}
	assert_string_equal(seen.data, expected);
	pfree(seen.data);
	hosts_free(hosts);
}

static void
test_rounds(void **state)
{
	expect_round("dbname=app", "- ");
	expect_round("host=db1", "db1 ");
	expect_round("host=db1,db2 port=1,2", "db1 db2 ");
	expect_round("postgresql://db1:1,db2:2/app", "db1 db2 ");
	expect_round("host=/run/postgresql,192.0.2.1,::1,@abstract,db1,", "- - - - db1 - ");
	expect_round("host=db1,db2 hostaddr=192.0.2.1,", "- db2 ");
	expect_round("hostaddr=192.0.2.1,192.0.2.2", "- - ");
	expect_round("service=main", "- ");
}

/* libpq finds fault with them. */
static void
test_lists_that_do_not_fit(void **state)
{
	expect_round("host=db1,db2 hostaddr=192.0.2.1", "- ");
	expect_round("host=db1,db2 port=1,2,3", "- ");
}

static void
test_environment(void **state)
{
	setenv("PGHOST", "db3,db4", 1);
	expect_round("dbname=app", "db3 db4 ");
	expect_round("host=db1", "db1 ");
	expect_round("service=main", "- ");
	unsetenv("PGHOST");
}

static void
test_address_of_a_name(void **state)
{
	Hosts	   *hosts = hosts_new("host=db1,db2 port=1,2");
	PGconn	   *conn = hosts_connect(hosts, 1, "127.0.0.2", "test");

	assert_string_equal(PQhost(conn), "db2");
	assert_string_equal(PQhostaddr(conn), "127.0.0.2");
	assert_string_equal(PQport(conn), "2");
	PQfinish(conn);
	hosts_free(hosts);
}

static void
expect_timeout(const char *conninfo, int seconds)
{
	Hosts	   *hosts = hosts_new(conninfo);

	assert_int_equal(hosts_timeout_us(hosts), SECONDS_TO_US(seconds));
	hosts_free(hosts);
}

static void
test_timeouts(void **state)
{
	expect_timeout("dbname=app", 10);
	expect_timeout("connect_timeout=0", 10);
	expect_timeout("connect_timeout=1", 2);
	expect_timeout("connect_timeout=30", 30);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_lists_that_do_not_fit),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_address_of_a_name),
		cmocka_unit_test(test_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
