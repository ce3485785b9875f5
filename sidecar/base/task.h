/*-------------------------------------------------------------------------
 *
 * task.h
 *		A grabbed task, and what its handler made of it.
 *
 * A Task lives from the answer to its grab until its finish was sent.  Its
 * texts belong to it; data is what the handler reads on stdin: the raw
 * payload when there is one, else the JSON text, else nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_H
#define TWT_TASK_H

#include "base/row_place.h"
#include "base/task_result.h"

#define TASK_ID_BYTES 16
#define TASK_ID_TEXT 36

/* delay_us of a retry or repeat that leaves the time to the policy */
#define TASK_DELAY_BY_POLICY (-1)

/* A handler that is not there: until somebody has mended it. */
#define TASK_DELAY_UNFIT SECONDS_TO_US(30)

typedef struct Task
{
	dlist_node	node;			/* for whoever holds the task now */
	uint8		id[TASK_ID_BYTES];
	char		id_text[TASK_ID_TEXT + 1];
	int64		version;		/* after the grab: what finish must name */
	int64		token;			/* the grab's */
	RowPlace	place;			/* where the grab left its row */
	char	   *type;
	char	   *sub_type;		/* NULL: none */
	char	   *bucket;
	int			priority;
	int			tries;			/* this one included, from 1 */
	int			max_tries;		/* 0: a function decides */
	int64		deadline_us;	/* loop time */
	int64		taken_us;		/* when a worker took it up; 0: its time runs
								 * from the grab */
	bool		is_ahead;		/* in the pipe of a worker that does others
								 * first: its time does not run */
	char	   *deadline_text;	/* the database's, ISO 8601 */
	char	   *context;		/* JSON text, NULL: none */
	char	   *data;			/* NULL: none; else data_len bytes and a NUL */
	size_t		data_len;
	bool		is_binary;		/* data is the raw payload, not JSON */
	char	   *unreadable;		/* why its data could not be had; NULL: it was */
	struct Handler *handler;	/* the one that runs it */
	struct Policy *policy;		/* a reference: as it was when grabbed */
	struct Limit *slot;			/* booked; freed once, by execute.c */
	bool		has_shared_slot;	/* ... whose shared part finish.c frees */
	void	   *run;			/* the runner's own record of this task */
	dlist_node	run_node;		/* execute.c's */
	int			due_place;		/* execute.c's, by deadline */
	bool		is_doubtful;	/* its grab may have been lost by the server */
	bool		is_cancelled;	/* an operator wants it to end */
} Task;

/* The result of a handler for a task.  A function that keeps message copies it. */
typedef struct Verdict
{
	TaskResult	result;
	int64		delay_us;		/* retry, repeat, release */
	const char *message;		/* NULL: none */
	int			nlogged;		/* bytes of it that the log may have; 0: all */
} Verdict;

/* Frees the task and all it owns, but not its slot. */
extern void task_free(Task *task);

#endif							/* TWT_TASK_H */
