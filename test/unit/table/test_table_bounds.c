/*-------------------------------------------------------------------------
 *
 * test_table_bounds.c
 *		The table: capacity, shares, what spilled, what is remembered.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_fixture.h"

/* The arguments of a callback, as "A:3 B:1 ". */
static char told[256];

static void
tell_number(void *arg, const char *type, int number)
{
	assert_ptr_equal(arg, told);
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s:%d ",
			 type == NULL ? "rest" : type, number);
}

static void
tell_full_type(void *arg, const char *type, int waiting)
{
	assert_ptr_equal(arg, told);
	if (waiting >= table_share(table))
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s ", type);
}

static const char *
spilled(void)
{
	told[0] = '\0';
	table_take_spilled(table, tell_number, told);
	return told;
}

static const char *
full_types(void)
{
	told[0] = '\0';
	table_types(table, tell_full_type, told);
	return told;
}

static int
compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* In order of their names. */
static const char *
types(void)
{
	static char sorted[256];
	char	   *words[16];
	int			n = 0;

	told[0] = sorted[0] = '\0';
	table_types(table, tell_number, told);
	for (char *word = strtok(told, " "); word != NULL; word = strtok(NULL, " "))
		words[n++] = word;
	qsort(words, n, sizeof(char *), compare_words);
	for (int i = 0; i < n; i++)
		snprintf(sorted + strlen(sorted), sizeof(sorted) - strlen(sorted), "%s ", words[i]);
	return sorted;
}

static void
push_many(int from, int to, const char *type)
{
	for (; from <= to; from++)
		assert_int_equal(push(from, type, USUAL), TABLE_ADDED);
}

static void
pop_many(int times)
{
	while (times-- > 0)
		assert_int_not_equal(pop(), 0);
}

static void
test_capacity(void **state)
{
	(void) state;
	add_rule("A", 0);
	set_bounds(3, 0);
	assert_int_equal(table_room(table), 3);
	push_many(1, 3, "A");
	assert_int_equal(table_waiting(table), 3);
	assert_int_equal(table_room(table), 0);
	assert_int_equal(push(4, "A", USUAL), TABLE_SPILLED);
	assert_int_equal(table_waiting(table), 3);
	/* neither of these needs room */
	assert_int_equal(push(3, "A", USUAL), TABLE_DUPLICATE);
	assert_int_equal(push_version(table, 3, 2, "A", USUAL), TABLE_ADDED);
	assert_int_equal(push_version(table, 3, 3, "A", 0), TABLE_ADDED);
	assert_int_equal(pop(), 3);
	/* dropped means not known */
	assert_int_equal(push(4, "A", 0), TABLE_ADDED);
}

/* In a full type the last trigger gives way to a more urgent one. */
static void
test_urgent_takes_a_place(void **state)
{
	(void) state;
	add_rule("A", 0);
	set_bounds(100, 3);
	assert_int_equal(push(1, "A", 7), TABLE_ADDED);
	assert_int_equal(push(2, "A", 7), TABLE_ADDED);
	assert_int_equal(push(3, "A", USUAL), TABLE_ADDED);
	assert_int_equal(push(4, "A", 7), TABLE_SPILLED);
	assert_int_equal(table_turned_away(table), 1);
	assert_int_equal(push(5, "A", 6), TABLE_ADDED);
	assert_int_equal(table_turned_away(table), 2);
	assert_int_equal(push(2, "A", 7), TABLE_SPILLED);
	assert_int_equal(push(6, "A", 0), TABLE_ADDED);
	assert_int_equal(table_turned_away(table), 4);
	assert_int_equal(push(7, "A", 0), TABLE_ADDED);
	assert_int_equal(table_waiting(table), 3);
	assert_int_equal(pop(), 6);
	assert_int_equal(pop(), 7);
	assert_int_equal(pop(), 3);
	assert_string_equal(spilled(), "A:3 ");
}

/* The biggest makes room for the others, in a full table. */
static void
test_biggest_makes_room(void **state)
{
	(void) state;
	add_rule("FLOOD", 0);
	add_rule("B", 0);
	add_rule("C", 0);
	set_bounds(6, 0);
	push_many(1, 6, "FLOOD");
	push_many(11, 13, "B");
	assert_int_equal(push(14, "B", USUAL), TABLE_SPILLED);
	assert_string_equal(types(), "B:3 FLOOD:3 ");
	push_many(21, 22, "C");
	assert_int_equal(push(23, "C", USUAL), TABLE_SPILLED);
	assert_string_equal(types(), "B:2 C:2 FLOOD:2 ");
	assert_int_equal(table_waiting(table), 6);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 11);
}

static bool resolve_all(void *arg, const char *type, Limit **limit, void **tag);

/* As many types as there is room for, all of one family: they are one crowd. */
static void
test_many_keys_make_room(void **state)
{
	char		type[16];

	(void) state;
	table_free(table);
	table = table_new(1000, 50, resolve_all, NULL);
	for (int i = 1; i <= 5000; i++)
	{
		snprintf(type, sizeof(type), "KEY|%d", i);
		assert_int_equal(push(i, type, USUAL), i <= 1000 ? TABLE_ADDED : TABLE_SPILLED);
	}
	for (int i = 6001; i <= 6050; i++)
		assert_int_equal(push(i, "FAST", 9), TABLE_ADDED);
	assert_int_equal(push(6051, "FAST", 9), TABLE_SPILLED);
	for (int i = 7001; i <= 7100; i++)
	{
		snprintf(type, sizeof(type), "OTHER|%d", i % 2);
		assert_int_equal(push(i, type, 9), TABLE_ADDED);
	}
	assert_int_equal(table_waiting(table), 1000);
	assert_int_equal(table_even_share(table), 1);
}

/* In one family the largest key gives way. */
static void
test_biggest_key_makes_room(void **state)
{
	(void) state;
	add_rule("KEY|1", 0);
	add_rule("KEY|2", 0);
	add_rule("KEY|3", 0);
	set_bounds(4, 0);
	push_many(1, 1, "KEY|1");
	push_many(2, 4, "KEY|2");
	push_many(5, 5, "KEY|3");
	assert_int_equal(push(4, "KEY|2", USUAL), TABLE_SPILLED);
	assert_int_equal(push(6, "KEY|1", USUAL), TABLE_SPILLED);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(pop(), i);
	assert_int_equal(pop(), 5);
}

/* There are so many types that each has at most one trigger. */
static void
fill_with_types(const char *format, int capacity)
{
	char		type[16];

	table_free(table);
	table = table_new(capacity, 0, resolve_all, NULL);
	for (int i = 1; i <= capacity; i++)
	{
		snprintf(type, sizeof(type), format, i);
		assert_int_equal(push(i, type, i == 7 ? 8 : i == 9 ? 1 : USUAL), TABLE_ADDED);
	}
}

/* A trigger that is not in memory comes in by its own priority. */
static void
check_urgent_types(const char *format)
{
	char		type[16];

	fill_with_types(format, 100);
	for (int i = 1001; i <= 1010; i++)
	{
		snprintf(type, sizeof(type), format, i);
		assert_int_equal(push(i, type, USUAL),
						 i == 1001 ? TABLE_ADDED : TABLE_SPILLED);
		assert_int_equal(push(i + 1000, type, 0), TABLE_ADDED);
	}
	assert_int_equal(table_waiting(table), 100);
	assert_int_equal(push(7, "NEW", 8), *format == 'K' ? TABLE_ADDED : TABLE_SPILLED);
	for (int i = 2001; i <= 2010; i++)
		assert_int_equal(pop(), i);
	assert_int_equal(pop(), 9);
}

static void
test_urgent_key_in_place_of_another(void **state)
{
	(void) state;
	check_urgent_types("KEY|%d");
}

static void
test_urgent_type_in_place_of_another(void **state)
{
	(void) state;
	check_urgent_types("T%d");
}

/* A key that has more than others gives up its own, however urgent. */
static void
test_urgent_takes_no_share(void **state)
{
	(void) state;
	fill_with_types("KEY|%d", 10);
	assert_int_equal(push(101, "KEY|1", 0), TABLE_ADDED);
	assert_int_equal(push(102, "KEY|1", 0), TABLE_SPILLED);
	assert_int_equal(push(103, "KEY|9", 0), TABLE_ADDED);
	assert_int_equal(push(9, "KEY|9", 1), TABLE_SPILLED);
	assert_int_equal(push(104, "KEY|11", 7), TABLE_ADDED);
	assert_int_equal(push(105, "KEY|12", 7), TABLE_SPILLED);
	assert_int_equal(table_waiting(table), 10);
}

/* In a crowd that has to make room for others the urgent stay. */
static void
test_least_urgent_makes_room(void **state)
{
	(void) state;
	fill_with_types("KEY|%d", 10);
	add_rule("FAST", 0);
	for (int i = 101; i <= 105; i++)
		assert_int_equal(push(i, "FAST", 9), TABLE_ADDED);
	assert_int_equal(push(7, "KEY|7", 8), TABLE_SPILLED);
	assert_int_equal(pop(), 9);
}

/* Triggers that rise are no longer the first to go. */
static int64
rise_fast(void *arg, const char *type)
{
	(void) arg;
	return strcmp(type, "KEY|7") == 0 ? TABLE_AGINGS : 0;
}

static void
test_risen_stay(void **state)
{
	(void) state;
	fill_with_types("KEY|%d", 10);
	for (int i = 1; i <= 100; i++)
		table_age(table, i, rise_fast, NULL);
	assert_int_equal(push(101, "KEY|11", 4), TABLE_ADDED);
	assert_int_equal(push(7, "KEY|7", 8), TABLE_DUPLICATE);
}

/* Beyond the types that are known: found again when there is room. */
static void
test_left_behind(void **state)
{
	char		type[16];

	(void) state;
	fill_with_types("KEY|%d", 10);
	for (int i = 101; i <= 105; i++)
	{
		snprintf(type, sizeof(type), "KEY|%d", i);
		assert_int_equal(push(i, type, USUAL), i == 101 ? TABLE_ADDED : TABLE_SPILLED);
	}
	assert_true(table_has_spilled(table));
	pop_many(5);
	assert_string_equal(spilled(), "");
	assert_true(table_has_spilled(table));
	pop_many(1);
	assert_string_equal(spilled(), "rest:6 ");
	assert_false(table_has_spilled(table));
	assert_string_equal(spilled(), "");
}

static void
test_share_leaves_room_for_others(void **state)
{
	(void) state;
	add_rule("FLOOD", 0);
	add_rule("B", 0);
	set_bounds(10, 4);
	push_many(1, 4, "FLOOD");
	assert_string_equal(full_types(), "FLOOD ");
	assert_int_equal(push(5, "FLOOD", USUAL), TABLE_SPILLED);
	push_many(11, 13, "B");
	assert_string_equal(full_types(), "FLOOD ");
	assert_int_equal(table_room(table), 3);
	assert_int_equal(pop(), 1);
	assert_string_equal(full_types(), "");
	assert_int_equal(push(5, "FLOOD", 0), TABLE_ADDED);
}

static void
test_share_is_at_most_the_capacity(void **state)
{
	(void) state;
	add_rule("A", 0);
	set_bounds(2, 50);
	push_many(1, 2, "A");
	assert_string_equal(full_types(), "A ");
}

static void
test_spilled_until_half(void **state)
{
	(void) state;
	add_rule("A", 0);
	set_bounds(100, 6);
	push_many(1, 6, "A");
	assert_false(table_has_spilled(table));
	assert_int_equal(push(7, "A", USUAL), TABLE_SPILLED);
	assert_int_equal(push(8, "A", USUAL), TABLE_SPILLED);
	assert_true(table_has_spilled(table));
	pop_many(2);
	assert_string_equal(spilled(), "");
	assert_true(table_has_spilled(table));
	pop_many(1);
	assert_string_equal(spilled(), "A:3 ");
	assert_false(table_has_spilled(table));
	assert_string_equal(spilled(), "");
}

static void
test_spilled_with_nothing_waiting(void **state)
{
	(void) state;
	add_rule("FLOOD", 0);
	add_rule("RARE", 0);
	set_bounds(4, 0);
	push_many(1, 4, "FLOOD");
	table_spill(table, "RARE");
	assert_string_equal(spilled(), ""); /* there is no room yet */
	assert_true(table_has_spilled(table));
	pop_many(1);
	assert_string_equal(spilled(), "RARE:1 ");
	assert_false(table_has_spilled(table));
	assert_string_equal(types(), "FLOOD:3 ");
}

static void
test_share_of_one(void **state)
{
	(void) state;
	add_rule("A", 0);
	set_bounds(10, 1);
	push_many(1, 1, "A");
	assert_int_equal(push(2, "A", USUAL), TABLE_SPILLED);
	assert_string_equal(spilled(), "");
	pop_many(1);
	assert_string_equal(spilled(), "A:1 ");
}

/* Made-up types must not fill the memory of a full table. */
static void
test_spilled_types_are_bounded(void **state)
{
	(void) state;
	add_rule("A", 0);
	add_rule("B", 0);
	add_rule("C", 0);
	add_rule("D", 0);
	set_bounds(2, 0);
	push_many(1, 1, "A");
	push_many(2, 2, "B");
	assert_int_equal(push(5, "C", USUAL), TABLE_SPILLED);
	assert_int_equal(push(6, "D", USUAL), TABLE_SPILLED);
	assert_int_equal(push(7, "UNHEARD-OF", USUAL), TABLE_NO_HANDLER);
	pop_many(2);
	assert_string_equal(spilled(), "rest:2 ");
	assert_string_equal(spilled(), "");
	assert_string_equal(types(), "");
}

/* The only one of its type gives way, in a table that knows many types. */
static void
test_urgent_in_place_of_the_only_one(void **state)
{
	TableEntry *popped;

	(void) state;
	add_rule("KEY|1", 0);
	add_rule("KEY|2", 0);
	add_rule("KEY|3", 0);
	set_bounds(2, 0);
	push_many(1, 1, "KEY|1");
	push_many(2, 2, "KEY|2");
	popped = table_pop(table);
	push_many(3, 3, "KEY|3");
	assert_int_equal(push(4, "KEY|2", 0), TABLE_ADDED);
	assert_string_equal(types(), "KEY|1:0 KEY|2:1 KEY|3:1 ");
	assert_int_equal(pop(), 4);
	assert_int_equal(pop(), 3);
	assert_string_equal(spilled(), "KEY|2:2 ");
	slots_free(table_entry_limit(popped));
	table_forget(table, popped);
}

static void
test_types_are_forgotten(void **state)
{
	TableEntry *entry;

	(void) state;
	add_rule("A", 0);
	push_many(1, 2, "A");
	assert_string_equal(types(), "A:2 ");
	assert_int_equal(pop(), 1);
	entry = table_pop(table);
	assert_non_null(entry);
	assert_string_equal(types(), "A:0 ");
	slots_free(table_entry_limit(entry));
	table_forget(table, entry);
	assert_string_equal(types(), "");
}

static bool
resolve_all(void *arg, const char *type, Limit **limit, void **tag)
{
	(void) type;
	*limit = node;
	limit_keep(node);
	*tag = arg;
	return true;
}

/* Many tasks, and as many types: all in, all out, in order. */
static void
test_many(void **state)
{
	const int	many = 20000;
	char		type[16];
	int			i;

	(void) state;
	table_free(table);
	table = table_new(many, 0, resolve_all, NULL);
	for (i = 1; i <= many; i++)
	{
		snprintf(type, sizeof(type), "T%d", i % 3 == 0 ? i : 0);
		assert_int_equal(push(i, type, USUAL), TABLE_ADDED);
	}
	assert_int_equal(push(many + 1, "T0", USUAL), TABLE_SPILLED);
	for (i = 1; i <= many; i++)
	{
		assert_int_equal(pop(), i);
		give_back(node);
	}
	assert_int_equal(table_waiting(table), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_capacity),
		UNIT(test_urgent_takes_a_place),
		UNIT(test_biggest_makes_room),
		UNIT(test_many_keys_make_room),
		UNIT(test_biggest_key_makes_room),
		UNIT(test_urgent_key_in_place_of_another),
		UNIT(test_urgent_type_in_place_of_another),
		UNIT(test_urgent_takes_no_share),
		UNIT(test_least_urgent_makes_room),
		UNIT(test_risen_stay),
		UNIT(test_left_behind),
		UNIT(test_share_leaves_room_for_others),
		UNIT(test_share_is_at_most_the_capacity),
		UNIT(test_spilled_until_half),
		UNIT(test_spilled_with_nothing_waiting),
		UNIT(test_share_of_one),
		UNIT(test_spilled_types_are_bounded),
		UNIT(test_urgent_in_place_of_the_only_one),
		UNIT(test_types_are_forgotten),
		UNIT(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
