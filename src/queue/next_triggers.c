/*-------------------------------------------------------------------------
 *
 * next_triggers.c
 *		CALL next_triggers(): a sidecar takes triggers, or waits for them.
 *
 *		from: queue.c			to: sidecar/queue/queue_ring.c
 *
 * A waiting query would hold a snapshot and keep vacuum from its work.  So
 * this is a procedure, and it commits before it waits: the new transaction
 * has neither a snapshot nor an id of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Its headers may be absent, and we do not use the struct that needs them. */
#undef ENABLE_GSS
#include "libpq/libpq.h"

#include "base/arrays.h"
#include "queue/groups.h"
#include "queue/queue.h"

#define MAX_BUCKETS TRIGGER_BUCKETS
#define MAX_TRIGGERS 10000
#define MAX_WAIT_MS 600000

/* When all queues are in use, one becomes free only rarely. */
#define FULL_MS 10000

/* A queue that this backend takes from. */
typedef struct Used
{
	char		bucket[TRIGGER_BUCKET_MAX + 1];
	Queue	   *queue;
	int			group;
	uint32		nodes_ended;	/* what it has told about */
	bool		is_waiting;
} Used;

typedef struct Taken
{
	int			nbuckets;		/* those with a queue */
	int			positions[MAX_BUCKETS]; /* of each in the call, from 1 */
	char	   *names[MAX_BUCKETS];
	Queue	   *queues[MAX_BUCKETS];
	Used	   *used[MAX_BUCKETS];
	bool		sweep[MAX_BUCKETS];
	bool		node_gone;
	int64		due_us;			/* 0: none */
	int			max;
	int			n;
	pg_uuid_t  *ids;
	Datum	   *id;
	Datum	   *version;
	Datum	   *type;
	Datum	   *priority;
	Datum	   *size;
	Datum	   *bucket;
} Taken;

static Used used[MAX_BUCKETS];
static int	nused = 0;

/* The types that our client handles; NULL: all types. */
static TypeList *handled = NULL;

/* A wake-up may have reached us on which we no longer act: hand it on. */
static void
stop_waiting(void)
{
	for (int i = 0; i < nused; i++)
	{
		if (!used[i].is_waiting)
			continue;
		used[i].is_waiting = false;
		queue_unwait(used[i].queue, used[i].group);
		queue_pass_on(used[i].queue, used[i].group);
	}
}

/* Others must look for the tasks that our client took and did not grab. */
static void
leave_queues(void)
{
	stop_waiting();
	while (nused > 0)
	{
		nused--;
		queue_leave(used[nused].queue, used[nused].group);
	}
}

static void
on_backend_exit(int code, Datum arg)
{
	leave_queues();
}

static Used *
find_used(const char *bucket)
{
	for (int i = 0; i < nused; i++)
		if (strcmp(used[i].bucket, bucket) == 0)
			return &used[i];
	return NULL;
}

static Used *
use_queue(Queue *queue, const char *bucket)
{
	static bool is_registered = false;
	Used	   *u = &used[nused];

	if (nused == MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("a session cannot take from more than %d buckets", MAX_BUCKETS)));
	if (!is_registered)
		before_shmem_exit(on_backend_exit, 0);
	is_registered = true;
	strlcpy(u->bucket, bucket, sizeof(u->bucket));
	u->queue = queue;
	u->group = queue_join(queue, handled);
	u->is_waiting = false;
	u->nodes_ended = queue_nodes_ended(queue);
	nused++;
	return u;
}

/*
 * NULL: all queues are in use, so notifications carry the bucket's triggers.
 */
static Used *
use_bucket(const char *bucket)
{
	static TimestampTz full_until = 0;
	Used	   *u = find_used(bucket);
	TimestampTz now = GetCurrentTimestamp();
	Queue	   *queue;

	if (u != NULL)
		return u;
	queue = now < full_until ? queue_find(bucket) : queue_attach(bucket);
	if (queue != NULL)
		return use_queue(queue, bucket);
	if (now >= full_until)
		full_until = TimestampTzPlusMilliseconds(now, FULL_MS);
	return NULL;
}

static void
start_waiting(Taken *taken)
{
	for (int i = 0; i < taken->nbuckets; i++)
		taken->used[i]->is_waiting = queue_wait(taken->queues[i], taken->used[i]->group);
}

static void
end_waiting(Taken *taken)
{
	for (int i = 0; i < taken->nbuckets; i++)
	{
		if (taken->used[i]->is_waiting)
			queue_unwait(taken->queues[i], taken->used[i]->group);
		taken->used[i]->is_waiting = false;
	}
}

static void
take_one(Taken *taken, int bucket, const TaskTrigger *trigger)
{
	int			n = taken->n;

	if (trigger->due_us != 0)
	{
		if (taken->due_us == 0 || trigger->due_us < taken->due_us)
			taken->due_us = trigger->due_us;
		return;
	}
	memcpy(&taken->ids[n], trigger->id, sizeof(pg_uuid_t));
	taken->id[n] = UUIDPGetDatum(&taken->ids[n]);
	taken->version[n] = Int64GetDatum(trigger->version);
	taken->type[n] = PointerGetDatum(cstring_to_text_with_len(trigger->type,
															  trigger->type_len));
	taken->priority[n] = Int16GetDatum(trigger->priority);
	taken->size[n] = Int32GetDatum(trigger->size);
	taken->bucket[n] = Int32GetDatum(taken->positions[bucket]);
	taken->n++;
}

static bool
is_ours(const TaskTrigger *trigger)
{
	return trigger->due_us != 0 || type_list_fits(handled, trigger->type);
}

/* The session that handed these on may have known only some of our types. */
static bool
take_handed(Taken *taken, int bucket)
{
	TaskTrigger trigger;
	bool		any = false;

	while (taken->n < taken->max &&
		   queue_pop_handed(taken->queues[bucket], taken->used[bucket]->group, &trigger))
		if (is_ours(&trigger))
		{
			take_one(taken, bucket, &trigger);
			any = true;
		}
	return any;
}

/*
 * Takes triggers that our client handles, and hands on the others.  Triggers
 * that nobody handles go to the client as well, which says so in its log.
 * True when there is something to tell, or when more is there than one call
 * looks at.
 */
static bool
take_new(Taken *taken, int bucket)
{
	Queue	   *queue = taken->queues[bucket];
	int			group = taken->used[bucket]->group;
	TaskTrigger trigger;
	bool		any = false;
	int			seen = 0;

	while (seen < MAX_TRIGGERS && taken->n < taken->max && queue_pop(queue, &trigger))
	{
		seen++;
		if (queue_is_shared(queue, group) && !is_ours(&trigger) &&
			queue_hand_on(queue, group, &trigger))
			continue;
		take_one(taken, bucket, &trigger);
		any = true;
	}
	return any || seen == MAX_TRIGGERS;
}

/* True when there is something to tell. */
static bool
take_all(Taken *taken)
{
	bool		any = false;

	for (int i = 0; i < taken->nbuckets; i++)
	{
		uint32		ended = queue_nodes_ended(taken->queues[i]);

		taken->sweep[i] = queue_take_asked(taken->queues[i], taken->used[i]->group);
		taken->node_gone |= ended != taken->used[i]->nodes_ended;
		taken->used[i]->nodes_ended = ended;
		any |= taken->sweep[i] || taken->node_gone;
		any |= take_handed(taken, i);
		any |= take_new(taken, i);
	}
	return any;
}

/* Wakes the next waiter for the triggers that we leave behind. */
static void
wake_others(Taken *taken)
{
	for (int i = 0; i < taken->nbuckets; i++)
		queue_pass_on(taken->queues[i], taken->used[i]->group);
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

		start_waiting(taken);
		any = take_all(taken);
		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);
		if (!any && ms > 0)
		{
			sleep_for(ms);
			any = take_all(taken);
		}
		end_waiting(taken);
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
		stop_waiting();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

static int
int_argument(FunctionCallInfo fcinfo, int number, const char *name,
			 int min, int max)
{
	int			value;

	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	value = PG_GETARG_INT32(number);
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between %d and %d, not %d", name, min, max, value)));
	return value;
}

static void
add_bucket(Taken *taken, char *name, int position)
{
	Used	   *u = use_bucket(name);
	int			n = taken->nbuckets;

	if (u == NULL)
		return;
	taken->positions[n] = position;
	taken->names[n] = name;
	taken->queues[n] = u->queue;
	taken->used[n] = u;
	taken->nbuckets++;
}

static void
attach_buckets(FunctionCallInfo fcinfo, Taken *taken)
{
	Datum	   *names;
	bool	   *nulls;
	int			n;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("buckets must not be null")));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT,
					  &names, &nulls, &n);
	if (n < 1 || n > MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("buckets must have 1 to %d elements", MAX_BUCKETS)));
	for (int i = 0; i < n; i++)
	{
		char	   *name = nulls[i] ? "" : TextDatumGetCString(names[i]);

		if (!trigger_bucket_valid(name, strlen(name)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid bucket in element %d of buckets", i + 1)));
		add_bucket(taken, name, i + 1);
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
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("next_triggers cannot run inside a transaction block"),
				 errhint("CALL it by itself: while it waits it must not hold a snapshot.")));
}

static void
make_room(Taken *taken)
{
	int			max = taken->max;

	taken->ids = palloc(max * sizeof(pg_uuid_t));
	taken->id = palloc(max * sizeof(Datum));
	taken->version = palloc(max * sizeof(Datum));
	taken->type = palloc(max * sizeof(Datum));
	taken->priority = palloc(max * sizeof(Datum));
	taken->size = palloc(max * sizeof(Datum));
	taken->bucket = palloc(max * sizeof(Datum));
}

static Datum
sweep_array(Taken *taken)
{
	Datum		names[MAX_BUCKETS];
	int			n = 0;

	for (int i = 0; i < taken->nbuckets; i++)
		if (taken->sweep[i])
			names[n++] = CStringGetTextDatum(taken->names[i]);
	return PointerGetDatum(construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT));
}

static Datum
form_result(FunctionCallInfo fcinfo, Taken *taken)
{
	Datum		values[9];
	bool		nulls[9] = {false};
	TupleDesc	desc;

#define ARRAY(elements, type, len, byval, align) \
	PointerGetDatum(construct_array(elements, taken->n, type, len, byval, align))
	values[0] = ARRAY(taken->id, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR);
	values[1] = ARRAY(taken->version, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	values[2] = ARRAY(taken->type, TEXTOID, -1, false, TYPALIGN_INT);
	values[3] = ARRAY(taken->priority, INT2OID, 2, true, TYPALIGN_SHORT);
	values[4] = ARRAY(taken->size, INT4OID, 4, true, TYPALIGN_INT);
	values[5] = ARRAY(taken->bucket, INT4OID, 4, true, TYPALIGN_INT);
#undef ARRAY
	nulls[6] = taken->due_us == 0;
	values[6] = TimestampTzGetDatum(taken->due_us -
									(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
	values[7] = sweep_array(taken);
	values[8] = BoolGetDatum(taken->node_gone);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "next_triggers has no row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

PG_FUNCTION_INFO_V1(twt_next_triggers);
Datum
twt_next_triggers(PG_FUNCTION_ARGS)
{
	Taken	   *taken = palloc0(sizeof(Taken));
	int			wait_ms;

	check_call(fcinfo);
	taken->max = int_argument(fcinfo, 1, "max_triggers", 1, MAX_TRIGGERS);
	wait_ms = int_argument(fcinfo, 2, "wait_ms", 0, MAX_WAIT_MS);
	attach_buckets(fcinfo, taken);
	make_room(taken);
	check_client();
	if (!take_all(taken) && wait_ms > 0)
		wait_outside(taken, wait_ms);
	wake_others(taken);
	PG_RETURN_DATUM(form_result(fcinfo, taken));
}

PG_FUNCTION_INFO_V1(twt_take_types);
Datum
twt_take_types(PG_FUNCTION_ARGS)
{
	Elements	types = elements_of(fcinfo, 0, "types");
	char	  **names = palloc(Max(types.n, 1) * sizeof(char *));
	TypeList   *old = handled;
	int			n = 0;

	for (int i = 0; i < types.n; i++)
		if (!types.nulls[i])
			names[n++] = TextDatumGetCString(types.values[i]);
	leave_queues();
	handled = type_list_make(TopMemoryContext, names, n);
	if (old != NULL)
		pfree(old);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(twt_lacks_queue);
Datum
twt_lacks_queue(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(queue_is_lacking(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

PG_FUNCTION_INFO_V1(twt_queue_stats);
Datum
twt_queue_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	QueueStats	stats;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; queue_stats(i, &stats); i++)
	{
		Datum		values[6] = {
			CStringGetTextDatum(stats.bucket), Int64GetDatum(stats.waiting),
			Int64GetDatum(stats.pushed), Int64GetDatum(stats.dropped),
			Int32GetDatum(stats.waiters), BoolGetDatum(stats.need_sweep)
		};
		bool		nulls[6] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
