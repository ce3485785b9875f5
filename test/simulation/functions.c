/*-------------------------------------------------------------------------
 *
 * functions.c
 *		SQL handlers in the model: grab, function and finish in one transaction.
 *
 * As execute_tasks() of sql/run has it.  The statement takes its time first, and then
 * all happens at one moment: a function holds no lock while it runs, and waits for none.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

/* Parameters of the call before those that a grab has as well. */
#define BEFORE_GRAB 2
#define PARAM_GRABBED 12

/* A function that catches the timeout of its statement goes on for so long. */
#define STUBBORN_US SECONDS_TO_US(60)

/* The call as a grab. */
static ServerCall
as_grab(const ServerCall *call)
{
	ServerCall	grab = {.statement = &call_grab_bare};

	grab.params.n = call->params.n - BEFORE_GRAB;
	memcpy(grab.params.nulls, call->params.nulls + BEFORE_GRAB, grab.params.n * sizeof(grab.params.nulls[0]));
	memcpy(grab.params.values, call->params.values + BEFORE_GRAB, grab.params.n * sizeof(grab.params.values[0]));
	return grab;
}

static int64
timeout_us(const ServerCall *call)
{
	Elements	timeouts;

	param_array(call, BEFORE_GRAB + 4, &timeouts);
	return MS_TO_US(element_int(&timeouts, 0));
}

static int64
choose_length_us(const ServerCall *call)
{
	if (acts_happens(HABIT_ODD_RESULTS, 20))
		return world_happens(500) ? STUBBORN_US : timeout_us(call);
	return world_happens(800) ? world_between(200, MS_TO_US(100)) : world_between(MS_TO_US(100), SECONDS_TO_US(2));
}

int64
functions_us(const ServerCall *call)
{
	int64		took_us = choose_length_us(call);

	judge_busy(param_int(call, BEFORE_GRAB + 2), took_us);
	return took_us;
}

/* The statement as a whole; NULL: it has succeeded. */
static const char *
choose_state(const ServerCall *call, int64 took_us)
{
	static const char *const states[] = {"40P01", "57014", "26000", "40001"};

	if (took_us >= timeout_us(call))
		return "57014";
	return acts_happens(HABIT_ODD_RESULTS, 30) ? states[world_between(0, lengthof(states) - 1)] : NULL;
}

static void
put_answer(PGresult *result, const Row *row, const char *word, const char *message)
{
	int			at = PQntuples(result);

	for (int i = 0; i <= EXECUTE_WAIT_US; i++)
		result_null(result, at, i);
	result_bytes(result, at, EXECUTE_ID, row->id, sizeof(row->id));
	result_text(result, at, EXECUTE_RESULT, word);
	if (message != NULL)
		result_text(result, at, EXECUTE_MESSAGE, message);
}

/* The function runs for the task, which the transaction has grabbed. */
static void
run_function(Row *row, PGresult *result)
{
	int			at = PQntuples(result);
	bool		has_failed = acts_happens(HABIT_ODD_RESULTS, 150);

	put_answer(result, row, has_failed ? "failed" : "done", has_failed ? "simulated" : NULL);
	result_int(result, at, EXECUTE_VERSION, row->version);
	result_int(result, at, EXECUTE_TRIES, row->tries);
	result_text(result, at, EXECUTE_TYPE, model_types[row->type]);
	judge_effect(row, has_failed ? TASK_FAILURE : TASK_DONE);
	if (has_failed)
		return;
	judge_accept(row, "done", 0);
	limits_note_free(row->type, row->incarnation);
	tables_move(row, ROW_DONE, row->incarnation, row->token);
}

PGresult *
functions_execute(const ServerCall *call, int64 took_us, const char **state)
{
	ServerCall	grab = as_grab(call);
	PGresult   *grabbed;
	PGresult   *result;

	*state = choose_state(call, took_us);
	if (*state != NULL)
		return NULL;
	result = result_new(EXECUTE_WAIT_US + 1);
	grabbed = param_bool(call, PARAM_GRABBED) ? tasks_still_grabbed(&grab) : tasks_grab(&grab);
	for (int i = 0; i < PQntuples(grabbed); i++)
	{
		Row		   *row = model_find(PQgetvalue(grabbed, i, GRAB_ID));

		if (PQgetisnull(grabbed, i, GRAB_VERSION))
			put_answer(result, row, "refused", PQgetvalue(grabbed, i, GRAB_TYPE));
		else
			run_function(row, result);
	}
	PQclear(grabbed);
	tables_commit(true);
	return result;
}
