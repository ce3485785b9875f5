/*-------------------------------------------------------------------------
 *
 * queued.h
 *		The index of runnable tasks: task_queued.
 *
 *		to: sweep.c, count.c, unfit.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_QUEUED_H
#define TWT_QUEUED_H

#include "access/genam.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"

/* Its columns, in order. */
enum
{
	QUEUED_BUCKET = 1,
	QUEUED_TYPE,
	QUEUED_PRIORITY,
	QUEUED_ID
};

typedef struct Queued
{
	Relation	table;
	Relation	index;
	TupleTableSlot *row;
	bool		shows_index;	/* scans give the entries of the index, too */
} Queued;

extern void queued_open(Queued *queued);
extern void queued_close(Queued *queued);

/* The last of the given columns has that value, a greater one, or either. */
typedef enum QueuedFrom
{
	QUEUED_EXACTLY,
	QUEUED_BEYOND,
	QUEUED_FROM
} QueuedFrom;

/*
 * Scans the tasks that have the given values in that many leading columns.  The
 * caller ends the scan.
 */
extern IndexScanDesc queued_scan(const Queued *queued, const Datum *values, int columns,
								 QueuedFrom how);

#endif							/* TWT_QUEUED_H */
