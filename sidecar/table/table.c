/*-------------------------------------------------------------------------
 *
 * table.c
 *		Sorted table of triggers: which task to try next.
 *
 * This file keeps the known tasks and types, the bounds, and the spilled
 * types.  column.c keeps the order; slots.c keeps the waiting columns.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/map.h"
#include "table/column.h"
#include "table/crowd.h"
#include "table/table.h"

StaticAssertDecl(TABLE_AGINGS == COLUMN_MARKS, "a column marks its entries at each table_age()");

struct Table
{
	Metrics    *metrics;		/* NULL: nobody counts */
	const char *bucket;			/* for metrics */
	int			capacity;
	int			share;			/* most triggers of one type */
	int			waiting;
	TableResolve resolve;
	void	   *arg;
	Map		   *known;			/* the newest TableEntry by task id */
	Map		   *types;			/* Columns by name of type */
	Heap		runnable;		/* Columns */
	Crowd	   *crowd;
	uint64		turned_away;	/* triggers without room */
	dlist_head	spilled;		/* Columns */
	bool		has_left;		/* some types without a column have tasks */
};

/* All tables share it: columns of several tables at one limit compare by age. */
static uint64 last_sequence = 0;

Table *
table_new(int capacity, int per_type, TableResolve resolve, void *arg)
{
	Table	   *table = palloc0(sizeof(Table));

	table->capacity = capacity;
	table->share = per_type > 0 ? Min(per_type, capacity) : capacity;
	table->resolve = resolve;
	table->arg = arg;
	table->known = map_new(TRIGGER_ID_BYTES);
	table->types = map_new(0);
	column_init_heap(&table->runnable);
	table->crowd = crowd_new();
	dlist_init(&table->spilled);
	return table;
}

void
table_set_metrics(Table *table, Metrics *metrics, const char *bucket)
{
	table->metrics = metrics;
	table->bucket = bucket;
}

/*
 * Each column that leaves passes its turn on: a column of another table may
 * wait for the slot that this one was woken for.
 */
static void
withdraw_columns(Table *table)
{
	uint64		place = 0;
	Column	   *column;

	while ((column = map_next(table->types, &place)) != NULL)
	{
		Assert(column->popped == 0);
		column_withdraw(column);
		slots_yield(column->limit);
	}
}

static void
free_column(Table *table, Column *column)
{
	Limit	   *limit = column->limit;

	crowd_count(table->crowd, column, -column->waiting);
	column->waiting = 0;
	crowd_leave(table->crowd, column);
	column_free(column);
	limit_release(limit);
}

void
table_free(Table *table)
{
	uint64		place = 0;
	TableEntry *entry;
	Column	   *column;

	withdraw_columns(table);
	while ((entry = map_next(table->known, &place)) != NULL)
		pfree(entry);
	place = 0;
	while ((column = map_next(table->types, &place)) != NULL)
		free_column(table, column);
	map_free(table->known);
	map_free(table->types);
	heap_clear(&table->runnable);
	crowd_free(table->crowd);
	pfree(table);
}

/* Returns NULL if this node has no handler for the type. */
static Column *
add_column(Table *table, const char *type)
{
	Limit	   *limit;
	void	   *tag;
	Column	   *column;

	if (!table->resolve(table->arg, type, &limit, &tag))
		return NULL;
	column = column_new(type, limit, tag, &table->runnable);
	map_set(table->types, column->type, column);
	crowd_join(table->crowd, column);
	return column;
}

/* Frees the column if it has no entries and its type has not spilled. */
static void
release_column(Table *table, Column *column)
{
	if (column->waiting > 0 || column->popped > 0 || column->is_spilled)
		return;
	map_remove(table->types, column->type);
	free_column(table, column);
}

static void
remember_spilled(Table *table, Column *column, int refill_at)
{
	column->refill_at = refill_at;
	if (column->is_spilled)
		return;
	column->is_spilled = true;
	dlist_push_tail(&table->spilled, &column->spilled_node);
}

static void
forget_spilled(Table *table, Column *column)
{
	dlist_delete(&column->spilled_node);
	column->is_spilled = false;
	release_column(table, column);
}

/* With too many columns, forgets one that only remembers a spill. */
static void
limit_remembered(Table *table, Column *column)
{
	if (map_count(table->types) <= table->capacity)
		return;
	table->has_left = true;
	forget_spilled(table, column);
}

static void
link_entry(Table *table, TableEntry *entry)
{
	table->waiting++;
	column_link(entry->column, entry);
	crowd_count(table->crowd, entry->column, 1);
}

static void
unlink_entry(Table *table, TableEntry *entry)
{
	table->waiting--;
	column_unlink(entry->column, entry);
	crowd_count(table->crowd, entry->column, -1);
}

/* Frees an entry that is neither waiting nor known. */
static void
free_entry(Table *table, TableEntry *entry)
{
	Column	   *column = entry->column;

	pfree(entry);
	release_column(table, column);
}

/*
 * Drops a waiting entry.  Its column may have been woken for it, so the turn
 * goes to another column.
 */
static void
drop_entry(Table *table, TableEntry *entry)
{
	map_remove(table->known, entry->id);
	unlink_entry(table, entry);
	slots_yield(entry->column->limit);
	free_entry(table, entry);
}

/* Drops the worst entry of the column, and marks the column as spilled. */
static void
push_out(Table *table, Column *column)
{
	table->turned_away++;
	remember_spilled(table, column, (column->waiting - 1) / 2);
	drop_entry(table, column_worst(column));
}

/* Chooses the column that makes room: this one if it has its share, else any. */
static Column *
who_makes_room(Table *table, Column *column, int priority)
{
	if (column->waiting < table->share)
		return crowd_makes_room(table->crowd, column, priority);
	return column_least_urgent(column) > priority ? column : NULL;
}

/* Makes room for an entry of that column and priority.  False: there is none. */
static bool
make_place(Table *table, Column *column, int priority)
{
	Column	   *giving;

	if (column->waiting < table->share && table_room(table) > 0)
		return true;
	giving = who_makes_room(table, column, priority);
	if (giving == NULL)
		return false;
	push_out(table, giving);
	if (giving != column && giving->waiting == 0)
		limit_remembered(table, giving);
	return true;
}

static TablePush
add_entry(Table *table, Column *column, const Trigger *trigger,
		  const RowPlace *place)
{
	TableEntry *entry;

	if (!make_place(table, column, trigger->priority))
	{
		remember_spilled(table, column, column->waiting / 2);
		return TABLE_SPILLED;
	}
	entry = column_new_entry(column, trigger, place, ++last_sequence);
	map_set(table->known, entry->id, entry);
	link_entry(table, entry);
	return TABLE_ADDED;
}

static TablePush
push_new(Table *table, const Trigger *trigger, const RowPlace *place)
{
	Column	   *column = map_get(table->types, trigger->type);
	TablePush	result;

	if (column != NULL)
		return add_entry(table, column, trigger, place);
	column = add_column(table, trigger->type);
	if (column == NULL)
		return TABLE_NO_HANDLER;
	result = add_entry(table, column, trigger, place);
	if (result == TABLE_SPILLED)
		limit_remembered(table, column);
	return result;
}

void
table_spill(Table *table, const char *type)
{
	Column	   *column = map_get(table->types, type);

	if (column == NULL && map_count(table->types) >= table->capacity)
		table->has_left = true;
	else if (column != NULL || (column = add_column(table, type)) != NULL)
		remember_spilled(table, column, column->waiting / 2);
}

TablePush
table_push(Table *table, const Trigger *trigger, const RowPlace *place)
{
	static const RowPlace nowhere;
	TableEntry *entry = map_get(table->known, trigger->id);
	TablePush	result;

	Assert(trigger->priority < TRIGGER_PRIORITIES);
	if (entry != NULL && entry->version >= trigger->version)
		return TABLE_DUPLICATE;
	if (entry != NULL && !entry->is_popped)
	{
		if (column_is_place(entry, trigger))
		{
			column_renew_entry(entry, trigger, place == NULL ? &nowhere : place);
			return TABLE_ADDED;
		}
		drop_entry(table, entry);
	}
	result = push_new(table, trigger, place == NULL ? &nowhere : place);
	table->turned_away += result == TABLE_SPILLED && place == NULL;
	return result;
}

uint64
table_turned_away(const Table *table)
{
	return table->turned_away;
}

bool
table_can_start(Table *table, const Trigger *trigger)
{
	Column	   *column = map_get(table->types, trigger->type);
	bool		result;

	if (column == NULL)
		column = add_column(table, trigger->type);
	if (column == NULL)
		return false;
	result = column->waiting < slots_room(column->limit, trigger->priority);
	release_column(table, column);
	return result;
}

TableEntry *
table_pop(Table *table)
{
	Column	   *column;

	while ((column = heap_first(&table->runnable)) != NULL)
	{
		Limit	   *full = slots_book(column->limit,
										  column->waiter.priority);

		if (full == NULL)
		{
			TableEntry *entry = column_best(column);

			entry->is_popped = true;
			column->popped++;
			unlink_entry(table, entry);
			return entry;
		}
		column_wait(column, full);
	}
	return NULL;
}

bool
table_ready(const Table *table)
{
	return heap_first(&table->runnable) != NULL;
}

void
table_forget(Table *table, TableEntry *entry)
{
	Assert(entry->is_popped);
	if (map_get(table->known, entry->id) == entry)
		map_remove(table->known, entry->id);
	entry->column->popped--;
	free_entry(table, entry);
}

void
table_return(Table *table, TableEntry *entry)
{
	const TableEntry *known = map_get(table->known, entry->id);

	Assert(entry->is_popped);
	entry->column->popped--;
	if (known != NULL && known != entry)
	{
		free_entry(table, entry);
		return;
	}
	entry->is_popped = false;
	map_set(table->known, entry->id, entry);
	link_entry(table, entry);
}

/* Drops waiting entries; frees the column if none of its entries is popped. */
static void
empty_column(Table *table, Column *column)
{
	int			n = column->waiting;

	if (column->is_spilled)
	{
		dlist_delete(&column->spilled_node);
		column->is_spilled = false;
	}
	if (n == 0)
		release_column(table, column);
	while (n-- > 0)
		drop_entry(table, column_best(column));
}

void
table_withdraw(Table *table, bool (*fn) (void *arg, const char *type), void *arg)
{
	Column	  **columns = palloc(Max(map_count(table->types), 1) * sizeof(Column *));
	int			n = 0;
	uint64		place = 0;
	Column	   *column;

	while ((column = map_next(table->types, &place)) != NULL)
		if (fn(arg, column->type))
			columns[n++] = column;
	for (int i = 0; i < n; i++)
		empty_column(table, columns[i]);
	pfree(columns);
}

void
table_age(Table *table, int64 now_us, int64 (*fn) (void *arg, const char *type),
		  void *arg)
{
	uint64		place = 0;
	Column	   *column;

	while ((column = map_next(table->types, &place)) != NULL)
	{
		column_age(column, now_us, fn(arg, column->type), &last_sequence);
		crowd_count(table->crowd, column, 0);
	}
}

int
table_waiting(const Table *table)
{
	return table->waiting;
}

bool
table_is_empty(const Table *table)
{
	return map_count(table->known) == 0;
}

int
table_share(const Table *table)
{
	return table->share;
}

int
table_capacity(const Table *table)
{
	return table->capacity;
}

int
table_even_share(const Table *table)
{
	return Max(table->capacity / Max(map_count(table->types), 1), 1);
}

int
table_room(const Table *table)
{
	return Max(table->capacity - table->waiting, 0);
}

void
table_take_spilled(Table *table,
				   void (*fn) (void *arg, const char *type, int room),
				   void *arg)
{
	int			room = table_room(table);
	dlist_mutable_iter iter;

	if (room == 0)
		return;
	dlist_foreach_modify(iter, &table->spilled)
	{
		Column	   *column = dlist_container(Column, spilled_node, iter.cur);

		if (column->waiting > column->refill_at)
			continue;
		fn(arg, column->type, Min(table->share - column->waiting, room));
		forget_spilled(table, column);
	}
	if (!table->has_left || room <= table->capacity / 2)
		return;
	table->has_left = false;
	fn(arg, NULL, room);
}

bool
table_has_spilled(const Table *table)
{
	return table->has_left ||
		!dlist_is_empty(unconstify(dlist_head *, &table->spilled));
}

void
table_types(const Table *table,
			void (*fn) (void *arg, const char *type, int waiting),
			void *arg)
{
	uint64		place = 0;
	Column	   *column;

	while ((column = map_next(table->types, &place)) != NULL)
		fn(arg, column->type, column->waiting);
}

const uint8 *
table_entry_id(const TableEntry *entry)
{
	return entry->id;
}

int64
table_entry_version(const TableEntry *entry)
{
	return entry->version;
}

const RowPlace *
table_entry_place(const TableEntry *entry)
{
	return &entry->place;
}

int
table_entry_size(const TableEntry *entry)
{
	return entry->size;
}

const char *
table_entry_type(const TableEntry *entry)
{
	return entry->column->type;
}

Limit *
table_entry_limit(const TableEntry *entry)
{
	return entry->column->limit;
}

void *
table_entry_tag(const TableEntry *entry)
{
	return entry->column->tag;
}

TypeCounts *
table_counts(const Table *table, TableEntry *entry)
{
	Column	   *column = entry->column;

	if (column->counts == NULL)
		column->counts = metrics_of(table->metrics, table->bucket, column->type);
	return column->counts;
}
