/*-------------------------------------------------------------------------
 *
 * next_triggers.c
 *		CALL next_triggers(): a sidecar takes triggers, or waits for them.
 *
 *		from: taker.c			to: sidecar/queue/feed_ring.c
 *
 * A waiting query would hold a snapshot and keep vacuum from its work.  So
 * this is a procedure, and it commits before it waits: the new transaction
 * has neither a snapshot nor an id of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* The headers of GSS may be absent, and we do not need them. */
#undef ENABLE_GSS
#include "libpq/libpq.h"

#include "base/arrays.h"
#include "base/call.h"
#include "base/contract.h"
#include "base/unix_time.h"
#include "queue/door.h"
#include "queue/queue.h"
#include "queue/taker.h"

#define MAX_TRIGGERS 10000
#define MAX_WAIT_MS 600000

/* A bucket of the call that has a queue. */
typedef struct Source
{
	Taker	   *taker;
	Datum		name;
	int			position;		/* in the call, from 1 */
	bool		sweep;
} Source;

/* The arrays of the result, an element per trigger. */
static const struct
{
	Oid			type;
	int			len;
	bool		byval;
	char		align;
}			columns[] = {
	{UUIDOID, UUID_LEN, false, TYPALIGN_CHAR},	/* ids */
	{INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE}, /* versions */
	{TEXTOID, -1, false, TYPALIGN_INT}, /* types */
	{INT2OID, 2, true, TYPALIGN_SHORT}, /* priorities */
	{INT4OID, 4, true, TYPALIGN_INT},	/* sizes */
	{INT4OID, 4, true, TYPALIGN_INT},	/* bucket_numbers */
};

typedef struct Taken
{
	Source		sources[TRIGGER_BUCKETS];
	int			nsources;
	bool		node_gone;
	int64		due_us;			/* 0: none */
	int			max;
	int			n;
	pg_uuid_t  *ids;
	Datum	   *columns[lengthof(columns)];
} Taken;

static void
take_one(Taken *taken, const Source *source, const TaskTrigger *trigger)
{
	Datum		row[lengthof(columns)];

	if (trigger->due_us != 0)
	{
		if (taken->due_us == 0 || trigger->due_us < taken->due_us)
			taken->due_us = trigger->due_us;
		return;
	}
	memcpy(&taken->ids[taken->n], trigger->id, sizeof(pg_uuid_t));
	row[0] = UUIDPGetDatum(&taken->ids[taken->n]);
	row[1] = Int64GetDatum(trigger->version);
	row[2] = PointerGetDatum(cstring_to_text_with_len(trigger->type, trigger->type_len));
	row[3] = Int16GetDatum(trigger->priority);
	row[4] = Int32GetDatum(trigger->size);
	row[5] = Int32GetDatum(source->position);
	for (size_t i = 0; i < lengthof(columns); i++)
		taken->columns[i][taken->n] = row[i];
	taken->n++;
}

/*
 * Returns true if there is something to report, or if this call has used up
 * its looks.
 */
static bool
take_from(Taken *taken, Source *source)
{
	TaskTrigger trigger;
	int			looks = MAX_TRIGGERS;
	bool		any;

	source->sweep = taker_take_sweep(source->taker);
	taken->node_gone |= taker_take_ended(source->taker);
	any = source->sweep || taken->node_gone;
	while (taken->n < taken->max && taker_pop(source->taker, &trigger, &looks))
	{
		take_one(taken, source, &trigger);
		any = true;
	}
	return any || looks == 0;
}

static bool
take_all(Taken *taken)
{
	bool		any = false;

	for (int i = 0; i < taken->nsources; i++)
		any |= take_from(taken, &taken->sources[i]);
	return any;
}

/*
 * The client may be dead while its socket is still open: without this check,
 * the triggers that we took for it would be lost until a sweep.
 */
static void
check_client(void)
{
	if (FeBeWaitSet == NULL || pq_check_connection())
		return;
	ereport(FATAL,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("connection to client lost")));
}

/* Sleeps until the latch is set, the time is over or the client is gone. */
static void
sleep_for(long ms)
{
	WaitEvent	event = {0};

	if (FeBeWaitSet != NULL && WaitEventSetCanReportClosed())
	{
		ModifyWaitEvent(FeBeWaitSet, FeBeWaitSetSocketPos, WL_SOCKET_CLOSED, NULL);
		(void) WaitEventSetWait(FeBeWaitSet, ms, &event, 1, PG_WAIT_EXTENSION);
		if (event.events & WL_POSTMASTER_DEATH)
			proc_exit(1);
	}
	else
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	check_client();
}

static void
wait_for_news(Taken *taken, TimestampTz until)
{
	for (;;)
	{
		long		ms;
		bool		any;

		door_look();
		for (int i = 0; i < taken->nsources; i++)
			taker_wait(taken->sources[i].taker);
		any = take_all(taken);
		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);
		if (!any && ms > 0)
		{
			sleep_for(ms);
			any = take_all(taken);
		}
		for (int i = 0; i < taken->nsources; i++)
			taker_unwait(taken->sources[i].taker);
		if (any || ms <= 0)
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Waits without a snapshot; see the top of this file. */
static void
wait_outside(Taken *taken, int wait_ms)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), wait_ms);

	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	SPI_commit();
	SPI_finish();
	PG_TRY();
	{
		wait_for_news(taken, until);
	}
	PG_CATCH();
	{
		takers_stop();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static void
find_sources(FunctionCallInfo fcinfo, Taken *taken)
{
	Elements	names = elements_of(fcinfo, 0, "buckets");

	if (names.n < 1 || names.n > TRIGGER_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("buckets must have 1 to %d elements", TRIGGER_BUCKETS)));
	for (int i = 0; i < names.n; i++)
	{
		char	   *name = names.nulls[i] ? "" : TextDatumGetCString(names.values[i]);
		Taker	   *taker;

		if (!trigger_bucket_valid(name, strlen(name)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid bucket in element %d of buckets", i + 1)));
		taker = taker_find(name);
		if (taker != NULL)
			taken->sources[taken->nsources++] =
				(Source)
		{
			.taker = taker, .name = names.values[i], .position = i + 1
		};
	}
}

static void
check_call(FunctionCallInfo fcinfo)
{
	if (!queue_available())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("twtasks was not preloaded"),
				 errhint("Add twtasks to shared_preload_libraries and restart the server, or LISTEN twtasks.")));
	require_own_statement(fcinfo, "next_triggers");
}

static void
make_room(Taken *taken)
{
	taken->ids = palloc(taken->max * sizeof(pg_uuid_t));
	for (size_t i = 0; i < lengthof(columns); i++)
		taken->columns[i] = palloc(taken->max * sizeof(Datum));
}

static Datum
sweep_array(const Taken *taken)
{
	Datum		names[TRIGGER_BUCKETS];
	int			n = 0;

	for (int i = 0; i < taken->nsources; i++)
		if (taken->sources[i].sweep)
			names[n++] = taken->sources[i].name;
	return PointerGetDatum(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Asks the catalog once in a session, since each wake-up would pay for it. */
static TupleDesc
result_desc(FunctionCallInfo fcinfo)
{
	static TupleDesc kept = NULL;
	static Oid	function = InvalidOid;
	TupleDesc	desc;
	MemoryContext before;

	if (function == fcinfo->flinfo->fn_oid)
		return kept;
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	before = MemoryContextSwitchTo(TopMemoryContext);
	kept = CreateTupleDescCopy(BlessTupleDesc(desc));
	MemoryContextSwitchTo(before);
	function = fcinfo->flinfo->fn_oid;
	return kept;
}

static Datum
form_result(FunctionCallInfo fcinfo, const Taken *taken)
{
	Datum		values[lengthof(columns) + 3];
	bool		nulls[lengthof(values)] = {false};

	for (size_t i = 0; i < lengthof(columns); i++)
		values[i] = PointerGetDatum(construct_array(taken->columns[i], taken->n, columns[i].type,
													columns[i].len, columns[i].byval,
													columns[i].align));
	values[lengthof(columns)] = TimestampTzGetDatum(postgres_us(taken->due_us));
	nulls[lengthof(columns)] = taken->due_us == 0;
	values[lengthof(columns) + 1] = sweep_array(taken);
	values[lengthof(columns) + 2] = BoolGetDatum(taken->node_gone);
	return HeapTupleGetDatum(heap_form_tuple(result_desc(fcinfo), values, nulls));
}

TWT_FUNCTION(twt_next_triggers);
Datum
twt_next_triggers(PG_FUNCTION_ARGS)
{
	Taken	   *taken = palloc0(sizeof(Taken));
	int			wait_ms;

	check_call(fcinfo);
	taken->max = int_argument(fcinfo, 1, "max_triggers", 1, MAX_TRIGGERS);
	wait_ms = int_argument(fcinfo, 2, "wait_ms", 0, MAX_WAIT_MS);
	find_sources(fcinfo, taken);
	make_room(taken);
	check_client();
	if (!take_all(taken) && wait_ms > 0)
	{
		wait_outside(taken, wait_ms);

		/* The log of slow statements counts from here, and not the wait. */
		SetCurrentStatementStartTimestamp();
	}
	for (int i = 0; i < taken->nsources; i++)
		taker_pass_on(taken->sources[i].taker);
	PG_RETURN_DATUM(form_result(fcinfo, taken));
}
