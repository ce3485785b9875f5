/*-------------------------------------------------------------------------
 *
 * test_table_withdraw.c
 *		The table: types of which nothing is to be taken any more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_fixture.h"

static bool
is_type(void *arg, const char *type)
{
	return strcmp(arg, type) == 0;
}

static bool
is_any(void *arg, const char *type)
{
	return true;
}

static void
withdraw(const char *type)
{
	table_withdraw(table, is_type, unconstify(char *, type));
}

static void
test_only_that_type(void **state)
{
	add_rule("A", 0);
	add_rule("B", 0);
	push(1, "A", USUAL);
	push(2, "B", USUAL);
	push(3, "A", 0);
	withdraw("A");
	assert_int_equal(table_waiting(table), 1);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 0);
}

static void
test_nothing(void **state)
{
	add_rule("A", 0);
	withdraw("A");
	push(1, "A", USUAL);
	withdraw("B");
	assert_int_equal(pop(), 1);
}

/* They are as new when they come again. */
static void
test_comes_again(void **state)
{
	add_rule("A", 0);
	push(1, "A", USUAL);
	withdraw("A");
	assert_int_equal(push(1, "A", USUAL), TABLE_ADDED);
	assert_int_equal(pop(), 1);
}

/* The owner of a popped task forgets or returns it. */
static void
test_popped(void **state)
{
	TableEntry *forgotten;
	TableEntry *returned;

	add_rule("A", 0);
	push(1, "A", USUAL);
	push(2, "A", USUAL);
	push(3, "A", USUAL);
	forgotten = table_pop(table);
	returned = table_pop(table);
	withdraw("A");
	assert_int_equal(table_waiting(table), 0);
	assert_int_equal(push(1, "A", USUAL), TABLE_DUPLICATE);
	slots_free(table_entry_limit(forgotten));
	table_forget(table, forgotten);
	slots_free(table_entry_limit(returned));
	table_return(table, returned);
	assert_int_equal(pop(), 2);
}

static void
count_spilled(void *arg, const char *type, int room)
{
	++*(int *) arg;
}

static void
test_spilled(void **state)
{
	int			spilled = 0;

	add_rule("A", 0);
	add_rule("B", 0);
	set_bounds(10, 1);
	push(1, "A", USUAL);
	push(2, "A", USUAL);
	push(3, "B", USUAL);
	push(4, "B", USUAL);
	withdraw("A");
	table_spill(table, "A");
	withdraw("A");
	assert_true(table_has_spilled(table));
	assert_int_equal(pop(), 3);
	table_take_spilled(table, count_spilled, &spilled);
	assert_int_equal(spilled, 1);
	assert_false(table_has_spilled(table));
}

/* A withdrawn task hands on its turn at a shared limit. */
static void
test_turn_is_handed_on(void **state)
{
	Limit	   *shared = limit_new("shared", 1, NULL);

	limit_free(node);
	node = shared;
	add_rule("A", 0);
	add_rule("B", 0);
	push(1, "A", 0);
	push(2, "B", USUAL);
	book(shared);
	assert_int_equal(pop(), 0);
	give_back(shared);
	withdraw("A");
	assert_int_equal(pop(), 2);
}

/* In any history no slot is lost: what is there can be popped in the end. */
static void
test_random(void **state)
{
	static const char *const types[] = {"A", "B", "C"};
	Chance		chance;
	int			pushed = 0;

	chance_init(&chance, test_seed());
	limit_set_max(node, 2);
	for (int i = 0; i < 3; i++)
		add_rule(types[i], 1 + i % 2);
	for (int step = 1; step < 20000; step++)
	{
		int			what = chance_below(&chance, 10);

		if (what < 5)
			push(++pushed, types[chance_below(&chance, 3)], chance_below(&chance, 10));
		else if (what < 7 && nbooked < 60)
			(void) pop();
		else if (what < 9 && nbooked > 0)
			give_back(booked[chance_below(&chance, nbooked)]);
		else
			withdraw(types[chance_below(&chance, 3)]);
	}
	while (table_waiting(table) > 0)
	{
		while (nbooked > 0)
			give_back(booked[0]);
		check_that(99, 20000, pop() != 0);
	}
	table_withdraw(table, is_any, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_only_that_type),
		UNIT(test_nothing),
		UNIT(test_comes_again),
		UNIT(test_popped),
		UNIT(test_spilled),
		UNIT(test_turn_is_handed_on),
		UNIT(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
