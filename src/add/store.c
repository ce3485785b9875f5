/*-------------------------------------------------------------------------
 *
 * store.c
 *		Stores checked tasks and remembers their triggers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "catalog/pg_collation.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "add/store.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/unix_time.h"
#include "commit/commit.h"
#include "common/task_id.h"
#include "node/adoption.h"
#include "node/clock.h"

/*
 * Attempts to claim a key, since a conflicting claim may disappear meanwhile.
 */
#define CLAIM_ATTEMPTS 10

struct Store
{
	Relation	table;
	Appender   *append;
	Datum		role;			/* the adding role, as text */
	int			patience_ms;	/* see store_begin() */
	bool		has_statements; /* plan_begin() was called */
	int			pinned;			/* for plan_end() */
};

typedef struct Labels
{
	Oid			table;			/* lives as long as its columns' types */
	Oid			waiting;
	Oid			submitted;
	Oid			stuck;
} Labels;

static Labels labels;

/* Columns that take an argument as it is. */
static const struct
{
	TaskColumn	to;
	NewField	from;
}			carried[] = {
	{TASK_TYPE, NEW_TYPE},
	{TASK_SUB_TYPE, NEW_SUB_TYPE},
	{TASK_BUCKET, NEW_BUCKET},
	{TASK_KEY, NEW_KEY},
	{TASK_DATA, NEW_DATA},
	{TASK_PAYLOAD, NEW_PAYLOAD},
	{TASK_CONTEXT, NEW_CONTEXT},
	{TASK_EXPIRES, NEW_EXPIRES},
};

/* Arguments of PLAN_INSERT_NAMED_TASK before the carried ones. */
#define OWN_ARGS 7

void
store_check(void)
{
	PreventCommandIfReadOnly("twtasks.add_task()");
	PreventCommandIfParallelMode("twtasks.add_task()");
}

/* After an error the labels still belong to the table before. */
static void
find_labels(Oid table)
{
	Labels		found = {
		.table = table,
		.waiting = rows_label("task_status", "WAITING"),
		.submitted = rows_label("task_status", "SUBMITTED"),
		.stuck = rows_label("stuck_rule", "error"),
	};

	labels = found;
}

Store *
store_begin(const char *role, int patience_ms)
{
	Store	   *store = palloc0(sizeof(Store));

	store_check();
	store->table = table_open(rows_relation("task"), RowExclusiveLock);
	if (labels.table != RelationGetRelid(store->table))
		find_labels(RelationGetRelid(store->table));
	store->append = append_open(store->table, NULL, &task_shape);
	store->role = CStringGetTextDatum(role);
	store->patience_ms = patience_ms;
	return store;
}

/* Only a task with a key or an id of the caller needs statements. */
static void
begin_statements(Store *store)
{
	if (store->has_statements)
		return;
	store->pinned = plan_begin();
	store->has_statements = true;
}

void
store_end(Store *store)
{
	append_close(store->append);
	table_close(store->table, NoLock);
	if (store->has_statements)
		plan_end(store->pinned);
}

static void
refuse_other_key(const pg_uuid_t *id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("task \"%s\" exists already with another key",
					DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)))),
			 errhint("Always give a task the same task_id and key, or only one of the two.")));
}

/*
 * Finds the task that holds the id or the key.  The same key under another id
 * is that first task; the same id under another key is a caller's mistake.
 */
static bool
find_first(const NewTask *task, AddedTask *result)
{
	Datum		values[2] = {UUIDPGetDatum(&result->id), task->values[NEW_KEY]};
	char		nulls[2] = {' ', task->nulls[NEW_KEY] ? 'n' : ' '};
	uint64		found = plan_execute(PLAN_FIND_KEY, values, nulls);
	pg_uuid_t	given = result->id;

	for (uint64 i = 0; i < found; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;
		pg_uuid_t  *id = DatumGetUUIDP(SPI_getbinval(row, desc, 1, &isnull));
		Datum		key = SPI_getbinval(row, desc, 2, &isnull);
		bool		same_id = memcmp(id, &given, sizeof(*id)) == 0;
		bool		same_key = !isnull && !task->nulls[NEW_KEY] &&
			DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID,
												 key, task->values[NEW_KEY]));

		if (same_id && !same_key && !task->nulls[NEW_KEY])
			refuse_other_key(id);
		if (same_id || same_key)
			result->id = *id;
	}
	return found > 0;
}

static bool
read_version(uint64 found, AddedTask *result)
{
	bool		isnull;

	if (found == 0)
		return false;
	result->version = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
												  SPI_tuptable->tupdesc,
												  1, &isnull));
	result->version_known = true;
	return true;
}

/*
 * Whether we gave this id to a task that has finished.  The id tells when it
 * was made, so we look at, and lock, few days of history.  One day more allows
 * for clocks that were set back.  An insert conflicts with no row that is gone, so
 * a finish counts that the transaction's snapshot lacks.
 */
static bool
find_finished(AddedTask *result)
{
	int64		ms = task_id_ms(result->id.data);
	Datum		values[2];

	/* Else a reader of the history may miss its first partition. */
	AcceptInvalidationMessages();
	if (ms < 0)
		return false;
	values[0] = UUIDPGetDatum(&result->id);
	values[1] = TimestampTzGetDatum(postgres_us(ms * 1000) - USECS_PER_DAY);
	return read_version(plan_query_latest(PLAN_FIND_FINISHED, values), result);
}

/* Finds the version of the existing task, if the task is still there. */
static void
find_version(Store *store, AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	append_flush(store->append);
	if (!read_version(plan_execute(PLAN_FIND_VERSION, values, NULL), result) && !find_finished(result))
		(void) read_version(plan_execute(PLAN_FIND_ANYWHERE, values, NULL), result);
}

/* Until the result is given to AtEOXact_GUC(), locks are awaited with patience. */
static int
begin_patience(const Store *store)
{
	char		limit[16];
	int			level = NewGUCNestLevel();

	if (store->patience_ms == 0)
		return level;
	snprintf(limit, sizeof(limit), "%d", store->patience_ms);
	(void) set_config_option("lock_timeout", limit, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * A commit shows its rows before it tells of its partitions.  So while we know of
 * no default partition, wait for whoever makes the first ones: see begin_history().
 */
static void
await_partitions(const Store *store)
{
	Oid			oid = rows_relation("finished_task");
	Relation	whole;
	Oid			rest;
	int			level;

	AcceptInvalidationMessages();
	whole = table_open(oid, AccessShareLock);
	rest = get_default_oid_from_partdesc(RelationGetPartitionDesc(whole, true));
	table_close(whole, AccessShareLock);
	if (OidIsValid(rest))
		return;
	level = begin_patience(store);
	LockRelationOid(oid, ShareUpdateExclusiveLock);
	UnlockRelationOid(oid, ShareUpdateExclusiveLock);
	AtEOXact_GUC(true, level);
}

/*
 * Takes our insert back if the task finished while the insert waited for its
 * row.
 */
static bool
take_back_finished(const Store *store, AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	await_partitions(store);
	if (!find_finished(result))
		return false;
	plan_execute(PLAN_DELETE_TASK, values, NULL);
	return true;
}

/* Whether a statement that may wait for a key's row changes it. */
static bool
change_key(const Store *store, PlanId plan, Datum *values, char *nulls)
{
	int			level = begin_patience(store);
	bool		is_changed = plan_execute(plan, values, nulls) == 1;

	AtEOXact_GUC(true, level);
	return is_changed;
}

/*
 * Whether the holder of a key still holds it.  A key whose task is neither live
 * nor in the history is free: somebody has emptied a table, or restored a part
 * of a dump.  In a copy that is not adopted, the rest may still come.
 */
static bool
still_holds(Store *store, AddedTask *holder)
{
	Datum		values[1] = {UUIDPGetDatum(&holder->id)};

	find_version(store, holder);
	if (holder->version_known || !twt_is_adopted())
		return true;
	await_partitions(store);
	(void) change_key(store, PLAN_FREE_ORPHAN, values, NULL);
	return false;
}

/*
 * Returns true if we now hold the id and the key; else *result names the
 * holder.
 */
static bool
claim_key(Store *store, const NewTask *task, AddedTask *result)
{
	Datum		values[2] = {UUIDPGetDatum(&result->id), task->values[NEW_KEY]};
	char		nulls[2] = {' ', task->nulls[NEW_KEY] ? 'n' : ' '};
	pg_uuid_t	own = result->id;

	begin_statements(store);
	for (int i = 0; i < CLAIM_ATTEMPTS; i++)
	{
		if (change_key(store, PLAN_CLAIM_KEY, values, nulls))
			return true;
		if (find_first(task, result) && still_holds(store, result))
			return false;
		result->id = own;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not add task: another task with its id or key comes and goes"),
			 errhint("Try the transaction again.")));
}

static bool
waits(const NewTask *task, TimestampTz now)
{
	return task->run_after > now;
}

/* The time at which the task runs, or counts as late in the queue. */
static TimestampTz
next_event_time(const NewTask *task, TimestampTz now)
{
	return waits(task, now) ? task->run_after : now + task->queue_time_us;
}

static void
put(Datum *values, bool *nulls, TaskColumn column, Datum value)
{
	values[column - 1] = value;
	nulls[column - 1] = false;
}

/* Inserts a row whose id nobody can have used before. */
static void
append_task(Store *store, const NewTask *task, const AddedTask *result, TimestampTz now)
{
	int			n = RelationGetDescr(store->table)->natts;
	Datum	   *values = palloc0(n * sizeof(Datum));
	bool	   *nulls = palloc(n * sizeof(bool));

	memset(nulls, true, n * sizeof(bool));
	put(values, nulls, TASK_ID, UUIDPGetDatum(&result->id));
	put(values, nulls, TASK_VERSION, Int64GetDatum(0));
	put(values, nulls, TASK_NEXT_EVENT_TIME, TimestampTzGetDatum(next_event_time(task, now)));
	put(values, nulls, TASK_STATE_TIME, TimestampTzGetDatum(now));
	put(values, nulls, TASK_CREATED, TimestampTzGetDatum(now));
	put(values, nulls, TASK_STATUS,
		ObjectIdGetDatum(waits(task, now) ? labels.waiting : labels.submitted));
	put(values, nulls, TASK_STUCK, ObjectIdGetDatum(labels.stuck));
	put(values, nulls, TASK_TRIES, Int32GetDatum(0));
	put(values, nulls, TASK_SIZE, Int32GetDatum(task->size));
	put(values, nulls, TASK_PRIORITY, Int16GetDatum(task->priority));
	put(values, nulls, TASK_QUEUED, BoolGetDatum(!waits(task, now)));
	put(values, nulls, TASK_ADDED_BY, store->role);
	for (size_t i = 0; i < lengthof(carried); i++)
	{
		values[carried[i].to - 1] = task->values[carried[i].from];
		nulls[carried[i].to - 1] = task->nulls[carried[i].from];
	}
	append_row(store->append, values, nulls);
	pfree(values);
	pfree(nulls);
}

/* Inserts a row with the caller's own id.  False: the id exists already. */
static bool
insert_named(Store *store, const NewTask *task, const AddedTask *result, TimestampTz now)
{
	Datum		values[OWN_ARGS + lengthof(carried)] = {
		UUIDPGetDatum(&result->id),
		TimestampTzGetDatum(now),
		TimestampTzGetDatum(next_event_time(task, now)),
		BoolGetDatum(!waits(task, now)),
		Int32GetDatum(task->size),
		Int16GetDatum(task->priority),
		store->role
	};
	char		nulls[lengthof(values)];

	memset(nulls, ' ', sizeof(nulls));
	for (size_t i = 0; i < lengthof(carried); i++)
	{
		values[OWN_ARGS + i] = task->values[carried[i].from];
		nulls[OWN_ARGS + i] = task->nulls[carried[i].from] ? 'n' : ' ';
	}
	return plan_execute(PLAN_INSERT_NAMED_TASK, values, nulls) == 1;
}

static void
remember_trigger(const NewTask *task, const AddedTask *result, TimestampTz now)
{
	TaskTrigger trigger;

	memset(&trigger, 0, offsetof(TaskTrigger, type));
	memcpy(trigger.id, &result->id, sizeof(trigger.id));
	trigger.due_us = waits(task, now) ? unix_us(task->run_after) : 0;
	trigger.size = task->size;
	trigger.priority = task->priority;
	commit_remember_task(task->bucket, task->type, &trigger);
}

/*
 * Ids of one session ascend in the order of its adds.  No two ids have the
 * same time, unless the clock was set back.
 */
static int64
time_of_id(TimestampTz now)
{
	static int64 last = 0;
	int64		us = unix_us(now);

	if (us <= last && last - us < USECS_PER_SEC)
		us = last + 1;
	last = us;
	return us;
}

void
store_task(Store *store, const NewTask *task, AddedTask *result)
{
	TimestampTz now = twt_now();
	bool		has_id = !task->nulls[NEW_TASK_ID];
	bool		has_key = !task->nulls[NEW_KEY];

	memset(result, 0, sizeof(*result));
	if (has_id)
		result->id = *DatumGetUUIDP(task->values[NEW_TASK_ID]);
	else
		task_id_make(time_of_id(now), pg_prng_uint64(&pg_global_prng_state),
					 result->id.data);
	if ((has_id || has_key) && !claim_key(store, task, result))
		return;
	if (!has_id)
		append_task(store, task, result, now);
	else if (find_finished(result) || !insert_named(store, task, result, now) ||
			 take_back_finished(store, result))
	{
		/* An earlier task has this id, which we generated. */
		if (has_key)
			refuse_other_key(&result->id);
		if (!result->version_known)
			find_version(store, result);
		return;
	}
	result->added = result->version_known = true;
	remember_trigger(task, result, now);
}
