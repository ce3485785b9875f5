/*-------------------------------------------------------------------------
 *
 * task.h
 *		A grabbed task, and the result of its handler.
 *
 * A Task lives from the answer to its grab until its finish was sent.  Its
 * texts lie behind it in the same allocation, but for unreadable and the context that
 * a span replaced, which it owns.
 * data is the handler's stdin: the raw payload when there
 * is one, else the JSON text, else nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_H
#define TWT_TASK_H

#include "base/row_place.h"

#define TASK_ID_BYTES 16
#define TASK_ID_TEXT 36

/* delay_us of a retry or repeat that leaves the time to the policy */
#define TASK_DELAY_BY_POLICY (-1)

/*
 * Delay of a task whose handler cannot be started, for somebody to repair it.
 */
#define TASK_DELAY_UNFIT SECONDS_TO_US(30)

typedef struct Task
{
	dlist_node	node;			/* for the list of the task's current owner */
	uint8		id[TASK_ID_BYTES];
	char		id_text[TASK_ID_TEXT + 1];
	int64		version;		/* after the grab; finish must name it */
	int64		token;			/* token of the grab */
	RowPlace	place;			/* place of its row after the grab */
	char	   *type;
	char	   *sub_type;		/* NULL: none */
	char	   *key;			/* its unique key; NULL: none */
	char	   *bucket;
	int			priority;
	int			tries;			/* this attempt included, from 1 */
	int			max_tries;		/* 0: a function decides */
	int64		deadline_us;	/* loop time */
	int64		taken_us;		/* when a worker took it up; 0: time runs from
								 * the grab */
	bool		is_ahead;		/* behind others in a worker's pipe: its time
								 * stands still */
	char	   *deadline_text;	/* by the database's clock, ISO 8601 */
	char	   *context;		/* JSON text, NULL: none */
	char	   *data;			/* NULL: none; else data_len bytes and a NUL */
	size_t		data_len;
	int64		size;			/* bytes of its texts, these included */
	bool		is_binary;		/* data is the raw payload, not JSON */
	char	   *unreadable;		/* why its data is missing; NULL: it is not */
	struct Handler *handler;	/* the handler that runs it */
	struct TypeCounts *counts;	/* counts tasks of its type; NULL: nobody does */
	struct Span *span;			/* has its context too; NULL: nobody traces */
	int64		waited_us;		/* from when it could run until it came here;
								 * -1: not known */
	int64		started_us;		/* when its handler began; 0: it has not */
	struct Policy *policy;		/* a reference to the policy at the grab */
	struct Limit *slot;			/* booked; execute.c frees it once */
	bool		has_shared_slot;	/* finish.c frees the slot's shared part */
	void	   *run;			/* the runner's own record of this task */
	dlist_node	run_node;		/* in a list of execute.c */
	int			due_place;		/* in the heap of deadlines.c */
	bool		is_cancelled;	/* an operator asked to cancel it */
} Task;

typedef enum TaskResult
{
	TASK_DONE,					/* finished, kept in the history */
	TASK_DELETE,				/* finished, no trace kept */
	TASK_RETRY,					/* try again after a delay */
	TASK_REPEAT,				/* success; run again, tries start anew */
	TASK_ERROR,					/* given up: a human must look */
	TASK_ACCEPTED,				/* somebody calls finish later */
	TASK_CANCELLED,				/* stopped because an operator cancelled it */
	TASK_RELEASE,				/* never started; goes back unchanged */
	TASK_FAILURE				/* the retry policy decides: retry or error */
} TaskResult;

/* "done", "retry", ...: the words of the worker protocol and of finish. */
extern const char *task_result_name(TaskResult result);
extern bool task_result_parse(const char *name, TaskResult *result) MUSTCHECK;

/*
 * Also accepts "release", by which a worker gives back a task that it has not
 * begun.
 */
extern bool task_result_parse_worker(const char *name, TaskResult *result) MUSTCHECK;

/* The result of a handler for a task.  A function that keeps message copies it. */
typedef struct Verdict
{
	TaskResult	result;
	int64		delay_us;		/* retry, repeat, release */
	const char *message;		/* NULL: none */
	int			nlogged;		/* bytes of it that may be logged; 0: all */
	const char *outcome;		/* a JSON object; NULL: none */
	const char *add;			/* a JSON array of tasks to add; NULL: none */
} Verdict;

/* Frees the task, but not its slot. */
extern void task_free(Task *task);

/* Frees the texts of a verdict that owns them. */
extern void verdict_clear(Verdict *verdict);

#endif							/* TWT_TASK_H */
