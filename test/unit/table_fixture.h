/*-------------------------------------------------------------------------
 *
 * table_fixture.h
 *		What tests of the table share: types with limits, and short calls.
 *
 * Tasks are numbers from 1.  pop() forgets a task at once and keeps its
 * slot, until give_back() or the end of the test.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_FIXTURE_H
#define TWT_TABLE_FIXTURE_H

#include "check.h"
#include "table/column.h"
#include "table/table.h"

#define USUAL 5					/* priority */

/* Types that this node runs, each with a limit of its own. */
typedef struct Rule
{
	const char *type;
	Limit	   *limit;
} Rule;

static Rule rules[8];
static int	nrules;
static Limit *node;				/* above all rules */
static Table *table;
static int	nbooked;			/* slots to free at the end */
static Limit *booked[64];

static inline bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	int			i;

	assert_ptr_equal(arg, rules);
	for (i = 0; i < nrules; i++)
	{
		if (strcmp(rules[i].type, type) != 0)
			continue;
		*limit = rules[i].limit;
		limit_keep(*limit);
		*tag = &rules[i];
		return true;
	}
	return false;
}

/* Only the order of pops shows it otherwise. */
static inline int
priority_of(const TableEntry *entry)
{
	return entry->priority;
}

static inline Limit *
add_rule(const char *type, int max)
{
	rules[nrules].type = type;
	rules[nrules].limit = limit_new(type, max, node);
	return rules[nrules++].limit;
}

static inline void
book(Limit *limit)
{
	assert_null(slots_book(limit, USUAL));
	booked[nbooked++] = limit;
}

static inline void
give_back(Limit *limit)
{
	int			i;

	for (i = 0; booked[i] != limit; i++)
		assert_true(i + 1 < nbooked);
	booked[i] = booked[--nbooked];
	slots_free(limit);
}

static inline int
start(void **state)
{
	(void) state;
	nrules = nbooked = 0;
	node = limit_new("node", 0, NULL);
	table = table_new(1000, 0, resolve, rules);
	return 0;
}

static inline int
end_test(void **state)
{
	(void) state;
	table_free(table);
	while (nbooked > 0)
		slots_free(booked[--nbooked]);
	while (nrules > 0)
		limit_free(rules[--nrules].limit);
	limit_free(node);
	return 0;
}

/* The table of this test has other bounds. */
static inline void
set_bounds(int capacity, int per_type)
{
	table_free(table);
	table = table_new(capacity, per_type, resolve, rules);
}

static inline TablePush
push_version(Table *to, int task, int version, const char *type, int priority)
{
	Trigger		trigger;

	memset(&trigger, 0, sizeof(trigger));
	memcpy(trigger.id, &task, sizeof(task));
	trigger.version = version;
	trigger.size = 100 * task + version;
	trigger.priority = priority;
	trigger.type_len = strlen(type);
	memcpy(trigger.type, type, trigger.type_len);
	return table_push(to, &trigger, NULL);
}

static inline TablePush
push(int task, const char *type, int priority)
{
	return push_version(table, task, 1, type, priority);
}

static inline int
task_of(const TableEntry *entry)
{
	int			task;

	memcpy(&task, table_entry_id(entry), sizeof(task));
	return task;
}

/* Pops, forgets and keeps the slot; returns the task's number, 0: none. */
static inline int
pop_from(Table *from)
{
	TableEntry *entry = table_pop(from);
	int			task;

	if (entry == NULL)
		return 0;
	task = task_of(entry);
	booked[nbooked++] = table_entry_limit(entry);
	table_forget(from, entry);
	return task;
}

static inline int
pop(void)
{
	return pop_from(table);
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, start, end_test)

#endif							/* TWT_TABLE_FIXTURE_H */
