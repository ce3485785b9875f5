/*-------------------------------------------------------------------------
 *
 * column.h
 *		The triggers of one type: a column through all rows of a table.
 *
 * Private to table.c.  A column holds a FIFO per priority and knows its
 * best entry: the oldest one of the most urgent FIFO that is not empty.
 *
 * A column with something waiting is in one of two places: in the heap of
 * runnable columns of its table, or waiting at the limit that refused it.
 * Its key, the (priority, sequence) of its best entry, is kept in its waiter
 * and serves in both.  A column whose key changes becomes runnable again,
 * and is asked in its new turn.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_COLUMN_H
#define TWT_COLUMN_H

#include "base/heap.h"
#include "common/trigger.h"
#include "pg/wire.h"
#include "slots/slots.h"
#include "table/table.h"

typedef struct Column
{
	SlotWaiter	waiter;			/* first: column.c finds the column from it */
	Limit	   *limit;
	void	   *tag;
	Heap	   *runnable;		/* the table's */
	int			place;			/* in it, or HEAP_NOWHERE */
	int			waiting;		/* entries in the FIFOs */
	struct Family *family;		/* kept by crowd.c, as is the next */
	int			family_place;
	int			popped;			/* entries in use outside, kept by table.c */
	bool		is_spilled;		/* in the table's list, kept by table.c */
	int			refill_at;		/* then more is fetched with so few left */
	dlist_node	spilled_node;
	uint32		priorities;		/* bit p: fifo[p] is not empty */
	int64		aging_us;		/* after so long an entry rises; 0: never */
	int64		due_us;			/* when the next mark is to be set */
	int64		marked_us[TABLE_AGINGS];	/* when each of the marks was set */
	uint64		marks[TABLE_AGINGS];	/* what had come by then, as a ring */
	int			mark;			/* the oldest of them */
	dlist_head	fifo[TRIGGER_PRIORITIES];	/* of TableEntry, by sequence */
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

/* A heap of columns, the one with the best entry first. */
extern void column_init_heap(Heap *runnable);

extern Column *column_new(const char *type, Limit *limit, void *tag,
						  Heap *runnable);

/* It is in neither place; its entries are the caller's. */
extern void column_free(Column *column);

/* The column is not empty. */
extern TableEntry *column_best(Column *column);

/* The youngest one of the least urgent; likewise. */
extern TableEntry *column_worst(Column *column);

/* Its priority; -1: the column is empty. */
extern int	column_least_urgent(const Column *column);

/* Puts the entry at its place by age and the column at its place by key. */
extern void column_link(Column *column, TableEntry *entry);
extern void column_unlink(Column *column, TableEntry *entry);

/*
 * Entries that have been in their FIFO for aging_us, or a quarter more, go to
 * the end of the next more urgent one, as if they had just come; those that
 * come from now on are later than *last_sequence.  To be called that often.
 */
extern void column_age(Column *column, int64 now_us, int64 aging_us,
					   uint64 *last_sequence);

/* Its limit is full: from the runnable to the waiters there. */
extern void column_wait(Column *column, Limit *full);

/* Takes the column out of wherever it is. */
extern void column_withdraw(Column *column);

#endif							/* TWT_COLUMN_H */
