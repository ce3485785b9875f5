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

/* For an outcome that the database judges, or after which a function may move its task on. */
typedef struct Judgement
{
	Task		task;			/* for the log; holds a reference to its
								 * policy */
	int			nlogged;		/* as in Verdict */
	int64		since_us;		/* when the verdict came */
	int			losses;			/* how often its session was lost */
} Judgement;

typedef enum FinishAnswer
{
	FINISH_REFUSED,				/* or none yet */
	FINISH_ACCEPTED,
	FINISH_LATER				/* no time for functions: send it again */
} FinishAnswer;

typedef struct FinishItem
{
	dlist_node	node;
	uint8		id[TASK_ID_BYTES];
	int64		version;
	int64		grab;			/* token of the grab */
	RowPlace	place;
	TaskResult	result;
	int64		delay_ms;		/* -1: the policy decides */
	char	   *message;
	char	   *outcome;		/* a JSON object; NULL: none */
	char	   *add;			/* a JSON array of tasks to add; NULL: none */
	struct TypeCounts *counts;	/* counts its end; NULL: nobody does */
	struct Span *span;			/* tells its end; NULL: nobody traces */
	struct Limit *slot;			/* the slot whose shared part is booked; NULL:
								 * none */
	Judgement  *judgement;		/* NULL: it is logged at once */
	int64		token;			/* 0: never sent */
	int			nreplaced;		/* calls of lacking_replace() */
	bool		goes_alone;		/* sent alone: the server refused its
								 * statement */
	bool		is_postponed;	/* the database would not store it */
	FinishAnswer answer;
} FinishItem;

/*
 * Makes an item from a task and its verdict, and copies what it needs of them.
 * The item takes over the shared part of the task's slot.
 */
extern FinishItem *finish_item_new(const Task *task, const Verdict *verdict, int64 now_us);
extern void finish_item_free(FinishItem *item);

/* The length of its texts. */
extern size_t finish_item_bytes(const FinishItem *item);

/*
 * Tokens count only with the incarnation that gave them.  Without them the items
 * of the list match no grab.
 */
extern void finish_items_drop_tokens(dlist_head *items);

/*
 * The server refused the item alone.  If its error blames the content, replaces
 * what the server cannot store: in the message a character that the database's
 * encoding lacks, else the whole message, the outcome and the tasks to add.
 * Without the last two a task may not count as done, and its handler may
 * have done its work, so the task goes to ERROR.  Nothing remains that the server
 * could not read.  Returns whether it replaced a character only, which it does a few
 * times at most for an item.
 */
extern bool finish_item_replace_bad(FinishItem *item, const PGresult *refusal);

/* Logs and counts that the database refused the outcome. */
extern void finish_item_log_refused(const FinishItem *item);

/*
 * Sorts by id, the order in which the database locks them.  A crash of the server
 * may undo a grab, and the next grab of the task gives the same version.  So a
 * task may have several items, and answers name it by its id.  Returns how many
 * items come first, each of another task; the rest needs another call.
 */
extern int	finish_items_sort(FinishItem **items, int n);

/* Finds by id among such items. */
extern FinishItem *finish_items_find(FinishItem *const *items, int n, const uint8 *id);

/* Add the parameters of finish_tasks() for n items. */
extern void finish_items_add_ids(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_outcomes(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_grabs(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_retries(FinishItem *const *items, int n, WireParams *params);
extern void finish_items_add_json(FinishItem *const *items, int n, WireParams *params);

#endif							/* TWT_FINISH_ITEM_H */
