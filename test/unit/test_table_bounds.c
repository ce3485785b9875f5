/*-------------------------------------------------------------------------
 *
 * test_table_bounds.c
 *		The table: capacity, shares, what spilled, what is remembered.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "table_fixture.h"

/* What a callback was told, as "A:3 B:1 ". */
static char told[256];

static void
tell_number(void *arg, const char *type, int number)
{
	assert_ptr_equal(arg, told);
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s:%d ",
			 type, number);
}

static void
tell_type(void *arg, const char *type)
{
	assert_ptr_equal(arg, told);
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
	table_full_types(table, tell_type, told);
	return told;
}

static const char *
types(void)
{
	told[0] = '\0';
	table_types(table, tell_number, told);
	return told;
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
	assert_int_equal(push(4, "A", 0), TABLE_SPILLED);
	assert_int_equal(table_waiting(table), 3);
	/* neither of these needs room */
	assert_int_equal(push(3, "A", USUAL), TABLE_DUPLICATE);
	assert_int_equal(push_version(table, 3, 2, "A", USUAL), TABLE_ADDED);
	assert_int_equal(push_version(table, 3, 3, "A", 0), TABLE_ADDED);
	assert_int_equal(pop(), 3);
	/* dropped means not known */
	assert_int_equal(push(4, "A", 0), TABLE_ADDED);
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
	assert_int_equal(push(5, "FLOOD", 0), TABLE_SPILLED);
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
	assert_int_equal(push(5, "RARE", 0), TABLE_SPILLED);
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
	set_bounds(3, 0);
	push_many(1, 3, "A");
	assert_int_equal(push(4, "B", USUAL), TABLE_SPILLED);
	assert_int_equal(push(5, "C", USUAL), TABLE_SPILLED);
	assert_int_equal(push(6, "D", USUAL), TABLE_SPILLED);
	assert_int_equal(push(7, "UNHEARD-OF", USUAL), TABLE_NO_HANDLER);
	pop_many(3);
	assert_string_equal(spilled(), "B:3 C:3 ");
	assert_string_equal(types(), "");
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
		UNIT(test_share_leaves_room_for_others),
		UNIT(test_share_is_at_most_the_capacity),
		UNIT(test_spilled_until_half),
		UNIT(test_spilled_with_nothing_waiting),
		UNIT(test_share_of_one),
		UNIT(test_spilled_types_are_bounded),
		UNIT(test_types_are_forgotten),
		UNIT(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
