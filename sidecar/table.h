/*-------------------------------------------------------------------------
 *
 * table.h
 *		Sorted table of triggers: which task to try next.
 *
 *		from: queue.h (table_push)		to: grab.h (table_pop)
 *
 * Many triggers may wait while few slots are free.  The table is, as the
 * original's algorithm describes it, a row per priority, in a row a column
 * per type, in a column triggers in order of arrival, a row's columns ordered
 * by the age of their first trigger.  Rows are tried from most to least
 * urgent, columns from oldest to youngest; a type found full is not asked
 * again in a less urgent row.
 *
 * That memory of full types means that only a type's most urgent, oldest
 * trigger ever counts.  So the rows need not exist: a heap of types keyed by
 * (priority, arrival) of that trigger gives the same order in O(log types),
 * and a type that is full waits at the limit that refused it (slots.h).
 * Tables may share limits; a freed slot is then the turn of one type in one
 * table.  Whoever owns several pops them until none is table_ready().
 *
 * Bounds: capacity in all, and a share per type, so that a flood of one type
 * leaves room for the others.  A trigger that finds no room is dropped and
 * its type remembered as spilled: the database still has the task.  At most
 * capacity types are remembered so; the sweep finds the tasks of the rest.
 *
 * A popped trigger stays known until table_forget(), so that a second
 * trigger for the same task version is dropped while the first is being
 * grabbed.
 *
 * The functions that callbacks are given to must not be called, nor the
 * table be changed, from inside the callback.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_H
#define TWT_TABLE_H

#include "common/trigger.h"
#include "slots.h"

typedef struct Table Table;

/* A trigger in the table, with what the table knows about its type. */
typedef struct TableEntry TableEntry;

typedef enum TablePush
{
	TABLE_ADDED,				/* or took the place of an older version */
	TABLE_DUPLICATE,			/* that version or a newer one is known */
	TABLE_SPILLED,				/* no room: left to the database */
	TABLE_NO_HANDLER			/* this node does not run the type */
} TablePush;

/*
 * The limit that governs a type, kept for the table, and the owner's tag for
 * it (such as its handler).  False: this node does not run the type.
 */
typedef bool (*TableResolve) (void *arg, const char *type,
							  Limit **limit, void **tag);

/* per_type 0: no share, only the capacity counts. */
extern Table *table_new(int capacity, int per_type,
						TableResolve resolve, void *arg);

/* Frees what waits in it; no entry may be popped. */
extern void table_free(Table *table);

/*
 * Copies the trigger.  A newer version of a waiting task replaces the older
 * one in its place, or goes to the end of another column if its type or
 * priority is another.
 */
extern TablePush table_push(Table *table, const Trigger *trigger);

/*
 * Takes the next trigger whose type has a free slot; the slot is booked for
 * the caller, who frees it once and calls table_forget() or table_return()
 * once.  NULL: nothing can run now.  Cost: O(log types) per type asked.
 */
extern TableEntry *table_pop(Table *table) MUSTCHECK;

/*
 * Whether table_pop() has a type to ask.  Pushing, freeing slots, raising
 * limits and popping another table can make it so.
 */
extern bool table_ready(const Table *table);

/* Done with a popped entry: frees it. */
extern void table_forget(Table *table, TableEntry *entry);

/*
 * Puts a popped entry back at the place it had (its grab did not happen);
 * the slot must have been freed.  It always finds room, beyond the bounds if
 * need be.  It is freed instead if another trigger of its task is known now.
 */
extern void table_return(Table *table, TableEntry *entry);

/* What the trigger said; the type's text lives as long as the entry. */
extern const uint8 *table_entry_id(const TableEntry *entry);
extern int64 table_entry_version(const TableEntry *entry);
extern int	table_entry_size(const TableEntry *entry);
extern int	table_entry_priority(const TableEntry *entry);
extern const char *table_entry_type(const TableEntry *entry);

/* What the table's resolve function said about the type. */
extern Limit *table_entry_limit(const TableEntry *entry);
extern void *table_entry_tag(const TableEntry *entry);

/* Triggers waiting, popped ones not counted; and how many more may. */
extern int	table_waiting(const Table *table);
extern int	table_room(const Table *table);

/* How many of one type the table takes at most. */
extern int	table_share(const Table *table);

/*
 * The database has more of that type than was asked for: as if one of its
 * triggers had found no room.
 */
extern void table_spill(Table *table, const char *type);

/*
 * Types that spilled and have come down to half of their share (or to nothing
 * waiting), once the table has room: the database should be asked for up to
 * room more of them.  Calls fn for each, and forgets that they spilled.
 */
extern void table_take_spilled(Table *table,
							   void (*fn) (void *arg, const char *type,
										   int room),
							   void *arg);
extern bool table_has_spilled(const Table *table);

/* Types that are now at or above their share: a sweep skips them. */
extern void table_full_types(const Table *table,
							 void (*fn) (void *arg, const char *type),
							 void *arg);

/* Calls fn with each known type, in no order, for logs and tests. */
extern void table_types(const Table *table,
						void (*fn) (void *arg, const char *type, int waiting),
						void *arg);

#endif							/* TWT_TABLE_H */
