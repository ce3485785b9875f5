/*-------------------------------------------------------------------------
 *
 * end_tasks.c
 *		end_tasks(): ends tasks that no worker finishes.
 *
 *		from: sql/run/end_tasks.sql		to: on_end.h
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "base/plan.h"
#include "finish/on_end.h"

/* The arguments, also of end_now(). */
enum
{
	ARG_IDS,
	ARG_STATUSES,
	ARG_REASONS,
	END_ARGS
};

/* The columns of end_now(): those of end_tasks(), which has no delay, and one more. */
enum
{
	END_ENDED = RESULT_STATUS + 1,
	END_COLUMNS
};

typedef struct EndCall
{
	Elements	args[END_ARGS];
} EndCall;

static void
end_some(const EndCall *call, Ends *ends)
{
	Datum		values[END_ARGS] = {
		elements_array(&call->args[ARG_IDS], UUIDOID),
		elements_array(&call->args[ARG_STATUSES], TEXTOID),
		elements_array(&call->args[ARG_REASONS], TEXTOID)
	};
	uint64		n;
	int			pinned;

	pinned = plan_begin();
	n = plan_execute(PLAN_END_NOW, values, NULL);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[END_COLUMNS];
		bool		are_null[END_COLUMNS];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, columns, are_null);
		ends_report(ends, columns, are_null);
		if (!are_null[END_ENDED])
			ends_add(ends, columns[END_ENDED]);
	}
	plan_end(pinned);
}

static void
end_for_job(void *arg, int which, const char *fault, Ends *ends)
{
	EndCall		call = *(EndCall *) arg;

	for (int i = 0; i < END_ARGS && which != EVERY_TASK; i++)
		call.args[i] = elements_of_one(&call.args[i], which);
	if (fault != NULL)
	{
		call.args[ARG_STATUSES] = elements_text("ERROR");
		call.args[ARG_REASONS] = elements_text(fault);
	}
	end_some(&call, ends);
}

TWT_FUNCTION(twt_end_tasks);
Datum
twt_end_tasks(PG_FUNCTION_ARGS)
{
	EndCall		call;
	EndJob		job = {&call, 0, end_for_job, NULL};

	call.args[ARG_IDS] = elements_of(fcinfo, ARG_IDS, "ids");
	call.args[ARG_STATUSES] = elements_of(fcinfo, ARG_STATUSES, "statuses");
	call.args[ARG_REASONS] = elements_of(fcinfo, ARG_REASONS, "reasons");
	job.ntasks = call.args[ARG_IDS].n;
	check_length(&call.args[ARG_STATUSES], job.ntasks);
	check_length(&call.args[ARG_REASONS], job.ntasks);
	InitMaterializedSRF(fcinfo, 0);
	on_end_run(&job, (ReturnSetInfo *) fcinfo->resultinfo, false);
	return (Datum) 0;
}
