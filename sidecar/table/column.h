/*-------------------------------------------------------------------------
 *
 * column.h
 *		The triggers of one type: a column through all rows of a table.
 *
 * Private to table.c.  A column holds a FIFO per priority and knows its best
 * entry: the oldest entry of the most urgent FIFO that is not empty.
 *
 * A column with waiting entries is in one of two places: in its table's heap
 * of runnable columns, or waiting at the limit that refused it.  Its key, the
 * (priority, sequence) of its best entry, is in its waiter and orders both
 * places.  A column whose key changes becomes runnable again and is tried in
 * its new order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_COLUMN_H
#define TWT_COLUMN_H

#include "base/heap.h"
#include "base/row_place.h"
#include "common/trigger.h"
#include "slots/slots.h"

/*
 * The number of marks that a column sets in the time after which an entry
 * rises.
 */
#define COLUMN_MARKS 4

typedef struct Column
{
	SlotWaiter	waiter;			/* first: column.c finds the column from it */
	Limit	   *limit;
	void	   *tag;
	struct TypeCounts *counts;	/* set by table.c; NULL: not looked up */
	Heap	   *runnable;		/* the table's */
	int			place;			/* position in that heap, or HEAP_NOWHERE */
	int			waiting;		/* entries in the FIFOs */
	struct Family *family;		/* used by crowd.c, like family_place */
	int			family_place;
	int			popped;			/* popped entries, counted by table.c */
	bool		is_spilled;		/* in the table's list spilled; used by
								 * table.c */
	int			refill_at;		/* with this few waiting, fetch more */
	dlist_node	spilled_node;
	uint32		priorities;		/* bit p: fifo[p] is not empty */
	int64		aging_us;		/* an entry rises after this time; 0: never */
	int64		called_us;		/* the last column_age() */
	int64		marked_us[COLUMN_MARKS];	/* when each of the marks was set */
	uint64		marks[COLUMN_MARKS];	/* last sequence at each mark, as a
										 * ring */
	int			mark;			/* the oldest mark */
	dlist_head	fifo[TRIGGER_PRIORITIES];	/* TableEntries by sequence */
	char		type[FLEXIBLE_ARRAY_MEMBER];
} Column;

typedef struct TableEntry
{
	dlist_node	node;			/* in a FIFO, unless popped */
	Column	   *column;
	uint64		sequence;		/* order of arrival */
	int64		version;
	int32		size;
	uint8		priority;
	bool		is_popped;
	RowPlace	place;
	uint8		id[TRIGGER_ID_BYTES];
} TableEntry;

/* Initializes a heap of columns, the one with the best entry first. */
extern void column_init_heap(Heap *runnable);

extern Column *column_new(const char *type, Limit *limit, void *tag,
						  Heap *runnable);

/* The column must be in neither place.  The caller frees its entries. */
extern void column_free(Column *column);

/* An entry for the trigger; the caller links it, and frees it in the end. */
extern TableEntry *column_new_entry(Column *column, const Trigger *trigger,
									const RowPlace *place, uint64 sequence);

/* Takes over what a newer trigger says of the task. */
extern void column_renew_entry(TableEntry *entry, const Trigger *trigger, const RowPlace *place);

/* Whether the trigger belongs where the entry is. */
extern bool column_is_place(const TableEntry *entry, const Trigger *trigger);

/* The best entry; the column must not be empty. */
extern TableEntry *column_best(Column *column);

/* The youngest of the least urgent entries; the column must not be empty. */
extern TableEntry *column_worst(Column *column);

/* The priority of column_worst(); -1: the column is empty. */
extern int	column_least_urgent(const Column *column);

/* Add or remove an entry, by age, and move the column to its place by key. */
extern void column_link(Column *column, TableEntry *entry);
extern void column_unlink(Column *column, TableEntry *entry);

/*
 * Moves entries that have been in their FIFO for aging_us, or up to a quarter
 * longer, to the end of the next more urgent FIFO, with a new sequence.  Later
 * entries get a sequence above *last_sequence.  Call it COLUMN_MARKS times per
 * aging_us, or more often: then entries rise up to four calls later still, if
 * no quarter is a whole number of calls.
 */
extern void column_age(Column *column, int64 now_us, int64 aging_us,
					   uint64 *last_sequence);

/* Moves a runnable column to the waiters of a full limit. */
extern void column_wait(Column *column, Limit *full);

/* Removes the column from whichever place it is in. */
extern void column_withdraw(Column *column);

#endif							/* TWT_COLUMN_H */
