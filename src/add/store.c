/*-------------------------------------------------------------------------
 *
 * store.c
 *		Stores checked tasks and remembers their triggers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "add/store.h"
#include "add/when.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/unix_time.h"
#include "common/task_id.h"
#include "node/clock.h"

struct Store
{
	Relation	table;
	Appender   *append;
	Datum		role;			/* the adding role, as text */
	Claims	   *claims;
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
	store->claims = claims_begin(store->append, store->role, patience_ms);
	return store;
}

void
store_end(Store *store)
{
	append_close(store->append);
	table_close(store->table, NoLock);
	claims_end(store->claims);
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
	put(values, nulls, TASK_NEXT_EVENT_TIME, TimestampTzGetDatum(when_next(task, now)));
	put(values, nulls, TASK_STATE_TIME, TimestampTzGetDatum(now));
	put(values, nulls, TASK_CREATED, TimestampTzGetDatum(now));
	put(values, nulls, TASK_STATUS,
		ObjectIdGetDatum(when_waits(task, now) ? labels.waiting : labels.submitted));
	put(values, nulls, TASK_STUCK, ObjectIdGetDatum(labels.stuck));
	put(values, nulls, TASK_TRIES, Int32GetDatum(0));
	put(values, nulls, TASK_SIZE, Int32GetDatum(task->size));
	put(values, nulls, TASK_PRIORITY, Int16GetDatum(task->priority));
	put(values, nulls, TASK_QUEUED, BoolGetDatum(!when_waits(task, now)));
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
		TimestampTzGetDatum(when_next(task, now)),
		BoolGetDatum(!when_waits(task, now)),
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
	result->result = ADD_NEW;
	if (has_id || has_key)
		claim_key(store->claims, task, now, result);
	if (result->result != ADD_NEW)
		return;
	if (!has_id)
		append_task(store, task, result, now);
	else if (claim_find_finished(result) || !insert_named(store, task, result, now) ||
			 claim_take_back(store->claims, result))
	{
		/* An earlier task has this id, which we generated. */
		claim_find_other(store->claims, task, result);
		return;
	}
	result->version_known = true;
	when_remember(task, &result->id, 0, task->run_after, now);
}
