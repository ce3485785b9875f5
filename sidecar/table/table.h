/*-------------------------------------------------------------------------
 *
 * table.h
 *		Sorted table of triggers: which task to try next.
 *
 *		from: feed.h (table_push)		to: grab.h (table_pop)
 *
 * Many triggers may wait while few slots are free.  The original's algorithm
 * has a row per priority, in each row a column per type, and in each column
 * triggers in order of arrival.  The columns of a row are ordered by the age
 * of their first trigger.  Rows are tried from most to least urgent, columns
 * from oldest to youngest.  A type found full is not asked again in a less
 * urgent row.
 *
 * Because full types are remembered, only a type's most urgent, oldest trigger
 * ever counts.  So the rows need not exist: a heap of types, keyed by
 * (priority, arrival) of that trigger, gives the same order in O(log types).
 * A type that is full waits at the limit that refused it (slots.h).  Tables
 * may share limits; a freed slot is then the turn of one type in one table.
 * The owner of several tables pops them until none is table_ready().
 *
 * Bounds: a capacity in all, and a share per type, so that a flood of one type
 * leaves room for the others.  When the table is full, the biggest family of
 * types makes room: its biggest type gives up the trigger that would run last.
 * So neither one type nor many types of one family keep others out.  Where
 * nobody takes up more than the others, and in a type that has its share, a
 * more urgent trigger takes the place of the least urgent one.  A trigger that
 * finds no room is dropped and its type remembered as spilled: the database
 * still has the task.  The table knows at most capacity types; of other types
 * it knows only that something was left behind.
 *
 * A popped trigger stays known until table_forget(), so a second trigger for
 * the same task version is dropped while the first is being grabbed.
 *
 * Where tasks rise as they wait (table_age()), the priority of an entry is the
 * one that it has risen to, and its arrival is the moment when it rose.
 *
 * Callbacks must not call these functions or change the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_H
#define TWT_TABLE_H

#include "slots/slots.h"
#include "table/table_entry.h"

typedef struct Table Table;

typedef enum TablePush
{
	TABLE_ADDED,				/* or replaced an older version */
	TABLE_DUPLICATE,			/* that version or a newer one is known */
	TABLE_SPILLED,				/* no room: left to the database */
	TABLE_NO_HANDLER			/* this node does not run the type */
} TablePush;

/*
 * Finds the limit that governs a type, kept for the table, and the owner's tag
 * for it (such as its handler).  False: this node does not run the type.
 */
typedef bool (*TableResolve) (void *arg, const char *type,
							  Limit **limit, void **tag);

/* per_type 0: no share, only the capacity counts. */
extern Table *table_new(int capacity, int per_type,
						TableResolve resolve, void *arg);

/* Frees waiting entries; no entry may be popped. */
extern void table_free(Table *table);

/*
 * Copies the trigger.  A newer version of a waiting task replaces the older
 * one in its place, or goes to the end of another column if its type or
 * priority differs.
 */
extern TablePush table_push(Table *table, const Trigger *trigger);

/* The same for a task whose row the caller has seen. */
extern TablePush table_push_seen(Table *table, const Trigger *trigger,
								 const RowPlace *place);

/*
 * Takes the next trigger whose type has a free slot.  The slot is booked for
 * the caller, who frees it once and calls table_forget() or table_return()
 * once.  NULL: nothing can run now.  Cost: O(log types) per type asked.
 */
extern TableEntry *table_pop(Table *table) MUSTCHECK;

/*
 * Whether table_pop() has a type to ask.  Pushing, freeing slots, raising
 * limits and popping another table can change the answer to true.
 */
extern bool table_ready(const Table *table);

/* The caller is done with a popped entry: frees it. */
extern void table_forget(Table *table, TableEntry *entry);

/*
 * Puts a popped entry back at its former place, since its grab did not happen.
 * The slot must have been freed.  The entry always finds room, beyond the
 * bounds if need be.  It is freed instead if another trigger of its task is
 * known now.
 */
extern void table_return(Table *table, TableEntry *entry);

/*
 * Drops the waiting entries of each type for which fn says so, and forgets
 * that the type spilled.  Popped entries stay.
 */
extern void table_withdraw(Table *table,
						   bool (*fn) (void *arg, const char *type),
						   void *arg);

/*
 * Raises entries that have waited for as long as fn says for their type (0:
 * for ever) by one priority, up to TRIGGER_RISEN.  Call it TABLE_AGINGS times
 * in the shortest such time.
 */
#define TABLE_AGINGS 4
extern void table_age(Table *table, int64 now_us,
					  int64 (*fn) (void *arg, const char *type), void *arg);

/* The most triggers that the table takes. */
extern int	table_capacity(const Table *table);

/*
 * The number of waiting triggers, without popped ones; and how many more may
 * wait.
 */
extern int	table_waiting(const Table *table);
extern int	table_room(const Table *table);

/*
 * The most triggers of one type that the table takes; and how many of each
 * type it could take if it had the same number of all types that it knows.
 */
extern int	table_share(const Table *table);
extern int	table_even_share(const Table *table);

/*
 * The database has more tasks of that type than the caller asked for: the type
 * counts as spilled.
 */
extern void table_spill(Table *table, const char *type);

/*
 * Finds types that spilled and have come down to half of the entries that they
 * had then, once the table has room: the caller should ask the database for up
 * to room more of them.  Calls fn for each, and forgets that they spilled.  A
 * type of NULL stands for the unknown types: something of them was left
 * behind, and more than half of the table has become empty.
 */
extern void table_take_spilled(Table *table,
							   void (*fn) (void *arg, const char *type,
										   int room),
							   void *arg);
extern bool table_has_spilled(const Table *table);

/* Calls fn with each known type, in no order. */
extern void table_types(const Table *table,
						void (*fn) (void *arg, const char *type, int waiting),
						void *arg);

#endif							/* TWT_TABLE_H */
