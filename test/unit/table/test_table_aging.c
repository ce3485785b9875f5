/*-------------------------------------------------------------------------
 *
 * test_table_aging.c
 *		The table: what has waited for long rises.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_fixture.h"

#define PERIOD_US 1000
#define STEP_US (PERIOD_US / TABLE_AGINGS)

/* Only these types age. */
static const char *aging;
static int64 now_us;
static int64 slower_us;			/* B's own */

static int64
period(void *arg, const char *type)
{
	assert_ptr_equal(arg, &now_us);
	if (strchr(aging, type[0]) == NULL)
		return 0;
	return PERIOD_US + (type[0] == 'B' ? slower_us : 0);
}

static void
step(void)
{
	now_us += STEP_US;
	table_age(table, now_us, period, &now_us);
}

static void
pass(int periods)
{
	for (int i = 0; i < periods * TABLE_AGINGS; i++)
		step();
}

static int
start_aging(void **state)
{
	start(state);
	aging = "AB";
	now_us = 1;
	slower_us = 0;
	add_rule("A", 0);
	add_rule("B", 0);
	add_rule("C", 0);
	return 0;
}

/* It is the next of that priority. */
static void
expect_at(int task, int priority)
{
	push(1000, "C", priority - 1);
	push(1001, "C", priority);
	assert_int_equal(pop(), 1000);
	assert_int_equal(pop(), task);
	assert_int_equal(pop(), 1001);
}

static void
test_rises_by_one(void **state)
{
	push(1, "A", 5);
	push(2, "C", 4);
	step();
	pass(1);
	push(3, "C", 5);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 3);
}

static void
test_not_before_its_time(void **state)
{
	step();
	push(1, "A", 5);
	for (int i = 0; i < TABLE_AGINGS; i++)
		step();
	push(2, "C", 5);
	push(3, "C", 4);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 2);
}

/* It stands where it would if it had been added there then. */
static void
test_rises_again(void **state)
{
	push(1, "A", 5);
	step();
	pass(3);
	expect_at(1, 2);
}

/* Tasks added with priority 0 go first, however long others wait. */
static void
test_never_overtakes_the_urgent(void **state)
{
	push(1, "A", 9);
	push(2, "B", 2);
	step();
	pass(100);
	push(3, "C", 0);
	push(4, "C", 1);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 4);
}

static void
test_urgent_stay(void **state)
{
	push(1, "A", 0);
	push(2, "A", 1);
	step();
	pass(100);
	push(3, "C", 0);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 2);
}

static void
test_other_types_do_not(void **state)
{
	aging = "A";
	push(1, "B", 6);
	push(2, "A", 6);
	step();
	pass(2);
	push(3, "C", 5);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 1);
}

/* Tasks that rise keep their order, and come after the tasks already there. */
static void
test_order_is_kept(void **state)
{
	for (int i = 1; i <= 3; i++)
		push(i, "A", 6);
	push(4, "A", 5);
	for (int i = 0; i <= TABLE_AGINGS; i++)
		step();
	push(5, "C", 4);
	assert_int_equal(pop(), 4);
	assert_int_equal(pop(), 5);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(pop(), i);
}

/* A flood of urgent work comes faster than it can be done. */
static void
test_none_starves(void **state)
{
	int			rounds = 0;
	int			task = 0;

	push(1, "A", 9);
	for (int next = 2; task != 1; next += 2)
	{
		push(next, "B", 3);
		push(next + 1, "B", 3);
		step();
		task = pop();
		assert_in_range(++rounds, 0, 1000);
		give_back(booked[nbooked - 1]);
	}
}

/* It waits at a limit: what it rises to counts there as well. */
static void
test_at_a_limit(void **state)
{
	Limit	   *slot = rules[2].limit;

	limit_set_max(node, 1);
	book(slot);
	push(1, "A", 6);
	push(2, "C", 5);
	assert_int_equal(pop(), 0);
	step();
	pass(2);
	assert_int_equal(pop(), 0);
	give_back(slot);
	assert_int_equal(pop(), 1);
}

/* A loop that did not turn for long makes nobody older than he is. */
static void
test_late(void **state)
{
	step();
	push(1, "A", 5);
	now_us += 100 * PERIOD_US;
	step();
	push(2, "C", 5);
	push(3, "C", 4);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 1);
}

static int
priority_of_first(void)
{
	TableEntry *entry = table_pop(table);
	int			priority = priority_of(entry);

	slots_free(table_entry_limit(entry));
	table_return(table, entry);
	return priority;
}

/* Another type sets the pace: late by two steps at most, and never early. */
static void
test_pace_of_another(void **state)
{
	slower_us = STEP_US / 10;
	step();
	for (int task = 1; task < 100; task++)
	{
		int			steps = 0;

		push(task, "B", 5);
		for (int priority = 5; priority == 5; steps++)
		{
			step();
			priority = priority_of_first();
		}
		assert_in_range(steps, TABLE_AGINGS + 1, TABLE_AGINGS + 3);
		assert_int_equal(pop(), task);
		give_back(booked[nbooked - 1]);
	}
}

/* Types that rise sooner want more looks, and a loop that stood still leaves no gap between the marks of others. */
static void
test_pace_after_a_delay(void **state)
{
	int			quarter = 10 * TABLE_AGINGS / 4;
	int			steps = 0;

	slower_us = 9 * PERIOD_US;
	push(1, "B", 9);
	pass(1);
	now_us += 100 * PERIOD_US;
	pass(1);
	push(2, "B", 5);
	for (int priority = 5; priority == 5; steps++)
	{
		step();
		priority = priority_of_first();
	}
	assert_in_range(steps, 10 * TABLE_AGINGS, 10 * TABLE_AGINGS + quarter + 2);
}

/* Nor do those wait for long that were there while it stood still. */
static void
test_wait_through_a_delay(void **state)
{
	slower_us = 9 * PERIOD_US;
	push(1, "B", 9);
	pass(1);
	push(2, "B", 5);
	pass(9);
	now_us += 10 * PERIOD_US;
	step();
	step();
	assert_int_equal(priority_of_first(), 4);
}

static void
test_popped_and_returned(void **state)
{
	TableEntry *entry;

	push(1, "A", 5);
	step();
	pass(1);
	entry = table_pop(table);
	assert_int_equal(priority_of(entry), 4);
	pass(3);
	slots_free(table_entry_limit(entry));
	table_return(table, entry);
	expect_at(1, 4);
}

/* ---- random histories, compared with one that is told naively ---- */

typedef struct Waiting
{
	int			task;
	bool		ages;
	int			priority;
	int			order;			/* order of arrival in its place */
	int			ticks;			/* before it came there */
} Waiting;

static Waiting waiting[500];
static int	nwaiting;
static int	norders;
static int	nticks;

static int
first_waiting(void)
{
	int			first = 0;

	for (int i = 1; i < nwaiting; i++)
		if (waiting[i].priority < waiting[first].priority ||
			(waiting[i].priority == waiting[first].priority &&
			 waiting[i].order < waiting[first].order))
			first = i;
	return first;
}

/* The oldest of those that are old enough; -1: none. */
static int
first_old(int priority)
{
	int			first = -1;

	for (int i = 0; i < nwaiting; i++)
		if (waiting[i].ages && waiting[i].priority == priority &&
			nticks > waiting[i].ticks + TABLE_AGINGS &&
			(first < 0 || waiting[i].order < waiting[first].order))
			first = i;
	return first;
}

static void
tick_both(void)
{
	step();
	nticks++;
	for (int priority = TRIGGER_RISEN + 1; priority < TRIGGER_PRIORITIES; priority++)
		for (int old = first_old(priority); old >= 0; old = first_old(priority))
		{
			waiting[old].priority--;
			waiting[old].order = ++norders;
			waiting[old].ticks = nticks - 1;
		}
}

static void
push_both(int task, bool ages, int priority)
{
	waiting[nwaiting++] = (Waiting)
	{
		task, ages, priority, ++norders, nticks
	};
	assert_int_equal(push(task, ages ? "A" : "B", priority), TABLE_ADDED);
}

/* Some come back to where they were. */
static void
pop_both(bool comes_back)
{
	TableEntry *entry = table_pop(table);
	int			first = first_waiting();

	assert_non_null(entry);
	assert_int_equal(task_of(entry), waiting[first].task);
	assert_int_equal(priority_of(entry), waiting[first].priority);
	slots_free(table_entry_limit(entry));
	if (comes_back)
	{
		table_return(table, entry);
		return;
	}
	table_forget(table, entry);
	waiting[first] = waiting[--nwaiting];
}

static void
test_random_histories(void **state)
{
	Chance		chance;
	int			task = 0;

	aging = "A";
	nwaiting = norders = nticks = 0;
	chance_init(&chance, test_seed());
	for (int i = 0; i < 50000; i++)
	{
		int			what = chance_below(&chance, 100);

		if (what < 10)
			tick_both();
		else if (what < 55 && nwaiting < (int) lengthof(waiting))
			push_both(++task, chance_percent(&chance, 50), chance_below(&chance, TRIGGER_PRIORITIES));
		else if (nwaiting > 0)
			pop_both(what >= 95);
	}
	assert_int_equal(table_waiting(table), nwaiting);
}

#define AGING(test) cmocka_unit_test_setup_teardown(test, start_aging, end_test)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		AGING(test_rises_by_one),
		AGING(test_not_before_its_time),
		AGING(test_rises_again),
		AGING(test_never_overtakes_the_urgent),
		AGING(test_urgent_stay),
		AGING(test_other_types_do_not),
		AGING(test_order_is_kept),
		AGING(test_none_starves),
		AGING(test_at_a_limit),
		AGING(test_late),
		AGING(test_pace_of_another),
		AGING(test_pace_after_a_delay),
		AGING(test_wait_through_a_delay),
		AGING(test_popped_and_returned),
		AGING(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
