/*-------------------------------------------------------------------------
 *
 * finish_item.h
 *		An outcome of a task on its way to the database.
 *
 *		from: finish.h			to: finish_session.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_ITEM_H
#define TWT_FINISH_ITEM_H

#include "base/task.h"
#include "pg/wire.h"

/* For an outcome that the database judges. */
typedef struct Judgement
{
	Task		task;			/* for the log, and its policy: a reference */
	int			nlogged;		/* as in Verdict */
	int64		since_us;		/* when it was reported */
	int			losses;			/* sessions that were lost over it */
} Judgement;

typedef enum FinishAnswer
{
	FINISH_REFUSED,				/* or none yet */
	FINISH_ACCEPTED,
	FINISH_LATER				/* there was no time to judge it */
} FinishAnswer;

typedef struct FinishItem
{
	dlist_node	node;
	uint8		id[TASK_ID_BYTES];
	int64		version;
	int64		grab;			/* its token */
	RowPlace	place;
	TaskResult	result;
	int64		delay_ms;		/* -1: the policy says */
	char	   *message;
	struct Limit *slot;			/* its shared part is booked; NULL: none */
	Judgement  *judgement;		/* NULL: it is not judged */
	int64		token;			/* 0: never sent */
	bool		goes_alone;		/* the server refused a statement it was in */
	FinishAnswer answer;
} FinishItem;

/*
 * From what a handler made of a task; copies what it needs of both.  The
 * shared part of the task's slot is the item's then.
 */
extern FinishItem *finish_item_new(const Task *task, const Verdict *verdict, int64 now_us);
extern void finish_item_free(FinishItem *item);

/* The parameters of finish_tasks(), for n items. */
extern void finish_items_add_ids(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_outcomes(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_grabs(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_retries(FinishItem *const *items, int n, WireParams *params);

#endif							/* TWT_FINISH_ITEM_H */
