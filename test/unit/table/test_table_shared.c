/*-------------------------------------------------------------------------
 *
 * test_table_shared.c
 *		Several tables that share limits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_fixture.h"

/* ---- two tables, one slot ---- */

/* The freed slot goes to the most urgent, then to the oldest, wherever. */
static void
test_freed_slot_reaches_the_next(void **state)
{
	Table	   *other = table_new(10, 0, resolve, rules);
	Limit	   *limit = add_rule("A", 1);

	(void) state;
	book(limit);
	push_version(other, 1, 1, "A", USUAL);
	push_version(table, 2, 1, "A", USUAL);
	push_version(other, 3, 1, "A", USUAL);
	push_version(table, 4, 1, "A", 0);
	assert_int_equal(pop_from(table), 0);
	assert_int_equal(pop_from(other), 0);

	give_back(limit);
	assert_int_equal(pop_from(other), 0);
	assert_int_equal(pop_from(table), 4);
	assert_int_equal(pop_from(table), 0);
	give_back(limit);
	assert_int_equal(pop_from(table), 0);
	assert_int_equal(pop_from(other), 1);
	assert_int_equal(pop_from(other), 0);
	give_back(limit);
	assert_int_equal(pop_from(other), 0);
	assert_int_equal(pop_from(table), 2);
	assert_int_equal(pop_from(table), 0);
	give_back(limit);
	assert_int_equal(pop_from(other), 3);
	table_free(other);
}

static void
test_a_freed_table_hands_on_its_turn(void **state)
{
	Table	   *other = table_new(10, 0, resolve, rules);
	Limit	   *limit = add_rule("A", 1);

	(void) state;
	book(limit);
	push_version(other, 1, 1, "A", 0);
	push_version(table, 2, 1, "A", USUAL);
	assert_int_equal(pop_from(other), 0);
	assert_int_equal(pop_from(table), 0);
	give_back(limit);
	assert_int_equal(pop_from(table), 0);
	table_free(other);
	assert_int_equal(pop_from(table), 2);
}

static void
test_the_same_task_in_two_tables(void **state)
{
	Table	   *other = table_new(10, 0, resolve, rules);

	(void) state;
	add_rule("A", 0);
	assert_int_equal(push_version(other, 1, 1, "A", USUAL), TABLE_ADDED);
	assert_int_equal(push_version(table, 1, 1, "A", USUAL), TABLE_ADDED);
	assert_int_equal(pop_from(other), 1);
	assert_int_equal(pop_from(table), 1);
	table_free(other);
}

/* ---- random histories: no slot stays free that somebody could use ---- */

#define TABLES 3
#define TYPES 6

static const char *const type_names[TYPES] = {"U", "V", "W", "X", "Y", "Z"};

typedef struct Shared
{
	int			seed;
	int			step;
	Chance		chance;
	int			last_task;
	Table	   *tables[TABLES];
} Shared;

/* Two groups below the node, half of the types each. */
static void
start_shared(Shared *shared, int seed, Limit **groups)
{
	int			i;

	memset(shared, 0, sizeof(*shared));
	shared->seed = seed;
	chance_init(&shared->chance, seed);
	limit_set_max(node, 1 + chance_below(&shared->chance, 6));
	for (i = 0; i < 2; i++)
		groups[i] = limit_new("group", chance_below(&shared->chance, 4), node);
	for (i = 0; i < TYPES; i++)
	{
		rules[i].type = type_names[i];
		rules[i].limit = limit_new(type_names[i],
								   chance_below(&shared->chance, 3),
								   groups[i % 2]);
	}
	nrules = TYPES;
	for (i = 0; i < TABLES; i++)
		shared->tables[i] = table_new(200, 0, resolve, rules);
}

static void
end_shared(Shared *shared, Limit **groups)
{
	int			i;

	for (i = 0; i < TABLES; i++)
		table_free(shared->tables[i]);
	while (nbooked > 0)
		slots_free(booked[--nbooked]);
	while (nrules > 0)
		limit_free(rules[--nrules].limit);
	limit_free(groups[0]);
	limit_free(groups[1]);
}

/* Tables are asked, in any order, until none has anything to ask. */
static void
pop_all(Shared *shared)
{
	int			i = chance_below(&shared->chance, TABLES);
	int			idle = 0;

	for (; idle < TABLES; i++)
	{
		Table	   *next = shared->tables[i % TABLES];

		if (table_ready(next))
		{
			pop_from(next);
			idle = 0;
		}
		else
			idle++;
	}
}

static void
check_type(void *arg, const char *type, int waiting)
{
	Shared	   *shared = arg;
	int			number = type[0] - 'U';

	if (waiting == 0)
		return;
	if (slots_book(rules[number].limit, USUAL) != NULL)
		return;
	fail_msg("TWT_TEST_SEED=%d, step %d: type %s waits beside a free slot",
			 shared->seed, shared->step, type);
}

static void
take_shared_step(Shared *shared)
{
	Chance	   *chance = &shared->chance;
	int			which = chance_below(chance, TABLES);

	if (chance_percent(chance, 1))
	{
		table_free(shared->tables[which]);
		shared->tables[which] = table_new(200, 0, resolve, rules);
	}
	else if (chance_percent(chance, 1))
		limit_set_max(rules[chance_below(chance, TYPES)].limit,
					  chance_below(chance, 4));
	else if (chance_percent(chance, 50))
		push_version(shared->tables[which], ++shared->last_task, 1,
					 type_names[chance_below(chance, TYPES)],
					 chance_below(chance, 4));
	else if (nbooked > 0)
		give_back(booked[chance_below(chance, nbooked)]);
}

static void
test_no_slot_stays_free(void **state)
{
	Shared		shared;
	Limit	   *groups[2];
	int			seed;
	int			i;

	(void) state;
	for (seed = test_seed(); seed < test_seed() + 60; seed++)
	{
		start_shared(&shared, seed, groups);
		for (shared.step = 0; shared.step < 1500; shared.step++)
		{
			take_shared_step(&shared);
			if (chance_percent(&shared.chance, 50))
				continue;
			pop_all(&shared);
			for (i = 0; i < TABLES; i++)
				table_types(shared.tables[i], check_type, &shared);
		}
		end_shared(&shared, groups);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_freed_slot_reaches_the_next),
		UNIT(test_a_freed_table_hands_on_its_turn),
		UNIT(test_the_same_task_in_two_tables),
		UNIT(test_no_slot_stays_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
