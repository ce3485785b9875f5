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

#include "common/trigger.h"
#include "heap.h"
#include "slots.h"

typedef struct Column
{
	SlotWaiter	waiter;			/* first: column.c finds the column from it */
	Limit	   *limit;
	void	   *tag;
	Heap	   *runnable;		/* the table's */
	int			place;			/* in it, or HEAP_NOWHERE */
	int			waiting;		/* entries in the FIFOs */
	int			popped;			/* entries in use outside, kept by table.c */
	bool		is_spilled;		/* in the table's list, kept by table.c */
	dlist_node	spilled_node;
	uint32		priorities;		/* bit p: fifo[p] is not empty */
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

/* Puts the entry at its place by age and the column at its place by key. */
extern void column_link(Column *column, TableEntry *entry);
extern void column_unlink(Column *column, TableEntry *entry);

/* Its limit is full: from the runnable to the waiters there. */
extern void column_wait(Column *column, Limit *full);

/* Takes the column out of wherever it is. */
extern void column_withdraw(Column *column);

#endif							/* TWT_COLUMN_H */
