/*-------------------------------------------------------------------------
 *
 * table_model.c
 *		The table of triggers as its algorithm is told, done naively.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

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

TablePush
model_push(Model *model, const ModelTrigger *trigger)
{
	uint64		known = model->known[trigger->task];
	ModelTrigger added = *trigger;

	if (known != 0)
	{
		if (known_version(model, trigger->task) >= trigger->version)
			return TABLE_DUPLICATE;
		if (replace_waiting(model, known, trigger))
			return TABLE_ADDED;
	}
	if (model->type_limit[trigger->type] < 0)
		return TABLE_NO_HANDLER;
	if (model_waiting(model) >= model->capacity ||
		model_type_waiting(model, trigger->type) >= model->share)
	{
		model->spilled[trigger->type] = true;
		return TABLE_SPILLED;
	}
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

	if (!model->spilled[type] || room == 0 || waiting > model->share / 2)
		return 0;
	model->spilled[type] = false;
	return Min(room, model->share - waiting);
}
