/*-------------------------------------------------------------------------
 *
 * table.h
 *		A sorted table of triggers, which tells the task to try next.
 *
 *		from: feed.h (table_push)		to: grab.h (table_pop)
 *
 * Many triggers may wait while few slots are free.  Think of a row per
 * priority, in each row a column per type, and in each column triggers in
 * order of arrival.  The columns of a row are ordered by the age of their
 * first trigger.  Rows are tried from most to least urgent, columns from
 * oldest to youngest.  A type found full is not tried again in a less urgent
 * row.
 *
 * Since a full type is skipped, only the most urgent, oldest trigger of each
 * type matters.  So the rows need not exist: a heap of types, keyed by
 * (priority, arrival) of that trigger, gives the same order in O(log types).
 * A full type waits at the limit that refused it (slots.h).  Tables may share
 * limits; a freed slot then wakes one type in one table.  The owner of several
 * tables pops from them until none is table_ready().
 *
 * Bounds: a total capacity, and a share per type, so that a flood of one type
 * leaves room for the others.  When the table is full, the biggest family of
 * types makes room: its biggest type gives up the trigger that would run last.
 * So neither one type nor many types of one family keep others out.  If no
 * type is bigger than the others, or a type has its share, a more urgent
 * trigger replaces the least urgent one.  A trigger that finds no room is
 * dropped and its type marked as spilled: the database still has the task.
 * The table has at most capacity types; for all other types it only notes that
 * tasks were left in the database.
 *
 * A popped trigger stays known until table_forget(), so a second trigger for
 * the same task version is dropped while the first is being grabbed.
 *
 * If waiting tasks rise (table_age()), an entry has the priority that it has
 * risen to, and the time when it rose as its arrival.
 *
 * Callbacks must not call these functions or change the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TABLE_H
#define TWT_TABLE_H

#include "base/row_place.h"
#include "common/trigger.h"
#include "metrics/metrics.h"
#include "slots/slots.h"

typedef struct Table Table;

/* A trigger in the table, linked to the data of its type. */
typedef struct TableEntry TableEntry;

typedef enum TablePush
{
	TABLE_ADDED,				/* added, or replaced an older version */
	TABLE_DUPLICATE,			/* this version or a newer one is known */
	TABLE_SPILLED,				/* no room: the task stays in the database */
	TABLE_NO_HANDLER			/* this node has no handler for the type */
} TablePush;

/*
 * Finds the limit of a type, kept for the table, and the owner's tag for the
 * type (such as its handler).  False: this node has no handler for the type.
 */
typedef bool (*TableResolve) (void *arg, const char *type,
							  Limit **limit, void **tag);

/* per_type 0: no share, only the capacity counts. */
extern Table *table_new(int capacity, int per_type,
						TableResolve resolve, void *arg);

/* Counts its tasks as tasks of that bucket, whose name the caller keeps. */
extern void table_set_metrics(Table *table, Metrics *metrics, const char *bucket);

/* Frees the table with its waiting entries.  No entry may be popped. */
extern void table_free(Table *table);

/*
 * Copies the trigger.  A newer version of a waiting task replaces the older
 * one in its place, or goes to the end of another column if its type or
 * priority differs.  place: where the caller has read the row; NULL: it has not.
 */
extern TablePush table_push(Table *table, const Trigger *trigger, const RowPlace *place);

/*
 * How many waiting tasks and new triggers have lost their place so far, for
 * lack of room.  Rows that the caller has read and that found none do not count.
 */
extern uint64 table_turned_away(const Table *table);

/*
 * Whether fewer triggers of the trigger's type wait than slots are free for it.
 * Triggers of other types that wait for the same limit do not count, so this is
 * a guess where types share one.
 */
extern bool table_can_start(Table *table, const Trigger *trigger);

/*
 * Takes the next trigger whose type has a free slot.  The slot is booked for
 * the caller, who frees it once and calls table_forget() or table_return()
 * once.  NULL: no task can run now.  Cost: O(log types) per type tried.
 */
extern TableEntry *table_pop(Table *table) MUSTCHECK;

/*
 * Whether table_pop() has a type to try.  Pushes, freed slots, raised limits
 * and pops from another table can change the answer to true.
 */
extern bool table_ready(const Table *table);

/* Frees a popped entry that the caller is done with. */
extern void table_forget(Table *table, TableEntry *entry);

/*
 * Puts a popped entry back at its former place, since its grab did not happen.
 * The slot must have been freed.  The entry is taken back even beyond the
 * bounds.  It is freed instead if another trigger of its task is known by now.
 */
extern void table_return(Table *table, TableEntry *entry);

/*
 * Drops the waiting entries of each type for which fn returns true, and
 * forgets that the type spilled.  Popped entries stay.
 */
extern void table_withdraw(Table *table,
						   bool (*fn) (void *arg, const char *type),
						   void *arg);

/*
 * Raises entries by one priority, up to TRIGGER_RISEN, when they have waited
 * for the time that fn returns for their type (0: never).  Call it
 * TABLE_AGINGS times in the shortest of these times.
 */
#define TABLE_AGINGS 4
extern void table_age(Table *table, int64 now_us,
					  int64 (*fn) (void *arg, const char *type), void *arg);

/* The most triggers that the table takes. */
extern int	table_capacity(const Table *table);

/*
 * The number of waiting triggers, without popped ones, and the number that may
 * be added.
 */
extern int	table_waiting(const Table *table);
extern int	table_room(const Table *table);

/* Whether the table knows no task, not even a popped one. */
extern bool table_is_empty(const Table *table);

/*
 * The most triggers of one type that the table takes, and the number per type
 * if all types that it has got an equal part.
 */
extern int	table_share(const Table *table);
extern int	table_even_share(const Table *table);

/*
 * Marks a type as spilled: the database has more tasks of the type than the
 * caller asked for.
 */
extern void table_spill(Table *table, const char *type);

/*
 * Once the table has room, calls fn for each spilled type that is down to half
 * of the entries it had when it spilled, and clears its mark.  The caller
 * should ask the database for up to room more tasks of the type.  Type NULL
 * stands for all types without a column: tasks of them were left in the
 * database, and the table is now more than half empty.
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

/* ---- an entry ---- */

/*
 * The content of the trigger.  The text of the type lives as long as the
 * entry.
 */
extern const uint8 *table_entry_id(const TableEntry *entry);
extern int64 table_entry_version(const TableEntry *entry);
extern int	table_entry_size(const TableEntry *entry);
extern const RowPlace *table_entry_place(const TableEntry *entry);
extern const char *table_entry_type(const TableEntry *entry);

/* The counters of its type; NULL: nobody counts.  Looked up once for many entries. */
extern TypeCounts *table_counts(const Table *table, TableEntry *entry);

/* The answer of the table's resolve function for the type. */
extern Limit *table_entry_limit(const TableEntry *entry);
extern void *table_entry_tag(const TableEntry *entry);

#endif							/* TWT_TABLE_H */
