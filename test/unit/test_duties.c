/*-------------------------------------------------------------------------
 *
 * test_duties.c
 *		When a leader does its duties again.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "calls.h"
#include "duties.h"

static Pg	control = {.is_up = true};

Pg *
node_pg(const Node *node)
{
	return &control;
}

bool
node_is_leader(const Node *node)
{
	return true;
}

static void
ignore(void *arg)
{
}

static PGresult *
zeros(int ncolumns)
{
	PGresult   *result = make_result(ncolumns);

	for (int i = 0; i < ncolumns; i++)
		put_int8(result, 0, i, 0);
	return result;
}

/* All answers come after so long; nothing is due. */
static void
answer_all(int64 after_us)
{
	PGresult   *recovered = zeros(RECOVER_FAILED + 2);
	PGresult   *monitored = zeros(MONITOR_IS_NEWS + 1);

	put_bytes(recovered, 0, RECOVER_NEXT_MS, NULL, -1);
	put_bool(monitored, 0, MONITOR_IS_NEWS, false);
	pass_us(after_us);
	answer("recover", recovered);
	if (find_call("monitor") == NULL)
		PQclear(monitored);
	else
		answer("monitor", monitored);
	while (!dlist_is_empty(&calls))
		answer(dlist_head_element(FakeCall, node, &calls)->statement->name, NULL);
}

/* Seconds until that duty is done again; none of them is a long one. */
static int
seconds_to(const char *statement)
{
	int			seconds = 0;

	for (; find_call(statement) == NULL; seconds++)
	{
		assert_true(seconds < 1000);
		pass_us(SECONDS_TO_US(1));
	}
	return seconds;
}

static Pg *
pg_of(const char *statement)
{
	FakeCall   *call = find_call(statement);

	if (call == NULL)
		fail_msg("nobody called %s", statement);
	return call->pg;
}

static Duties *
open_duties(void)
{
	static const Config config;
	Duties	   *duties = duties_open(NULL, &config, NULL, ignore, NULL);

	duties_begin(duties);
	pass_us(0);
	answer_all(0);
	come_up(last_pg);
	pass_us(0);
	return duties;
}

static void
close_duties(Duties *duties)
{
	while (!dlist_is_empty(&calls))
		end_call(dlist_head_element(FakeCall, node, &calls), PG_LOST, NULL);
	duties_free(duties);
}

/* What is due, and who is gone, waits for nothing long. */
static void
test_connections(void **state)
{
	static const Config config;
	Duties	   *duties = duties_open(NULL, &config, NULL, ignore, NULL);

	duties_begin(duties);
	pass_us(0);
	assert_ptr_equal(pg_of("promote"), &control);
	assert_ptr_equal(pg_of("run_schedules"), &control);
	assert_ptr_equal(pg_of("recover"), &control);
	assert_null(find_call("monitor"));
	answer_all(0);
	come_up(last_pg);
	pass_us(0);
	assert_ptr_equal(pg_of("monitor"), last_pg);
	assert_ptr_equal(pg_of("clean"), last_pg);
	assert_ptr_equal(pg_of("make_partitions"), last_pg);
	assert_ptr_equal(pg_of("expire"), last_pg);
	assert_ptr_equal(pg_of("recover"), last_pg);
	close_duties(duties);
}

/* Behind something long, on the connection that they share. */
static void
test_slow_answers(void **state)
{
	Duties	   *duties = open_duties();

	answer_all(SECONDS_TO_US(5));
	assert_int_equal(seconds_to("recover"), 10);
	assert_int_equal(seconds_to("promote"), 0);
	assert_int_equal(seconds_to("monitor"), 350);
	close_duties(duties);
}

static void
test_quick_answers(void **state)
{
	Duties	   *duties = open_duties();

	answer_all(MS_TO_US(5));
	assert_int_equal(seconds_to("recover"), 10);
	assert_int_equal(seconds_to("promote"), 0);
	assert_int_equal(seconds_to("monitor"), 50);
	close_duties(duties);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_slow_answers),
		cmocka_unit_test(test_quick_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
