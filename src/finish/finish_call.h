/*-------------------------------------------------------------------------
 *
 * finish_call.h
 *		Tries that a call of finish_tasks(), execute_tasks() or end_tasks() ends: their
 *		type, how they are read from arguments, and which of them the caller may finish.
 *
 *		from: execute_tasks.c, end_tasks.c, finish.c, live.c, judge.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_CALL_H
#define TWT_FINISH_CALL_H

#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

#include "base/arrays.h"
#include "finish/attempts.h"
#include "finish/history.h"

typedef enum FinishArg
{
	ARG_IDS,
	ARG_VERSIONS,
	ARG_RESULTS,
	ARG_DELAYS_MS,
	ARG_MESSAGES,
	ARG_INCARNATION,
	ARG_TOKEN,
	ARG_GRABS,
	ARG_PLACES,
	ARG_RETRIES,
	ARG_ASK,
	ARG_RAISES,
	ARG_OUTCOMES,
	ARG_ADDS
} FinishArg;

/* How a try ends. */
typedef enum TryResult
{
	TRY_DONE,
	TRY_DELETE,
	TRY_RETRY,
	TRY_REPEAT,
	TRY_ERROR,
	TRY_ACCEPTED,
	TRY_RELEASE,
	TRY_CANCELLED,
	/* no caller may give these: */
	TRY_LATER,					/* the caller finishes the task again */
	TRY_FAULT,					/* an error that no request to cancel stops */
	TRY_ENDED					/* the task gets the status of the try, with
								 * the message as its error */
} TryResult;

/* One try of a task, and how it ends. */
typedef struct Try
{
	int			number;			/* its elements in the arguments */
	const pg_uuid_t *id;
	int64		version;
	NullableDatum grab;			/* null: any */
	ItemPointerData place;		/* its row; invalid: not known */
	TryResult	result;
	bool		has_delay;		/* the caller gave delay_ms */
	int64		delay_ms;		/* negative: as 0 */
	text	   *message;		/* NULL: none */
	Jsonb	   *retry;			/* NULL: finish_tasks() does not judge it */
	Jsonb	   *outcome;		/* NULL: none */
	Jsonb	   *adds;			/* tasks to add; NULL: none */
	Oid			status;			/* if TRY_ENDED or a request to cancel ends it */
	Datum		facts;			/* if there is such a request: the task before */
	text	   *why;			/* if there is such a request: its reason */
	const char *what;			/* the result of its attempt, if its end does
								 * not tell it; NULL: it does */
	bool		is_locked;		/* see finish.c */
	bool		is_finished;	/* else the result came too late */
} Try;

typedef struct FinishCall
{
	Elements	args[ARG_ADDS + 1]; /* as given; n 0: not given */
	Try		   *tries;
	int			n;
	NullableDatum incarnation;
	NullableDatum token;
	bool		by_hand;		/* not by a node: any row */
	Attempts   *attempts;		/* tries that did not succeed */
	TimestampTz now;			/* when the tries ended */
	Oid			processing;
	Oid			done;
} FinishCall;

/* NULL: TRY_LATER or after. */
extern const char *try_result_name(TryResult result);

/* Raises 22023 unless callers may give the result. */
extern TryResult try_result_of(const char *name);

/*
 * Reads and checks the arguments, and raises their errors.  Tries whose id or
 * version is null are left out.
 */
extern void finish_call_read(FunctionCallInfo fcinfo, FinishCall *call);

/* A call without tries yet. */
extern void finish_call_begin(FinishCall *call, NullableDatum incarnation, NullableDatum token);

/*
 * Finishes the tries of another step, and raises the errors of functions of
 * on_end.  Returns how many it has finished.  (In finish.c.)
 */
extern int	finish_tries(FinishCall *call);

/*
 * Ends tasks by hand: their results are TRY_ENDED, TRY_FAULT and TRY_DONE.  results NULL: no
 * rows are reported.
 */
extern void finish_by_hand(FinishCall *call, ReturnSetInfo *results, bool calls_functions);

static inline bool
try_is_done(const Try *try)
{
	return try->result <= TRY_DELETE;
}

/* Whether the task leaves the live table. */
static inline bool
try_ends(const Try *try)
{
	return try_is_done(try) || try->result == TRY_ENDED || try->facts != 0;
}

/* The message, else why the task is cancelled; a long one is cut.  NULL: none. */
extern text * try_message(const Try *try);

/*
 * The result of the attempt, if the task ends with that status, or stays in the live
 * table; NULL: the try has none.  The row is as it was before.
 */
extern const char *attempt_of_end(const FinishCall *call, const Try *try, TupleTableSlot *row, Oid status);
extern const char *attempt_of_change(const FinishCall *call, const Try *try, TupleTableSlot *row);

/* Whether the caller may finish the task, of which this is the row. */
extern bool finish_call_may(const FinishCall *call, const Try *try, TupleTableSlot *row);

#endif							/* TWT_FINISH_CALL_H */
