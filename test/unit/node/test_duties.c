/*-------------------------------------------------------------------------
 *
 * test_duties.c
 *		When a leader does its duties again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "fake_loop.h"
#include "fake_pg.h"

#include "node/duties.h"
#include "calls/calls.h"
#include "metrics/metrics.h"

#define MINUTE_US SECONDS_TO_US(60)

static Pg	control = {.is_up = true};

Pg *
node_pg(const Node *node)
{
	return &control;
}

static TaskClock *task_clock;

TaskClock *
node_clock(const Node *node)
{
	return task_clock;
}

static bool is_leader = true;

bool
node_is_leader(const Node *node)
{
	return is_leader;
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

/* The call of that statement over that connection; NULL: there is none. */
static FakeCall *
call_of(const char *statement, const Pg *pg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &calls)
	{
		FakeCall   *call = dlist_container(FakeCall, node, iter.cur);

		if (call->pg == pg && strcmp(call->statement->name, statement) == 0)
			return call;
	}
	return NULL;
}

/* An answer that found nothing, and says that nothing is due. */
static PGresult *
nothing(const char *statement)
{
	PGresult   *result;

	if (strcmp(statement, "recover") == 0)
	{
		result = zeros(RECOVER_FAILED + 2);
		put_bytes(result, 0, RECOVER_NEXT_MS, NULL, -1);
	}
	else if (strcmp(statement, "monitor") == 0)
	{
		result = zeros(MONITOR_IS_NEWS + 1);
		put_bool(result, 0, MONITOR_IS_NEWS, false);
	}
	else if (strcmp(statement, "make_partitions") == 0)
		result = zeros(1);
	else
		result = make_result(1);
	return result;
}

/* All answers come after so long. */
static void
answer_all(int64 after_us)
{
	pass_us(after_us);
	while (!dlist_is_empty(&calls))
	{
		FakeCall   *call = dlist_head_element(FakeCall, node, &calls);

		end_call(call, PG_DONE, nothing(call->statement->name));
	}
}

/* Seconds until that duty is done again; none of them is a long one. */
static int
seconds_to(const char *statement, const Pg *pg)
{
	int			seconds = 0;

	for (; call_of(statement, pg) == NULL; seconds++)
	{
		assert_true(seconds < 1000);
		pass_us(SECONDS_TO_US(1));
	}
	return seconds;
}

/* All duties are done, for the first time. */
static Duties *
open_duties(void)
{
	static const Config config;
	Duties	   *duties = duties_open(NULL, &config, NULL, ignore, NULL);

	task_clock = task_clock_new(NULL);
	duties_begin(duties);
	pass_us(0);
	return duties;
}

static void
close_duties(Duties *duties)
{
	while (!dlist_is_empty(&calls))
		end_call(dlist_head_element(FakeCall, node, &calls), PG_LOST, NULL);
	duties_free(duties);
	task_clock_free(task_clock);
}

static void
test_connections(void **state)
{
	static const char *const quick[] = {"promote", "run_schedules", "recover", "duties"};
	static const char *const slow[] = {"recover", "expire", "make_partitions", "clean",
	"clean_slots", "vacuum", "monitor"};
	Duties	   *duties = open_duties();

	for (size_t i = 0; i < lengthof(quick); i++)
		assert_non_null(call_of(quick[i], &control));
	for (size_t i = 0; i < lengthof(slow); i++)
		assert_non_null(call_of(slow[i], last_pg));
	for (size_t i = 3; i < lengthof(slow); i++)
		assert_null(call_of(slow[i], &control));
	close_duties(duties);
}

/* Due tasks and dead nodes wait for no slow duty. */
static void
test_beside_slow_ones(void **state)
{
	Duties	   *duties = open_duties();

	end_call(call_of("recover", &control), PG_DONE, nothing("recover"));
	duties_node_gone(duties);
	pass_us(0);
	assert_non_null(call_of("recover", &control));
	assert_non_null(call_of("recover", last_pg));
	close_duties(duties);
}

static void
test_slow_answers(void **state)
{
	Duties	   *duties = open_duties();

	answer_all(SECONDS_TO_US(5));
	assert_int_equal(seconds_to("recover", &control), 10);
	assert_int_equal(seconds_to("promote", &control), 50);
	assert_int_equal(seconds_to("monitor", last_pg), 0);
	close_duties(duties);
}

static void
test_quick_answers(void **state)
{
	Duties	   *duties = open_duties();

	answer_all(MS_TO_US(5));
	assert_int_equal(seconds_to("recover", &control), 10);
	assert_int_equal(seconds_to("promote", &control), 0);
	assert_int_equal(seconds_to("recover", last_pg), 0);
	assert_int_equal(seconds_to("monitor", last_pg), 50);
	close_duties(duties);
}

/* An alert counts on them. */
static void
test_recovered_tasks_are_counted(void **state)
{
	Metrics    *metrics = metrics_open(1, 1, 0);
	Duties	   *duties = open_duties();
	PGresult   *result = nothing("recover");

	duties_measure(duties, metrics);
	put_int8(result, 0, RECOVER_RETRIED, 1);
	put_int8(result, 0, RECOVER_ERRORS, 2);
	put_int8(result, 0, RECOVER_FAILED, 3);
	end_call(call_of("recover", &control), PG_DONE, result);
	assert_int_equal(metrics_of_rule(metrics, STUCK_RETRY), 1);
	assert_int_equal(metrics_of_rule(metrics, STUCK_ERROR), 2);
	assert_int_equal(metrics_of_rule(metrics, STUCK_FAIL), 3);
	close_duties(duties);
	metrics_free(metrics);
}

/* History of which a call leaves some, as it takes so long. */
static void
clean_for(int64 us)
{
	PGresult   *result = make_result(1);

	pass_us(us);
	put_text(result, 0, 0, "finished_task_20200101");
	end_call(call_of("clean", last_pg), PG_DONE, result);
}

/*
 * Cleaning takes half of the time for as long as there is something to clean,
 * and is not left to its period.
 */
static void
test_cleans_on(void **state)
{
	Duties	   *duties = open_duties();

	clean_for(SECONDS_TO_US(3));
	pass_us(MS_TO_US(2999));
	assert_null(call_of("clean", last_pg));
	pass_us(MS_TO_US(1));
	assert_non_null(call_of("clean", last_pg));
	clean_for(MS_TO_US(1));
	pass_us(MS_TO_US(49));
	assert_null(call_of("clean", last_pg));
	pass_us(MS_TO_US(1));
	assert_non_null(call_of("clean", last_pg));
	end_call(call_of("clean", last_pg), PG_DONE, nothing("clean"));
	assert_true(seconds_to("clean", last_pg) >= 599);
	close_duties(duties);
}

static void
vacuum_for(int64 us, int64 next_ms)
{
	PGresult   *result = make_result(1);

	pass_us(us);
	put_int8(result, 0, 0, next_ms);
	end_call(call_of("vacuum", last_pg), PG_DONE, result);
}

/* The database says when to vacuum again, however slow the answer was. */
static void
test_vacuums_on(void **state)
{
	Duties	   *duties = open_duties();

	vacuum_for(SECONDS_TO_US(5), 2000);
	assert_int_equal(seconds_to("vacuum", last_pg), 2);
	vacuum_for(MS_TO_US(10), 90000);
	assert_int_equal(seconds_to("vacuum", last_pg), 90);
	vacuum_for(0, 10000);
	duties_look(duties, false, -1);
	assert_null(call_of("vacuum", last_pg));
	pass_us(SECONDS_TO_US(60));
	assert_null(call_of("vacuum", last_pg));
	duties_look(duties, true, -1);
	assert_true(seconds_to("vacuum", last_pg) <= 10);
	close_duties(duties);
}

/* A duty whose answer was lost does not wait for its period. */
static void
test_lost_answer(void **state)
{
	Duties	   *duties = open_duties();

	end_call(call_of("make_partitions", last_pg), PG_LOST, NULL);
	assert_int_equal(seconds_to("make_partitions", last_pg), 1);
	close_duties(duties);
}

/* Others hold locks on the history. */
static void
refuse_partitions(void)
{
	PGresult   *result = make_result(1);

	put_bytes(result, 0, 0, NULL, -1);
	end_call(call_of("make_partitions", last_pg), PG_DONE, result);
}

/* Each call waits for a second, and so do finishes behind it. */
static void
test_blocked_partitions(void **state)
{
	Duties	   *duties = open_duties();

	pass_us(SECONDS_TO_US(1));
	refuse_partitions();
	assert_int_equal(seconds_to("make_partitions", last_pg), 20);
	refuse_partitions();
	assert_int_equal(seconds_to("make_partitions", last_pg), 5);
	close_duties(duties);
}

/* Ends the call of the duties of others; one of them wants the next so late. */
static void
answer_duties(int64 next_ms)
{
	PGresult   *result = make_result(1);

	put_int8(result, 0, 0, next_ms);
	end_call(call_of("duties", &control), PG_DONE, result);
}

/* A trigger asks for duties of others if its time has passed. */
static void
test_question(void **state)
{
	Duties	   *duties = open_duties();

	answer_all(MS_TO_US(5));
	duties_due_at(duties, task_clock_us(node_clock(NULL)) + SECONDS_TO_US(1));
	pass_us(SECONDS_TO_US(2));
	assert_null(call_of("duties", &control));
	duties_due_at(duties, 1);
	pass_us(0);
	assert_non_null(call_of("duties", &control));
	close_duties(duties);
}

/* A schedule may be due at the first whole minute after the time that the queue tells. */
static void
test_hidden_schedule(void **state)
{
	Duties	   *duties;
	int64		now_us;
	int64		minute_us;

	is_leader = false;
	duties = open_duties();
	answer_all(MS_TO_US(5));
	now_us = task_clock_us(node_clock(NULL));
	minute_us = (now_us / MINUTE_US + 2) * MINUTE_US;
	duties_due_at(duties, minute_us - SECONDS_TO_US(2));
	pass_us(minute_us - now_us - SECONDS_TO_US(1));
	assert_non_null(call_of("promote", &control));
	assert_null(call_of("run_schedules", &control));
	pass_us(SECONDS_TO_US(2));
	assert_non_null(call_of("run_schedules", &control));
	answer_all(MS_TO_US(5));
	duties_due_at(duties, PG_INT64_MAX);
	pass_us(SECONDS_TO_US(3600));
	assert_null(call_of("run_schedules", &control));
	duties_due_at(duties, 1);
	pass_us(0);
	assert_null(call_of("run_schedules", &control));
	assert_in_range(seconds_to("run_schedules", &control), 1, 60);
	is_leader = true;
	close_duties(duties);
}

/* A node that was asked leaves the next call to the leader, unless it is due now. */
static void
test_next_call(void **state)
{
	Duties	   *duties = open_duties();

	answer_duties(2000);
	assert_int_equal(seconds_to("duties", &control), 2);
	is_leader = false;
	answer_duties(0);
	pass_us(0);
	answer_duties(2000);
	pass_us(SECONDS_TO_US(100));
	assert_null(call_of("duties", &control));
	is_leader = true;
	close_duties(duties);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_beside_slow_ones),
		cmocka_unit_test(test_slow_answers),
		cmocka_unit_test(test_quick_answers),
		cmocka_unit_test(test_recovered_tasks_are_counted),
		cmocka_unit_test(test_cleans_on),
		cmocka_unit_test(test_vacuums_on),
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_hidden_schedule),
		cmocka_unit_test(test_next_call),
		cmocka_unit_test(test_lost_answer),
		cmocka_unit_test(test_blocked_partitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
