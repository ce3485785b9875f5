/*-------------------------------------------------------------------------
 *
 * test_table.c
 *		The table: order, full types, duplicates, returning.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_fixture.h"

/* ---- order ---- */

static void
push_worked_example(void)
{
	push(1, "SEND_EMAIL", USUAL);
	push(2, "SEND_KAFKA_MESSAGE", USUAL);
	push(3, "SEND_EMAIL", USUAL);
	push(4, "EXECUTE_PAYOUT", USUAL);
	push(5, "SEND_KAFKA_MESSAGE", USUAL);
}

/*
 * SEND_EMAIL 1,3 | SEND_KAFKA_MESSAGE 2,5 | EXECUTE_PAYOUT 4: e-mail is full,
 * 2 is taken, and the columns are e-mail, payout, Kafka.
 */
static void
test_worked_example(void **state)
{
	Limit	   *email = add_rule("SEND_EMAIL", 1);

	(void) state;
	add_rule("SEND_KAFKA_MESSAGE", 0);
	add_rule("EXECUTE_PAYOUT", 0);
	assert_false(table_ready(table));
	book(email);
	push_worked_example();
	assert_true(table_ready(table));
	assert_int_equal(pop(), 2);
	give_back(email);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 4);
	assert_int_equal(pop(), 5);
	assert_int_equal(pop(), 0);
	assert_false(table_ready(table));
	give_back(email);
	assert_true(table_ready(table));
	assert_int_equal(pop(), 3);
	assert_int_equal(table_waiting(table), 0);
}

static void
test_columns_change_places(void **state)
{
	int			task;

	(void) state;
	add_rule("SEND_EMAIL", 0);
	add_rule("SEND_KAFKA_MESSAGE", 0);
	add_rule("EXECUTE_PAYOUT", 0);
	push_worked_example();
	for (task = 1; task <= 5; task++)
		assert_int_equal(pop(), task);
}

static void
test_age_not_alphabet(void **state)
{
	(void) state;
	add_rule("B", 0);
	add_rule("C", 0);
	add_rule("A", 0);
	push(1, "C", USUAL);
	push(2, "A", USUAL);
	push(3, "B", USUAL);
	push(4, "A", USUAL);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 4);
}

static void
test_urgent_first(void **state)
{
	int			priority;

	(void) state;
	add_rule("A", 0);
	add_rule("B", 0);
	for (priority = 9; priority >= 0; priority--)
	{
		push(100 + priority, "A", priority);
		push(200 + priority, "B", priority);
	}
	for (priority = 0; priority <= 9; priority++)
	{
		assert_int_equal(pop(), 100 + priority);
		assert_int_equal(pop(), 200 + priority);
	}
}

/* A type found full must keep its most urgent place, and no other. */
static void
test_full_through_all_rows(void **state)
{
	Limit	   *full = add_rule("FULL", 0);
	Limit	   *other = add_rule("OTHER", 0);

	(void) state;
	limit_set_max(node, 1);
	book(other);
	push(1, "FULL", 0);
	push(2, "OTHER", 5);
	push(3, "FULL", 9);
	assert_int_equal(pop(), 0);
	give_back(other);
	assert_int_equal(pop(), 1);
	give_back(full);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 0);
	give_back(other);
	assert_int_equal(pop(), 3);
}

static void
test_full_type_hinders_no_other(void **state)
{
	Limit	   *slow = add_rule("SLOW", 1);
	int			task;

	(void) state;
	add_rule("FAST", 0);
	for (task = 1; task <= 300; task++)
		push(task, "SLOW", 0);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 0);
	for (task = 301; task <= 310; task++)
		push(task, "FAST", 9);
	for (task = 301; task <= 310; task++)
		assert_int_equal(pop(), task);
	assert_int_equal(pop(), 0);
	give_back(slow);
	assert_int_equal(pop(), 2);
}

static void
test_more_urgent_overtakes_while_waiting(void **state)
{
	Limit	   *limit = add_rule("A", 0);

	(void) state;
	add_rule("B", 0);
	limit_set_max(node, 1);
	book(limit);
	push(1, "A", 5);
	push(2, "B", 6);
	assert_int_equal(pop(), 0);
	push(3, "B", 4);
	assert_int_equal(pop(), 0);
	give_back(limit);
	assert_int_equal(pop(), 3);
	give_back(rules[1].limit);
	assert_int_equal(pop(), 1);
}

/* ---- where a row was seen ---- */

static const uint8 *
popped_place(void)
{
	TableEntry *entry = table_pop(table);
	static RowPlace place;

	assert_non_null(entry);
	place = *table_entry_place(entry);
	slots_free(table_entry_limit(entry));
	table_forget(table, entry);
	return place.bytes;
}

static void
push_seen(int version, uint8 offset)
{
	RowPlace	place = {{0, 0, 0, 1, 0, offset}};
	Trigger		trigger = {.version = version, .type_len = 1, .id = {1}, .type = "A"};

	assert_int_equal(table_push(table, &trigger, &place), TABLE_ADDED);
}

static void
test_place(void **state)
{
	(void) state;
	add_rule("A", 1);
	push_seen(1, 7);
	assert_int_equal(popped_place()[5], 7);
	push_seen(1, 7);
	push_seen(2, 8);
	assert_int_equal(popped_place()[5], 8);
	push_seen(1, 7);
	push_version(table, 1, 2, "A", 0);
	assert_int_equal(popped_place()[5], 0);
}

/* ---- what an entry says ---- */

static void
test_entry(void **state)
{
	Limit	   *limit = add_rule("A", 1);
	TableEntry *entry;

	(void) state;
	push_version(table, 7, 3, "A", 2);
	entry = table_pop(table);
	assert_non_null(entry);
	assert_int_equal(task_of(entry), 7);
	assert_true(table_entry_version(entry) == 3);
	assert_int_equal(table_entry_size(entry), 703);
	assert_int_equal(priority_of(entry), 2);
	assert_string_equal(table_entry_type(entry), "A");
	assert_ptr_equal(table_entry_limit(entry), limit);
	assert_ptr_equal(table_entry_tag(entry), &rules[0]);
	assert_int_equal(limit_used(limit), 1);
	slots_free(limit);
	table_forget(table, entry);
}

static void
test_no_handler(void **state)
{
	(void) state;
	add_rule("A", 0);
	assert_int_equal(push(1, "B", USUAL), TABLE_NO_HANDLER);
	assert_int_equal(table_waiting(table), 0);
	assert_int_equal(pop(), 0);
}

static bool
can_start(const char *type)
{
	Trigger		trigger = {.priority = USUAL, .type_len = strlen(type)};

	strlcpy(trigger.type, type, sizeof(trigger.type));
	return table_can_start(table, &trigger);
}

/* A burst before the next pop: those that wait count, too. */
static void
test_can_start(void **state)
{
	Limit	   *few = add_rule("FEW", 3);

	add_rule("ANY", 0);
	assert_true(can_start("ANY"));
	assert_false(can_start("NOBODYS"));
	book(few);
	assert_true(can_start("FEW"));
	push(1, "FEW", USUAL);
	assert_true(can_start("FEW"));
	push(2, "FEW", USUAL);
	assert_false(can_start("FEW"));
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 2);
	assert_false(can_start("FEW"));
	give_back(few);
	assert_true(can_start("FEW"));
	limit_set_max(node, 2);
	assert_false(can_start("ANY"));
}

/* ---- duplicates and versions ---- */

static void
test_duplicates(void **state)
{
	TableEntry *entry;

	(void) state;
	add_rule("A", 0);
	assert_int_equal(push_version(table, 1, 5, "A", USUAL), TABLE_ADDED);
	assert_int_equal(push_version(table, 1, 5, "A", USUAL), TABLE_DUPLICATE);
	assert_int_equal(push_version(table, 1, 4, "A", 0), TABLE_DUPLICATE);
	assert_int_equal(table_waiting(table), 1);
	entry = table_pop(table);
	assert_non_null(entry);
	assert_int_equal(push_version(table, 1, 5, "A", USUAL), TABLE_DUPLICATE);
	assert_int_equal(table_waiting(table), 0);
	slots_free(table_entry_limit(entry));
	table_forget(table, entry);
	assert_int_equal(push_version(table, 1, 5, "A", USUAL), TABLE_ADDED);
	assert_int_equal(pop(), 1);
}

static void
test_newer_version_keeps_the_place(void **state)
{
	TableEntry *entry;

	(void) state;
	add_rule("A", 0);
	push(1, "A", USUAL);
	push(2, "A", USUAL);
	assert_int_equal(push_version(table, 1, 2, "A", USUAL), TABLE_ADDED);
	assert_int_equal(table_waiting(table), 2);
	entry = table_pop(table);
	assert_non_null(entry);
	assert_int_equal(task_of(entry), 1);
	assert_true(table_entry_version(entry) == 2);
	assert_int_equal(table_entry_size(entry), 102);
	slots_free(table_entry_limit(entry));
	table_forget(table, entry);
	assert_int_equal(pop(), 2);
}

static void
test_newer_version_elsewhere(void **state)
{
	(void) state;
	add_rule("A", 0);
	add_rule("B", 0);
	push(1, "A", USUAL);
	push(2, "A", USUAL);
	push(3, "B", USUAL);
	assert_int_equal(push_version(table, 1, 2, "A", 9), TABLE_ADDED);
	assert_int_equal(push_version(table, 2, 2, "B", USUAL), TABLE_ADDED);
	assert_int_equal(table_waiting(table), 3);
	assert_int_equal(pop(), 3);
	assert_int_equal(pop(), 2);
	assert_int_equal(pop(), 1);
	/* a trigger that this node no longer handles is not tried */
	push(4, "A", USUAL);
	assert_int_equal(push_version(table, 4, 2, "C", USUAL), TABLE_NO_HANDLER);
	assert_int_equal(pop(), 0);
}

/* A type that was woken loses what it was woken for. */
static void
test_turn_is_not_lost_with_its_trigger(void **state)
{
	Limit	   *limit = add_rule("A", 0);

	(void) state;
	add_rule("B", 0);
	limit_set_max(node, 1);
	book(limit);
	push(1, "A", 0);
	push(2, "B", 1);
	assert_int_equal(pop(), 0);
	give_back(limit);
	assert_int_equal(push_version(table, 1, 2, "A", 9), TABLE_ADDED);
	assert_int_equal(pop(), 2);
}

static void
test_newer_version_while_popped(void **state)
{
	TableEntry *old;
	TableEntry *newer;

	(void) state;
	add_rule("A", 0);
	push(1, "A", USUAL);
	old = table_pop(table);
	assert_non_null(old);
	assert_int_equal(push_version(table, 1, 2, "A", USUAL), TABLE_ADDED);
	newer = table_pop(table);
	assert_non_null(newer);
	assert_true(table_entry_version(newer) == 2);
	slots_free(table_entry_limit(old));
	table_forget(table, old);
	assert_int_equal(push_version(table, 1, 2, "A", USUAL), TABLE_DUPLICATE);
	slots_free(table_entry_limit(newer));
	table_forget(table, newer);
	assert_int_equal(push_version(table, 1, 1, "A", USUAL), TABLE_ADDED);
	assert_int_equal(pop(), 1);
}

/* ---- returning ---- */

static void
test_returned_to_its_place(void **state)
{
	TableEntry *entries[4];
	static const int order[] = {2, 0, 3, 1};
	int			i;

	(void) state;
	add_rule("A", 0);
	add_rule("B", 0);
	for (i = 0; i < 4; i++)
		push(1 + i, "A", USUAL);
	push(5, "B", USUAL);
	push(6, "A", USUAL);
	for (i = 0; i < 4; i++)
		entries[i] = table_pop(table);
	for (i = 0; i < 4; i++)
	{
		slots_free(table_entry_limit(entries[order[i]]));
		table_return(table, entries[order[i]]);
	}
	assert_int_equal(table_waiting(table), 6);
	assert_int_equal(push(1, "A", USUAL), TABLE_DUPLICATE);
	for (i = 1; i <= 6; i++)
		assert_int_equal(pop(), i);
}

static void
test_returned_when_superseded(void **state)
{
	TableEntry *old;

	(void) state;
	add_rule("A", 0);
	push(1, "A", USUAL);
	old = table_pop(table);
	assert_non_null(old);
	push_version(table, 1, 2, "A", USUAL);
	slots_free(table_entry_limit(old));
	table_return(table, old);
	assert_int_equal(table_waiting(table), 1);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 0);
}

static void
test_returned_beyond_the_bounds(void **state)
{
	TableEntry *entry;

	(void) state;
	add_rule("A", 0);
	set_bounds(2, 0);
	push(1, "A", USUAL);
	push(2, "A", USUAL);
	entry = table_pop(table);
	assert_non_null(entry);
	assert_int_equal(push(3, "A", USUAL), TABLE_ADDED);
	slots_free(table_entry_limit(entry));
	table_return(table, entry);
	assert_int_equal(table_waiting(table), 3);
	assert_int_equal(table_room(table), 0);
	assert_int_equal(push(4, "A", USUAL), TABLE_SPILLED);
	assert_int_equal(pop(), 1);
	assert_int_equal(table_room(table), 0);
	assert_int_equal(pop(), 2);
	assert_int_equal(table_room(table), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(test_worked_example),
		UNIT(test_columns_change_places),
		UNIT(test_age_not_alphabet),
		UNIT(test_urgent_first),
		UNIT(test_full_through_all_rows),
		UNIT(test_full_type_hinders_no_other),
		UNIT(test_more_urgent_overtakes_while_waiting),
		UNIT(test_place),
		UNIT(test_entry),
		UNIT(test_no_handler),
		UNIT(test_can_start),
		UNIT(test_duplicates),
		UNIT(test_newer_version_keeps_the_place),
		UNIT(test_newer_version_elsewhere),
		UNIT(test_turn_is_not_lost_with_its_trigger),
		UNIT(test_newer_version_while_popped),
		UNIT(test_returned_to_its_place),
		UNIT(test_returned_when_superseded),
		UNIT(test_returned_beyond_the_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
