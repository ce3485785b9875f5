/*-------------------------------------------------------------------------
 *
 * on_end.h
 *		Ends tasks together with the on_end functions of their policies.
 *
 *		from: finish.c, end_tasks.c		to: policy_call.h
 *
 * A function of on_end runs in the transaction that ends its tasks, so both
 * happen or neither.  Such a function may fail, and must then stop no other task.
 * So the tasks of a statement end in a subtransaction, and a function gets all of
 * its tasks in one call.  If a call fails, the subtransaction is undone and each
 * task ends in one of its own.  A task whose function fails alone becomes ERROR,
 * and no function hears of that.
 *
 * Deadlocks, serialization failures and shortages of the server are nobody's
 * fault: such a task stays as it is, for another statement.  A statement with one
 * task raises them.  A task also stays as it is while an open transaction claims
 * the key of a task that its reply adds.  A cancel of the statement is raised.
 *
 * A database without on_end has no subtransaction, unless a reply adds tasks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ON_END_H
#define TWT_ON_END_H

#include "nodes/execnodes.h"
#include "utils/jsonb.h"

/* The tasks that one attempt has ended. */
typedef struct Ends Ends;

#define EVERY_TASK (-1)

typedef struct EndJob
{
	void	   *arg;
	int			ntasks;

	/*
	 * Ends the task with that number, or EVERY_TASK.  With a fault, ends it
	 * as ERROR for that reason.
	 */
	void		(*end) (void *arg, int which, const char *fault, Ends *ends);

	/* The task stays as it is; NULL: nothing is to do. */
	void		(*leave) (void *arg, int which, Ends *ends);

	bool		adds;			/* replies add tasks */
	bool		calls_none;		/* no function hears of these ends */
} EndJob;

/* The columns of the statement's result; some have no delay. */
enum
{
	RESULT_ID,
	RESULT_VERSION,
	RESULT_STATUS,
	RESULT_DELAY_MS,
	RESULT_COLUMNS
};

/*
 * A row of the statement's result.  If a function moves on a task that became ERROR,
 * its row gets the version and status that follow, and the delay of a WAITING task.
 */
extern void ends_report(Ends *ends, Datum *values, bool *nulls);

/* Whether a function wants to hear of tasks of that type, a text. */
extern bool ends_want(const Ends *ends, Datum type);

/* Takes a value of twtasks.ended_task; ignores those that no function wants. */
extern void ends_add(Ends *ends, Datum task);

/*
 * Tasks to add with the end of a task that became DONE, whose context is given.
 * A failure of this counts as a failure of a function.
 */
extern void ends_add_successors(Ends *ends, Jsonb *tasks, Datum context, bool has_context);

/*
 * Ends the tasks, and writes the reported rows to the result of the statement, if
 * there is one.  With raises, a function that fails raises its error, for a caller
 * that undoes more than this.
 *
 * Errors: 25001 when a function is to be called outside READ COMMITTED.
 */
extern void on_end_run(const EndJob *job, ReturnSetInfo *results, bool raises);

#endif							/* TWT_ON_END_H */
