/*-------------------------------------------------------------------------
 *
 * test_table_random.c
 *		The table: random histories, every answer compared with a naive model.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "table/column.h"
#include "table/table.h"
#include "table_model.h"

#define SEEDS 120
#define STEPS 3000

/* The conditions of one history; model and table see the same ones. */
typedef struct History
{
	int			seed;
	int			step;
	Chance		chance;
	int			tasks;
	int			types;
	int			priorities;
	int			push_percent;	/* the rest takes out */
	int64		versions[MODEL_TASKS];
	Limit	   *limits[MODEL_LIMITS];
	Table	   *table;
	Model		model;
	TableEntry *popped[MODEL_POPPED];	/* as model.popped */
	int			nheld;
	int			held[MODEL_POPPED]; /* limits booked by what was forgotten */
} History;

#define check(condition) check_that(history->seed, history->step, condition)

/* Names whose alphabetical order is not their order of age. */
static void
type_name(int type, char *name)
{
	snprintf(name, TRIGGER_TYPE_MAX, "%c_type|%d", 'a' + (model_family(type) * 3) % 5, type);
}

static int
type_number(const char *name)
{
	return atoi(strchr(name, '|') + 1);
}

static bool
resolve(void *arg, const char *type, Limit **limit, void **tag)
{
	History    *history = arg;
	int			number = type_number(type);
	int			limit_number = history->model.type_limit[number];

	if (limit_number < 0)
		return false;
	*limit = history->limits[limit_number];
	limit_keep(*limit);
	*tag = &history->model.type_limit[number];
	return true;
}

static void
start_limits(History *history)
{
	Chance	   *chance = &history->chance;
	int			i;

	for (i = 0; i < MODEL_LIMITS; i++)
	{
		ModelLimit *limit = &history->model.limits[i];
		Limit	   *parent;

		limit->parent = i > 0 ? chance_below(chance, i + 1) - 1 : -1;
		limit->max = chance_below(chance, 6);
		parent = limit->parent >= 0 ? history->limits[limit->parent] : NULL;
		history->limits[i] = limit_new("limit", limit->max, parent);
	}
}

static void
start_history(History *history, int seed)
{
	Chance	   *chance = &history->chance;
	int			per_type;
	int			i;

	memset(history, 0, sizeof(*history));
	history->seed = seed;
	chance_init(chance, seed);
	history->tasks = 20 + chance_below(chance, MODEL_TASKS - 20);
	history->types = 2 + chance_below(chance, MODEL_TYPES - 1);
	history->priorities = 1 + chance_below(chance, TRIGGER_PRIORITIES);
	history->push_percent = 30 + chance_below(chance, 40);
	start_limits(history);
	for (i = 0; i < history->types; i++)
		history->model.type_limit[i] =
			chance_percent(chance, 5) ? -1 : chance_below(chance, MODEL_LIMITS);
	history->model.capacity = 1 + (chance_percent(chance, 30) ?
								   chance_below(chance, MODEL_TYPES) : MODEL_TYPES + chance_below(chance, 200));
	per_type = chance_percent(chance, 50) ? 0 : 1 + chance_below(chance, 40);
	history->model.share = per_type > 0 ?
		Min(per_type, history->model.capacity) : history->model.capacity;
	history->table = table_new(history->model.capacity, per_type,
							   resolve, history);
}

static void
count_type(void *arg, const char *type, int waiting)
{
	((int *) arg)[type_number(type)] = waiting;
}

/* The counts show which trigger was pushed out; nothing else changes them here. */
static void
push_and_compare(History *history, const Trigger *trigger, const ModelTrigger *wanted)
{
	int			expected[MODEL_TYPES + 1] = {0};
	int			after[MODEL_TYPES] = {0};
	int			displaced = model_displaced(&history->model, wanted);
	int			pushed_out = -1;
	bool		is_right;
	TablePush	result;

	table_types(history->table, count_type, expected);
	result = table_push(history->table, trigger, NULL);
	table_types(history->table, count_type, after);
	if (displaced >= 0)
		expected[displaced]--;
	if (displaced >= 0 && result == TABLE_ADDED)
		expected[wanted->type]++;
	for (int type = 0; type < MODEL_TYPES; type++)
		if (after[type] < expected[type])
			pushed_out = type;
	check(result == model_push(&history->model, wanted, pushed_out, &is_right));
	check(is_right);
}

static void
push(History *history)
{
	Chance	   *chance = &history->chance;
	int			task = chance_below(chance, history->tasks);
	int64	   *version = &history->versions[task];
	ModelTrigger wanted = {.task = task};
	Trigger		trigger = {.due_us = 0};

	/* mostly type and priority belong to the task; the version mostly grows */
	wanted.type = task + (chance_percent(chance, 10) ? 1 : 0);
	wanted.type %= history->types;
	wanted.priority = chance_percent(chance, 80) ?
		task / 3 : chance_below(chance, TRIGGER_PRIORITIES);
	wanted.priority %= history->priorities;
	wanted.version = Max(*version + chance_below(chance, 4) - 1, 0);
	wanted.size = chance_below(chance, 1000);
	*version = Max(*version, wanted.version);

	memcpy(trigger.id, &task, sizeof(task));
	trigger.version = wanted.version;
	trigger.size = wanted.size;
	trigger.priority = wanted.priority;
	type_name(wanted.type, trigger.type);
	trigger.type_len = strlen(trigger.type);
	push_and_compare(history, &trigger, &wanted);
}

static void
pop(History *history)
{
	Model	   *model = &history->model;
	TableEntry *entry;
	const ModelTrigger *expected;
	int			task;

	if (model->npopped == MODEL_POPPED)
		return;
	entry = table_pop(history->table);
	check((entry != NULL) == model_pop(model));
	if (entry == NULL)
		return;
	history->popped[model->npopped - 1] = entry;
	expected = &model->popped[model->npopped - 1];
	memcpy(&task, table_entry_id(entry), sizeof(task));
	check(task == expected->task);
	check(table_entry_version(entry) == expected->version);
	check(table_entry_size(entry) == expected->size);
	check(entry->priority == expected->priority);
	check(type_number(table_entry_type(entry)) == expected->type);
	check(table_entry_tag(entry) == &model->type_limit[expected->type]);
	check(table_entry_limit(entry) ==
		  history->limits[model->type_limit[expected->type]]);
}

static void
free_slot(History *history, int limit)
{
	slots_free(history->limits[limit]);
	model_free_slot(&history->model, limit);
}

/* A popped one ends: returned, or forgotten before or after its slot. */
static void
end_popped(History *history)
{
	Model	   *model = &history->model;
	int			which = chance_below(&history->chance, model->npopped);
	TableEntry *entry = history->popped[which];
	int			limit = model->type_limit[model->popped[which].type];

	history->popped[which] = history->popped[model->npopped - 1];
	switch (chance_below(&history->chance, 3))
	{
		case 0:
			free_slot(history, limit);
			table_return(history->table, entry);
			model_return(model, which);
			break;
		case 1:
			free_slot(history, limit);
			table_forget(history->table, entry);
			model_forget(model, which);
			break;
		default:
			table_forget(history->table, entry);
			model_forget(model, which);
			if (history->nheld < MODEL_POPPED)
				history->held[history->nheld++] = limit;
			else
				free_slot(history, limit);
	}
}

static void
end_held(History *history)
{
	int			which = chance_below(&history->chance, history->nheld);
	int			limit = history->held[which];

	history->held[which] = history->held[--history->nheld];
	free_slot(history, limit);
}

static void
change_limit(History *history)
{
	int			which = chance_below(&history->chance, MODEL_LIMITS);
	int			max = chance_below(&history->chance, 7);

	history->model.limits[which].max = max;
	limit_set_max(history->limits[which], max);
}

/* ---- what the table tells about its types ---- */

static void
count_spilled(void *arg, const char *type, int room)
{
	((int *) arg)[type == NULL ? MODEL_TYPES : type_number(type)] = room;
}

static void
take_spilled(History *history)
{
	int			rooms[MODEL_TYPES + 1] = {0};
	bool		any = history->model.has_left;
	int			type;

	for (type = 0; type < MODEL_TYPES; type++)
		any = any || history->model.spilled[type];
	check(table_has_spilled(history->table) == any);
	table_take_spilled(history->table, count_spilled, rooms);
	for (type = 0; type < MODEL_TYPES; type++)
		check(rooms[type] == model_take_spilled(&history->model, type));
	check(rooms[MODEL_TYPES] == model_take_left(&history->model));
}

static void
compare_counts(History *history)
{
	const Model *model = &history->model;
	int			waiting[MODEL_TYPES] = {0};
	int			all = 0;
	int			i;

	table_types(history->table, count_type, waiting);
	check(table_share(history->table) == model->share);
	for (i = 0; i < MODEL_TYPES; i++)
	{
		int			expected = model_type_waiting(model, i);

		check(waiting[i] == expected);
		all += expected;
	}
	check(table_waiting(history->table) == all);
	check(table_room(history->table) == Max(model->capacity - all, 0));
	for (i = 0; i < MODEL_LIMITS; i++)
		check(limit_used(history->limits[i]) == model->limits[i].used);
}

static void
take_step(History *history)
{
	Chance	   *chance = &history->chance;

	if (chance_percent(chance, 2))
		change_limit(history);
	else if (chance_percent(chance, 2))
		take_spilled(history);
	else if (chance_percent(chance, history->push_percent))
		push(history);
	else if (chance_percent(chance, 50))
		pop(history);
	else if (chance_percent(chance, 50) && history->model.npopped > 0)
		end_popped(history);
	else if (history->nheld > 0)
		end_held(history);
}

static void
end_history(History *history)
{
	int			i;

	for (i = 0; i < history->model.npopped; i++)
	{
		slots_free(table_entry_limit(history->popped[i]));
		table_forget(history->table, history->popped[i]);
	}
	for (i = 0; i < history->nheld; i++)
		slots_free(history->limits[history->held[i]]);
	table_free(history->table);
	for (i = MODEL_LIMITS - 1; i >= 0; i--)
		limit_free(history->limits[i]);
}

static void
test_against_model(void **state)
{
	static History history;
	int			seed;

	(void) state;
	for (seed = test_seed(); seed < test_seed() + SEEDS; seed++)
	{
		start_history(&history, seed);
		for (history.step = 0; history.step < STEPS; history.step++)
		{
			take_step(&history);
			if (history.step % 8 == 0)
				compare_counts(&history);
		}
		end_history(&history);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
