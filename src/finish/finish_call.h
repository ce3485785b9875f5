/*-------------------------------------------------------------------------
 *
 * finish_call.h
 *		The arguments of finish_tasks().
 *
 *		from: finish.c, execute_tasks.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_CALL_H
#define TWT_FINISH_CALL_H

#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "utils/jsonb.h"
#include "utils/uuid.h"

#include "base/arrays.h"
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

/* The columns of the result. */
enum
{
	RESULT_ID,
	RESULT_VERSION,
	RESULT_STATUS,
	RESULT_DELAY_MS,
	RESULT_COLUMNS
};

/* finish_others() has the first of the arguments. */
#define OTHERS_ARGS (ARG_GRABS + 1)

typedef struct FinishCall
{
	Elements	ids;
	Elements	versions;
	Elements	results;
	Elements	delays_ms;
	Elements	messages;
	Elements	grabs;			/* n 0: any */
	Elements	places;			/* n 0: not known */
	Elements	retries;		/* n 0: nothing is judged */
	Elements	outcomes;		/* n 0: none */
	Elements	adds;			/* n 0: none */
	TimestampTz ask_until;		/* see judge.h */
	NullableDatum incarnation;
	NullableDatum token;
	Oid			processing;
	Ending		ending;
	bool		has_others;		/* results that are neither done nor delete */
	bool		raises;			/* see on_end.h */
} FinishCall;

/* Raises 22023 unless finish_tasks() knows the result. */
extern void finish_check_result(const char *result);

/* Reads and checks the arguments, and raises their errors. */
extern void finish_call_read(FunctionCallInfo fcinfo, FinishCall *call);

/* The call for one of its tasks. */
extern FinishCall finish_call_one(const FinishCall *call, int i);

/* Gives the one task of the call another result; message NULL: none. */
extern void finish_call_change(FinishCall *call, const char *result, const char *message);

/* The outcome of a task; NULL: none. */
extern Jsonb *finish_call_outcome(const FinishCall *call, int i);

/* The tasks to add when a task is finished; NULL: none. */
extern Jsonb *finish_call_adds(const FinishCall *call, int i);

/* The outcome of a task that is named by its id and version. */
extern Jsonb *finish_call_outcome_of(const FinishCall *call, const pg_uuid_t *id, int64 version);

/* Whether the result of a task is done or delete. */
extern bool finish_call_is_done(const FinishCall *call, int i);

/* Whether the caller may finish the task, of which this is the row. */
extern bool finish_call_may(const FinishCall *call, int i, TupleTableSlot *row);

#endif							/* TWT_FINISH_CALL_H */
