/*-------------------------------------------------------------------------
 *
 * column.c
 *		The triggers of one type: a column through all rows of a table.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bitutils.h"

#include "table/column.h"

static bool
runs_before(const void *a, const void *b)
{
	const SlotWaiter *left = &((const Column *) a)->waiter;
	const SlotWaiter *right = &((const Column *) b)->waiter;

	if (left->priority != right->priority)
		return left->priority < right->priority;
	return left->sequence < right->sequence;
}

static void
set_column_place(void *item, int place)
{
	((Column *) item)->place = place;
}

void
column_init_heap(Heap *runnable)
{
	heap_init(runnable, runs_before, set_column_place);
}

static void
wake_column(SlotWaiter *waiter)
{
	Column	   *column = (Column *) waiter;

	heap_push(column->runnable, column);
}

Column *
column_new(const char *type, Limit *limit, void *tag, Heap *runnable)
{
	size_t		size = strlen(type) + 1;
	Column	   *column = palloc0(offsetof(Column, type) + size);
	int			priority;

	column->waiter.wake = wake_column;
	column->waiter.wants = limit;
	column->limit = limit;
	column->tag = tag;
	column->runnable = runnable;
	column->place = HEAP_NOWHERE;
	for (priority = 0; priority < TRIGGER_PRIORITIES; priority++)
		dlist_init(&column->fifo[priority]);
	memcpy(column->type, type, size);
	return column;
}

void
column_free(Column *column)
{
	Assert(column->waiter.limit == NULL && column->place == HEAP_NOWHERE);
	pfree(column);
}

void
column_renew_entry(TableEntry *entry, const Trigger *trigger, const RowPlace *place)
{
	entry->version = trigger->version;
	entry->size = trigger->size;
	entry->place = *place;
}

TableEntry *
column_new_entry(Column *column, const Trigger *trigger, const RowPlace *place,
				 uint64 sequence)
{
	TableEntry *entry = palloc0(sizeof(TableEntry));

	entry->column = column;
	entry->sequence = sequence;
	entry->priority = trigger->priority;
	column_renew_entry(entry, trigger, place);
	memcpy(entry->id, trigger->id, TRIGGER_ID_BYTES);
	return entry;
}

bool
column_is_place(const TableEntry *entry, const Trigger *trigger)
{
	return entry->priority == trigger->priority &&
		strcmp(entry->column->type, trigger->type) == 0;
}

TableEntry *
column_best(Column *column)
{
	int			priority = pg_rightmost_one_pos32(column->priorities);

	return dlist_head_element(TableEntry, node, &column->fifo[priority]);
}

TableEntry *
column_worst(Column *column)
{
	return dlist_tail_element(TableEntry, node, &column->fifo[column_least_urgent(column)]);
}

int
column_least_urgent(const Column *column)
{
	return column->priorities == 0 ? -1 : pg_leftmost_one_pos32(column->priorities);
}

void
column_withdraw(Column *column)
{
	if (column->waiter.limit != NULL)
		slots_unwait(&column->waiter);
	else if (column->place != HEAP_NOWHERE)
		heap_remove(column->runnable, column->place);
}

void
column_wait(Column *column, Limit *full)
{
	heap_remove(column->runnable, column->place);
	slots_wait(full, &column->waiter);
}

/* Moves the column to its new place if its best entry has changed. */
static void
place_column(Column *column)
{
	SlotWaiter *waiter = &column->waiter;
	bool		has_place = waiter->limit != NULL ||
		column->place != HEAP_NOWHERE;
	TableEntry *best;

	if (column->waiting == 0)
	{
		column_withdraw(column);
		return;
	}
	best = column_best(column);
	if (has_place && waiter->priority == best->priority &&
		waiter->sequence == best->sequence)
		return;
	if (waiter->limit != NULL)
		slots_unwait(waiter);
	waiter->priority = best->priority;
	waiter->sequence = best->sequence;
	if (column->place != HEAP_NOWHERE)
		heap_moved(column->runnable, column->place);
	else
		heap_push(column->runnable, column);
}

/*
 * An entry that is not the youngest has come back from being popped.  Only
 * other such entries can be older, and they are few, so the loop is short.
 */
static void
insert_by_age(dlist_head *fifo, TableEntry *entry)
{
	dlist_iter	iter;

	if (dlist_is_empty(fifo) ||
		dlist_tail_element(TableEntry, node, fifo)->sequence < entry->sequence)
	{
		dlist_push_tail(fifo, &entry->node);
		return;
	}
	dlist_foreach(iter, fifo)
	{
		if (dlist_container(TableEntry, node, iter.cur)->sequence >
			entry->sequence)
			break;
	}
	dlist_insert_before(iter.cur, &entry->node);
}

static void
move_up(Column *column, int priority, uint64 sequence)
{
	dlist_head *from = &column->fifo[priority];
	TableEntry *entry = dlist_container(TableEntry, node, dlist_pop_head_node(from));

	entry->priority = priority - 1;
	entry->sequence = sequence;
	dlist_push_tail(&column->fifo[priority - 1], &entry->node);
	column->priorities |= (uint32) 1 << (priority - 1);
	if (dlist_is_empty(from))
		column->priorities &= ~((uint32) 1 << priority);
}

/*
 * Moves old entries up by one priority.  Their new sequence makes them young
 * there.
 */
static void
move_old(Column *column, uint64 old, uint64 *last_sequence)
{
	for (int priority = TRIGGER_RISEN + 1; priority < TRIGGER_PRIORITIES; priority++)
	{
		dlist_head *fifo = &column->fifo[priority];

		while (!dlist_is_empty(fifo) &&
			   dlist_head_element(TableEntry, node, fifo)->sequence <= old)
			move_up(column, priority, ++*last_sequence);
	}
	place_column(column);
}

static void
set_mark(Column *column, int64 now_us, uint64 last_sequence)
{
	column->marked_us[column->mark] = now_us;
	column->marks[column->mark] = last_sequence;
	column->mark = (column->mark + 1) % COLUMN_MARKS;
}

/*
 * Each mark is a quarter of the time after the one before, as near as the calls
 * allow: marks that lie close together after a delay would leave a gap, and the
 * entries of that gap would rise late.  No mark counts before its time, so that
 * no entry rises early.
 */
static bool
is_due(const Column *column, int64 now_us)
{
	int			last = (column->mark + COLUMN_MARKS - 1) % COLUMN_MARKS;
	int64		step_us = now_us - column->called_us;

	if (now_us - column->marked_us[last] + step_us / 2 < column->aging_us / COLUMN_MARKS)
		return false;
	return column->marks[column->mark] == 0 || now_us - column->marked_us[column->mark] >= column->aging_us;
}

/*
 * The newest mark that is old enough: after a loop stood still, several are, and
 * their entries shall not wait for a mark each.
 */
static uint64
newest_old(const Column *column, int64 now_us)
{
	uint64		sequence = 0;

	for (int i = 0; i < COLUMN_MARKS; i++)
		if (now_us - column->marked_us[i] >= column->aging_us)
			sequence = Max(sequence, column->marks[i]);
	return sequence;
}

static void
begin_marks(Column *column, int64 now_us, int64 aging_us, uint64 last_sequence)
{
	column->aging_us = aging_us;
	memset(column->marks, 0, sizeof(column->marks));
	column->mark = 0;
	set_mark(column, now_us, last_sequence);
}

void
column_age(Column *column, int64 now_us, int64 aging_us, uint64 *last_sequence)
{
	if (column->aging_us != aging_us)
		begin_marks(column, now_us, aging_us, *last_sequence);
	else if (aging_us > 0 && is_due(column, now_us))
	{
		move_old(column, newest_old(column, now_us), last_sequence);
		set_mark(column, now_us, *last_sequence);
	}
	column->called_us = now_us;
}

void
column_link(Column *column, TableEntry *entry)
{
	insert_by_age(&column->fifo[entry->priority], entry);
	column->priorities |= (uint32) 1 << entry->priority;
	column->waiting++;
	place_column(column);
}

void
column_unlink(Column *column, TableEntry *entry)
{
	dlist_delete(&entry->node);
	if (dlist_is_empty(&column->fifo[entry->priority]))
		column->priorities &= ~((uint32) 1 << entry->priority);
	column->waiting--;
	place_column(column);
}
