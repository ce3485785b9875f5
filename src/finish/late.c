/*-------------------------------------------------------------------------
 *
 * late.c
 *		Results that come too late, and who hears of them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "base/plan.h"
#include "finish/late.h"

/* One try of a task.  Tries are compared as bytes: there is no padding. */
typedef struct Try
{
	pg_uuid_t	id;
	int64		version;		/* as the grab returned it */
} Try;

typedef struct Tries
{
	Try		   *tries;
	int			n;
} Tries;

StaticAssertDecl(sizeof(Try) == UUID_LEN + sizeof(int64), "padding in Try");

static int
compare_tries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Try));
}

/* The version rises by one, unless the task is still in the try. */
static Try
try_of_row(const FinishCall *call, TupleTableSlot *row)
{
	bool		is_processing = DatumGetObjectId(row->tts_values[RESULT_STATUS]) == call->processing;
	Try			done = {
		*DatumGetUUIDP(row->tts_values[RESULT_ID]),
		DatumGetInt64(row->tts_values[RESULT_VERSION]) - (is_processing ? 0 : 1)
	};

	return done;
}

/* Sorted. */
static Tries
finished_tries(const FinishCall *call, ReturnSetInfo *finished)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(finished->setDesc, &TTSOpsMinimalTuple);
	Tries		found = {palloc(call->ids.n * sizeof(Try)), 0};

	tuplestore_rescan(finished->setResult);
	while (tuplestore_gettupleslot(finished->setResult, true, false, row))
	{
		slot_getallattrs(row);
		found.tries[found.n++] = try_of_row(call, row);
	}
	tuplestore_rescan(finished->setResult);
	ExecDropSingleTupleTableSlot(row);
	qsort(found.tries, found.n, sizeof(Try), compare_tries);
	return found;
}

static bool
is_late(const FinishCall *call, int i, const Tries *finished)
{
	Try			reported;

	if (call->ids.nulls[i] || element_null(&call->versions, i))
		return false;
	reported.id = *DatumGetUUIDP(call->ids.values[i]);
	reported.version = DatumGetInt64(element(&call->versions, i));
	return bsearch(&reported, finished->tries, finished->n, sizeof(Try), compare_tries) == NULL;
}

/* An array of the chosen elements. */
static Datum
chosen(const Elements *all, const int *which, int n, Oid type)
{
	Elements	some = {palloc(n * sizeof(Datum)), palloc(n * sizeof(bool)), n};

	for (int i = 0; i < n; i++)
	{
		some.nulls[i] = all->n == 0 || element_null(all, which[i]);
		some.values[i] = some.nulls[i] ? (Datum) 0 : element(all, which[i]);
	}
	return elements_array(&some, type);
}

static void
tell(const FinishCall *call, const int *which, int n)
{
	Datum		values[] = {
		chosen(&call->ids, which, n, UUIDOID), chosen(&call->versions, which, n, INT8OID),
		chosen(&call->results, which, n, TEXTOID), chosen(&call->messages, which, n, TEXTOID),
		chosen(&call->outcomes, which, n, JSONBOID)
	};
	int			pinned;

	pinned = plan_begin();
	plan_execute(PLAN_TELL_LATE, values, NULL);
	plan_end(pinned);
}

void
late_tell(const FinishCall *call, ReturnSetInfo *finished)
{
	Tries		tries;
	int		   *which;
	int			n = 0;

	if (tuplestore_tuple_count(finished->setResult) >= call->ids.n)
		return;
	tries = finished_tries(call, finished);
	which = palloc(call->ids.n * sizeof(int));
	for (int i = 0; i < call->ids.n; i++)
		if (is_late(call, i, &tries))
			which[n++] = i;
	if (n > 0)
		tell(call, which, n);
}
