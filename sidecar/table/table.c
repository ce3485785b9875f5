/*-------------------------------------------------------------------------
 *
 * table.c
 *		Sorted table of triggers: which task to try next.
 *
 *		from: feed.h (table_push)		to: grab.h (table_pop)
 *
 * This file is the bookkeeping: the known tasks and types, the bounds, and
 * what spilled.  column.c keeps the order, slots.c the waiting.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/hashfn.h"
#include "common/logging.h"

#include "table/column.h"
#include "table/crowd.h"
#include "table/table.h"

StaticAssertDecl(TABLE_AGINGS == COLUMN_MARKS, "a column marks its entries at each table_age()");

/* The newest known trigger of a task. */
typedef struct KnownTask
{
	const uint8 *id;			/* belongs to the entry */
	TableEntry *entry;
	uint32		hash;
	char		status;
} KnownTask;

#define SH_PREFIX known
#define SH_ELEMENT_TYPE KnownTask
#define SH_KEY_TYPE const uint8 *
#define SH_KEY id
#define SH_HASH_KEY(tb, key) hash_bytes(key, TRIGGER_ID_BYTES)
#define SH_EQUAL(tb, a, b) (memcmp(a, b, TRIGGER_ID_BYTES) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct KnownType
{
	const char *type;			/* belongs to the column */
	Column	   *column;
	uint32		hash;
	char		status;
} KnownType;

#define SH_PREFIX types
#define SH_ELEMENT_TYPE KnownType
#define SH_KEY_TYPE const char *
#define SH_KEY type
#define SH_HASH_KEY(tb, key) hash_bytes((const uint8 *) key, strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct Table
{
	int			capacity;
	int			share;			/* of one type */
	int			waiting;
	TableResolve resolve;
	void	   *arg;
	known_hash *known;			/* by task id */
	types_hash *types;			/* by name */
	Heap		runnable;		/* of Column */
	Crowd	   *crowd;
	dlist_head	spilled;		/* of Column */
	bool		has_left;		/* something of unknown types was left behind */
};

/* Shared by all tables: entries that wait at a shared limit compare by age. */
static uint64 last_sequence = 0;

Table *
table_new(int capacity, int per_type, TableResolve resolve, void *arg)
{
	Table	   *table = palloc0(sizeof(Table));

	table->capacity = capacity;
	table->share = per_type > 0 ? Min(per_type, capacity) : capacity;
	table->resolve = resolve;
	table->arg = arg;
	table->known = known_create(64, NULL);
	table->types = types_create(16, NULL);
	column_init_heap(&table->runnable);
	table->crowd = crowd_new();
	dlist_init(&table->spilled);
	return table;
}

/*
 * Columns leave one by one, and each hands on its turn: at a limit shared with
 * another table, somebody may wait for the slot that this column was woken
 * for.
 */
static void
withdraw_columns(Table *table)
{
	types_iterator iter;
	KnownType  *known;

	types_start_iterate(table->types, &iter);
	while ((known = types_iterate(table->types, &iter)) != NULL)
	{
		Assert(known->column->popped == 0);
		column_withdraw(known->column);
		slots_yield(known->column->limit);
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
	known_iterator task;
	KnownTask  *known_task;
	types_iterator type;
	KnownType  *known_type;

	withdraw_columns(table);
	known_start_iterate(table->known, &task);
	while ((known_task = known_iterate(table->known, &task)) != NULL)
		pfree(known_task->entry);
	types_start_iterate(table->types, &type);
	while ((known_type = types_iterate(table->types, &type)) != NULL)
		free_column(table, known_type->column);
	known_destroy(table->known);
	types_destroy(table->types);
	heap_clear(&table->runnable);
	crowd_free(table->crowd);
	pfree(table);
}

static Column *
add_column(Table *table, const char *type, Limit *limit, void *tag)
{
	Column	   *column = column_new(type, limit, tag, &table->runnable);
	bool		found;

	types_insert(table->types, column->type, &found)->column = column;
	Assert(!found);
	crowd_join(table->crowd, column);
	return column;
}

/* Frees the column if nothing is left to know about its type. */
static void
release_column(Table *table, Column *column)
{
	if (column->waiting > 0 || column->popped > 0 || column->is_spilled)
		return;
	types_delete(table->types, column->type);
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

/* There are columns enough: forgets those that only remember a spill. */
static void
limit_remembered(Table *table, Column *column)
{
	if (table->types->members <= (uint32) table->capacity)
		return;
	table->has_left = true;
	forget_spilled(table, column);
}

/* The entry becomes the newest known one of its task. */
static void
know_entry(Table *table, TableEntry *entry)
{
	bool		found;
	KnownTask  *known = known_insert(table->known, entry->id, &found);

	known->id = entry->id;
	known->entry = entry;
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

/* Frees an entry that neither waits nor is known any more. */
static void
free_entry(Table *table, TableEntry *entry)
{
	Column	   *column = entry->column;

	pfree(entry);
	release_column(table, column);
}

/*
 * Drops a waiting entry.  Its column may have been woken because of it, so
 * another column gets the turn.
 */
static void
drop_entry(Table *table, TableEntry *entry)
{
	known_delete(table->known, entry->id);
	unlink_entry(table, entry);
	slots_yield(entry->column->limit);
	free_entry(table, entry);
}

/* Makes room in that column, and marks the column as spilled. */
static void
push_out(Table *table, Column *column)
{
	remember_spilled(table, column, (column->waiting - 1) / 2);
	drop_entry(table, column_worst(column));
}

/* Chooses who makes room: in a type that has its share, or in a full table. */
static Column *
who_makes_room(Table *table, Column *column, int priority)
{
	if (column->waiting < table->share)
		return crowd_makes_room(table->crowd, column, priority);
	return column_least_urgent(column) > priority ? column : NULL;
}

/* False: there is no place for one more entry of that column and priority. */
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
	entry = palloc(sizeof(TableEntry));
	entry->column = column;
	entry->sequence = ++last_sequence;
	entry->version = trigger->version;
	entry->size = trigger->size;
	entry->priority = trigger->priority;
	entry->is_popped = false;
	entry->place = *place;
	memcpy(entry->id, trigger->id, TRIGGER_ID_BYTES);
	know_entry(table, entry);
	link_entry(table, entry);
	return TABLE_ADDED;
}

static TablePush
push_new(Table *table, const Trigger *trigger, const RowPlace *place)
{
	KnownType  *known = types_lookup(table->types, trigger->type);
	Column	   *column;
	Limit	   *limit;
	void	   *tag;
	TablePush	result;

	if (known != NULL)
		return add_entry(table, known->column, trigger, place);
	if (!table->resolve(table->arg, trigger->type, &limit, &tag))
		return TABLE_NO_HANDLER;
	column = add_column(table, trigger->type, limit, tag);
	result = add_entry(table, column, trigger, place);
	if (result == TABLE_SPILLED)
		limit_remembered(table, column);
	return result;
}

void
table_spill(Table *table, const char *type)
{
	KnownType  *known = types_lookup(table->types, type);
	Limit	   *limit;
	void	   *tag;

	if (known != NULL)
		remember_spilled(table, known->column, known->column->waiting / 2);
	else if (table->types->members >= (uint32) table->capacity)
		table->has_left = true;
	else if (table->resolve(table->arg, type, &limit, &tag))
		remember_spilled(table, add_column(table, type, limit, tag), 0);
}

static bool
same_place(const TableEntry *entry, const Trigger *trigger)
{
	return entry->priority == trigger->priority &&
		strcmp(entry->column->type, trigger->type) == 0;
}

TablePush
table_push_seen(Table *table, const Trigger *trigger, const RowPlace *place)
{
	KnownTask  *known = known_lookup(table->known, trigger->id);
	TableEntry *entry = known != NULL ? known->entry : NULL;

	Assert(trigger->priority < TRIGGER_PRIORITIES);
	if (entry != NULL && entry->version >= trigger->version)
		return TABLE_DUPLICATE;
	if (entry != NULL && !entry->is_popped)
	{
		if (same_place(entry, trigger))
		{
			entry->version = trigger->version;
			entry->size = trigger->size;
			entry->place = *place;
			return TABLE_ADDED;
		}
		drop_entry(table, entry);
	}
	return push_new(table, trigger, place);
}

TablePush
table_push(Table *table, const Trigger *trigger)
{
	static const RowPlace nowhere;

	return table_push_seen(table, trigger, &nowhere);
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
	KnownTask  *known = known_lookup(table->known, entry->id);

	Assert(entry->is_popped);
	if (known != NULL && known->entry == entry)
		known_delete_item(table->known, known);
	entry->column->popped--;
	free_entry(table, entry);
}

void
table_return(Table *table, TableEntry *entry)
{
	KnownTask  *known = known_lookup(table->known, entry->id);

	Assert(entry->is_popped);
	entry->column->popped--;
	if (known != NULL && known->entry != entry)
	{
		free_entry(table, entry);
		return;
	}
	entry->is_popped = false;
	know_entry(table, entry);
	link_entry(table, entry);
}

/* Frees the column if none of its entries is popped. */
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
	Column	  **columns = palloc(Max(table->types->members, 1) * sizeof(Column *));
	int			n = 0;
	types_iterator iter;
	KnownType  *known;

	types_start_iterate(table->types, &iter);
	while ((known = types_iterate(table->types, &iter)) != NULL)
		if (fn(arg, known->type))
			columns[n++] = known->column;
	for (int i = 0; i < n; i++)
		empty_column(table, columns[i]);
	pfree(columns);
}

void
table_age(Table *table, int64 now_us, int64 (*fn) (void *arg, const char *type),
		  void *arg)
{
	types_iterator iter;
	KnownType  *known;

	types_start_iterate(table->types, &iter);
	while ((known = types_iterate(table->types, &iter)) != NULL)
	{
		column_age(known->column, now_us, fn(arg, known->type), &last_sequence);
		crowd_count(table->crowd, known->column, 0);
	}
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

int
table_entry_priority(const TableEntry *entry)
{
	return entry->priority;
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

int
table_waiting(const Table *table)
{
	return table->waiting;
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
	return Max(table->capacity / Max((int) table->types->members, 1), 1);
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
	types_iterator iter;
	KnownType  *known;

	types_start_iterate(table->types, &iter);
	while ((known = types_iterate(table->types, &iter)) != NULL)
		fn(arg, known->type, known->column->waiting);
}
