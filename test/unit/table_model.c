/*-------------------------------------------------------------------------
 *
 * table_model.c
 *		The table of triggers as its algorithm is told, done naively.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "table_model.h"

/* ---- a row ---- */

/* Columns by the age of their first trigger; an empty one leaves. */
static void
sort_row(ModelRow *row)
{
	int			i;
	int			j;

	for (i = 0; i < row->count; i++)
	{
		if (row->columns[i].count == 0)
			row->columns[i--] = row->columns[--row->count];
	}
	for (i = 0; i < row->count; i++)
	{
		for (j = i + 1; j < row->count; j++)
		{
			ModelColumn swap = row->columns[i];

			if (swap.triggers[0].sequence <
				row->columns[j].triggers[0].sequence)
				continue;
			row->columns[i] = row->columns[j];
			row->columns[j] = swap;
		}
	}
}

static void
insert_trigger(ModelRow *row, const ModelTrigger *trigger)
{
	ModelColumn *column;
	int			i;

	for (i = 0; i < row->count; i++)
	{
		if (row->columns[i].type == trigger->type)
			break;
	}
	column = &row->columns[i];
	if (i == row->count)
	{
		row->count++;
		column->type = trigger->type;
		column->count = 0;
	}
	for (i = column->count++; i > 0; i--)
	{
		if (column->triggers[i - 1].sequence < trigger->sequence)
			break;
		column->triggers[i] = column->triggers[i - 1];
	}
	column->triggers[i] = *trigger;
	sort_row(row);
}

static ModelTrigger
take_trigger(ModelRow *row, int column_number, int place)
{
	ModelColumn *column = &row->columns[column_number];
	ModelTrigger trigger = column->triggers[place];

	column->count--;
	memmove(&column->triggers[place], &column->triggers[place + 1],
			(column->count - place) * sizeof(ModelTrigger));
	sort_row(row);
	return trigger;
}

/* ---- slots ---- */

static bool
book(Model *model, int limit)
{
	int			step;

	for (step = limit; step >= 0; step = model->limits[step].parent)
	{
		const ModelLimit *at = &model->limits[step];

		if (at->max > 0 && at->used >= at->max)
			return false;
	}
	for (step = limit; step >= 0; step = model->limits[step].parent)
		model->limits[step].used++;
	return true;
}

void
model_free_slot(Model *model, int limit)
{
	for (; limit >= 0; limit = model->limits[limit].parent)
		model->limits[limit].used--;
}

/* ---- the table ---- */

int
model_type_waiting(const Model *model, int type)
{
	int			waiting = 0;
	int			priority;
	int			i;

	for (priority = 0; priority < TRIGGER_PRIORITIES; priority++)
	{
		const ModelRow *row = &model->rows[priority];

		for (i = 0; i < row->count; i++)
		{
			if (row->columns[i].type == type)
				waiting += row->columns[i].count;
		}
	}
	return waiting;
}

int
model_waiting(const Model *model)
{
	int			waiting = 0;
	int			type;

	for (type = 0; type < MODEL_TYPES; type++)
		waiting += model_type_waiting(model, type);
	return waiting;
}

/* Replaces the waiting trigger in its place, or removes it. */
static bool
replace_waiting(Model *model, uint64 sequence, const ModelTrigger *trigger)
{
	int			priority;
	int			i;
	int			j;

	for (priority = 0; priority < TRIGGER_PRIORITIES; priority++)
	{
		ModelRow   *row = &model->rows[priority];

		for (i = 0; i < row->count; i++)
		{
			for (j = 0; j < row->columns[i].count; j++)
			{
				ModelTrigger *old = &row->columns[i].triggers[j];

				if (old->sequence != sequence)
					continue;
				if (old->type == trigger->type && priority == trigger->priority)
				{
					*old = *trigger;
					old->sequence = sequence;
					return true;
				}
				model->known[trigger->task] = 0;
				take_trigger(row, i, j);
				return false;
			}
		}
	}
	return false;
}

static int64
known_version(const Model *model, int task)
{
	uint64		sequence = model->known[task];
	int			priority;
	int			i;
	int			j;

	for (i = 0; i < model->npopped; i++)
	{
		if (model->popped[i].sequence == sequence)
			return model->popped[i].version;
	}
	for (priority = 0; priority < TRIGGER_PRIORITIES; priority++)
	{
		const ModelRow *row = &model->rows[priority];

		for (i = 0; i < row->count; i++)
		{
			for (j = 0; j < row->columns[i].count; j++)
			{
				if (row->columns[i].triggers[j].sequence == sequence)
					return row->columns[i].triggers[j].version;
			}
		}
	}
	return -1;
}

int
model_displaced(const Model *model, const ModelTrigger *trigger)
{
	uint64		sequence = model->known[trigger->task];

	if (sequence == 0 || known_version(model, trigger->task) >= trigger->version)
		return MODEL_TYPES;
	for (int priority = 0; priority < TRIGGER_PRIORITIES; priority++)
	{
		const ModelRow *row = &model->rows[priority];

		for (int i = 0; i < row->count; i++)
			for (int j = 0; j < row->columns[i].count; j++)
			{
				const ModelTrigger *old = &row->columns[i].triggers[j];

				if (old->sequence == sequence)
					return old->type == trigger->type && priority == trigger->priority ?
						-1 : old->type;
			}
	}
	return MODEL_TYPES;
}

int
model_family(int type)
{
	return type % 5;
}

static int
family_waiting(const Model *model, int family)
{
	int			waiting = 0;

	for (int type = 0; type < MODEL_TYPES; type++)
		if (model_family(type) == family)
			waiting += model_type_waiting(model, type);
	return waiting;
}

static int
biggest_family(const Model *model)
{
	int			biggest = 0;

	for (int type = 0; type < MODEL_TYPES; type++)
		biggest = Max(biggest, family_waiting(model, model_family(type)));
	return biggest;
}

static int
biggest_type(const Model *model, int family)
{
	int			biggest = 0;

	for (int type = 0; type < MODEL_TYPES; type++)
		if (model_family(type) == family)
			biggest = Max(biggest, model_type_waiting(model, type));
	return biggest;
}

/* The trigger of that type that would run last. */
static void
take_last(Model *model, int type)
{
	for (int priority = TRIGGER_PRIORITIES - 1; priority >= 0; priority--)
	{
		ModelRow   *row = &model->rows[priority];

		for (int i = 0; i < row->count; i++)
		{
			ModelTrigger last;

			if (row->columns[i].type != type)
				continue;
			last = take_trigger(row, i, row->columns[i].count - 1);
			model->known[last.task] = 0;
			return;
		}
	}
}

static int
least_urgent(const Model *model, int type)
{
	int			priority;

	for (priority = TRIGGER_PRIORITIES - 1; priority >= 0; priority--)
	{
		const ModelRow *row = &model->rows[priority];

		for (int i = 0; i < row->count; i++)
			if (row->columns[i].type == type)
				return priority;
	}
	return -1;
}

/* Whether the type is one of the biggest of its family. */
static bool
is_biggest_type(const Model *model, int type)
{
	return model_type_waiting(model, type) == biggest_type(model, model_family(type));
}

/* Whether it is that of one of the biggest families. */
static bool
is_biggest(const Model *model, int type)
{
	return is_biggest_type(model, type) &&
		family_waiting(model, model_family(type)) == biggest_family(model);
}

typedef enum Giving
{
	GIVES_NOTHING,
	GIVES_ANYTHING,				/* it takes up more even with one less */
	GIVES_LESS_URGENT			/* than what is new */
} Giving;

/* The sacrifice of that type for a new trigger of the other one. */
static Giving
giving(const Model *model, int type, int other)
{
	int			family = model_family(other);
	int			bigger = biggest_type(model, family) - model_type_waiting(model, other);
	int			bigger_family = biggest_family(model) - family_waiting(model, family);

	if (model_type_waiting(model, type) == 0)
		return GIVES_NOTHING;
	if (model_type_waiting(model, other) >= model->share)
		return type == other ? GIVES_LESS_URGENT : GIVES_NOTHING;
	if (bigger_family > 1)
		return is_biggest(model, type) ? GIVES_ANYTHING : GIVES_NOTHING;
	if (bigger > 1)
		return model_family(type) == family && is_biggest_type(model, type) ?
			GIVES_ANYTHING : GIVES_NOTHING;
	if (type == other ||
		(bigger == 1 && model_family(type) == family && is_biggest_type(model, type)) ||
		(bigger_family == 1 && is_biggest(model, type)))
		return GIVES_LESS_URGENT;
	return GIVES_NOTHING;
}

/* Whether that type, -1: none, has to give up a trigger: the least urgent. */
static bool
may_push_out(const Model *model, int type, const ModelTrigger *trigger)
{
	int			least = -1;

	for (int i = 0; i < MODEL_TYPES; i++)
	{
		Giving		gives = giving(model, i, trigger->type);

		if (gives == GIVES_ANYTHING ||
			(gives == GIVES_LESS_URGENT && least_urgent(model, i) > trigger->priority))
			least = Max(least, least_urgent(model, i));
	}
	if (type < 0)
		return least == -1;
	return giving(model, type, trigger->type) != GIVES_NOTHING &&
		least_urgent(model, type) == least;
}

/* Whether there is something to know about the type. */
static bool
is_member(const Model *model, int type)
{
	for (int i = 0; i < model->npopped; i++)
		if (model->popped[i].type == type)
			return true;
	return model->spilled[type] || model_type_waiting(model, type) > 0;
}

/* The type has spilled; too many to remember are forgotten, but not that. */
static void
spill(Model *model, int type, int refill_at, int comes, bool may_forget)
{
	int			members = 0;

	model->refill_at[type] = refill_at;
	model->spilled[type] = true;
	for (int i = 0; i < MODEL_TYPES; i++)
		members += i == comes || is_member(model, i);
	if (!may_forget || members <= model->capacity)
		return;
	model->spilled[type] = false;
	model->has_left = true;
}

static TablePush
push_full(Model *model, const ModelTrigger *trigger, int pushed_out, bool *is_right)
{
	int			type = trigger->type;

	*is_right = may_push_out(model, pushed_out, trigger);
	if (pushed_out >= 0)
	{
		int			refill_at = (model_type_waiting(model, pushed_out) - 1) / 2;

		take_last(model, pushed_out);
		spill(model, pushed_out, refill_at, type, pushed_out != type &&
			  model_type_waiting(model, pushed_out) == 0);
		return TABLE_ADDED;
	}
	spill(model, type, model_type_waiting(model, type) / 2, type, !is_member(model, type));
	return TABLE_SPILLED;
}

TablePush
model_push(Model *model, const ModelTrigger *trigger, int pushed_out, bool *is_right)
{
	uint64		known = model->known[trigger->task];
	ModelTrigger added = *trigger;

	*is_right = pushed_out == -1;
	if (known != 0)
	{
		if (known_version(model, trigger->task) >= trigger->version)
			return TABLE_DUPLICATE;
		if (replace_waiting(model, known, trigger))
			return TABLE_ADDED;
	}
	if (model->type_limit[trigger->type] < 0)
		return TABLE_NO_HANDLER;
	if ((model_waiting(model) >= model->capacity ||
		 model_type_waiting(model, trigger->type) >= model->share) &&
		push_full(model, trigger, pushed_out, is_right) == TABLE_SPILLED)
		return TABLE_SPILLED;
	added.sequence = ++model->sequence;
	model->known[trigger->task] = added.sequence;
	insert_trigger(&model->rows[trigger->priority], &added);
	return TABLE_ADDED;
}

bool
model_pop(Model *model)
{
	bool		full[MODEL_TYPES] = {false};
	int			priority;
	int			i;

	for (priority = 0; priority < TRIGGER_PRIORITIES; priority++)
	{
		ModelRow   *row = &model->rows[priority];

		for (i = 0; i < row->count; i++)
		{
			int			type = row->columns[i].type;

			if (full[type])
				continue;
			if (book(model, model->type_limit[type]))
			{
				model->popped[model->npopped++] = take_trigger(row, i, 0);
				return true;
			}
			full[type] = true;
		}
	}
	return false;
}

static ModelTrigger
take_popped(Model *model, int popped)
{
	ModelTrigger trigger = model->popped[popped];

	model->popped[popped] = model->popped[--model->npopped];
	return trigger;
}

void
model_forget(Model *model, int popped)
{
	ModelTrigger trigger = take_popped(model, popped);

	if (model->known[trigger.task] == trigger.sequence)
		model->known[trigger.task] = 0;
}

void
model_return(Model *model, int popped)
{
	ModelTrigger trigger = take_popped(model, popped);
	uint64	   *known = &model->known[trigger.task];

	if (*known != 0 && *known != trigger.sequence)
		return;
	*known = trigger.sequence;
	insert_trigger(&model->rows[trigger.priority], &trigger);
}

int
model_take_spilled(Model *model, int type)
{
	int			room = Max(model->capacity - model_waiting(model), 0);
	int			waiting = model_type_waiting(model, type);

	if (!model->spilled[type] || room == 0 || waiting > model->refill_at[type])
		return 0;
	model->spilled[type] = false;
	return Min(room, model->share - waiting);
}

int
model_take_left(Model *model)
{
	int			room = Max(model->capacity - model_waiting(model), 0);

	if (!model->has_left || room <= model->capacity / 2)
		return 0;
	model->has_left = false;
	return room;
}
