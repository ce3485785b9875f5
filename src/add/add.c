/*-------------------------------------------------------------------------
 *
 * add.c
 *		add_task() and add_tasks(): check, insert, hand the trigger to commit.
 *
 *		from: SQL			to: commit.c
 *
 * A task with a key or an id from the caller first claims a row of unique_key.
 * A second caller finds that row; it waits if the first has not yet committed.
 * An id that we generate needs no claim.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "add/add_json.h"
#include "add/add_order.h"
#include "add/allowed.h"
#include "add/check.h"
#include "base/arrays.h"
#include "base/caller.h"
#include "base/plan.h"
#include "base/rows.h"
#include "commit/commit.h"
#include "common/task_id.h"
#include "node/clock.h"

/* State that all adds of one call share. */
typedef struct AddCall
{
	Relation	table;
	Appender   *append;
	Oid			waiting;
	Oid			submitted;
	Oid			stuck;
	Datum		role;			/* the adding role, as text */
} AddCall;

/* A claim in our way may disappear while we look at it. */
#define CLAIM_ATTEMPTS 10

typedef struct AddedTask
{
	pg_uuid_t	id;
	int64		version;
	bool		version_known;
	bool		added;
} AddedTask;

static void
check_may_write(void)
{
	PreventCommandIfReadOnly("twtasks.add_task()");
	PreventCommandIfParallelMode("twtasks.add_task()");
}

static void
begin_call(AddCall *call, const char *role)
{
	check_may_write();
	call->table = table_open(rows_relation("task"), RowExclusiveLock);
	call->append = append_open(call->table);
	call->waiting = rows_label("task_status", "WAITING");
	call->submitted = rows_label("task_status", "SUBMITTED");
	call->stuck = rows_label("stuck_rule", "error");
	call->role = CStringGetTextDatum(role);
}

static void
end_call(AddCall *call)
{
	append_close(call->append);
	table_close(call->table, NoLock);
}

#define EPOCH_SHIFT ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* PostgreSQL's last thousand years do not fit our count. */
static int64
unix_us(TimestampTz at)
{
	return at > PG_INT64_MAX - EPOCH_SHIFT ? PG_INT64_MAX : at + EPOCH_SHIFT;
}

static TimestampTz
postgres_us(int64 unix_us)
{
	return unix_us - EPOCH_SHIFT;
}

static void
refuse_other_key(const pg_uuid_t *id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("task \"%s\" exists already with another key",
					DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(id)))),
			 errhint("Give one task always the same task_id and key, or only one of the two.")));
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
read_version(PlanId plan, Datum *values, AddedTask *result)
{
	bool		isnull;

	if (plan_execute(plan, values, NULL) == 0)
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
 * for clocks that were set back.
 */
static bool
find_finished(AddedTask *result)
{
	int64		ms = task_id_ms(result->id.data);
	Datum		values[2];

	if (ms < 0)
		return false;
	values[0] = UUIDPGetDatum(&result->id);
	values[1] = TimestampTzGetDatum(postgres_us(ms * 1000) - USECS_PER_DAY);
	return read_version(PLAN_FIND_FINISHED, values, result);
}

/* The existing task's version, if the task is still there. */
static void
find_version(AddCall *call, AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	append_flush(call->append);
	if (!read_version(PLAN_FIND_VERSION, values, result) && !find_finished(result))
		(void) read_version(PLAN_FIND_ANYWHERE, values, result);
}

/* The task may have finished while our insert waited for the live row. */
static bool
take_back_finished(AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	if (!find_finished(result))
		return false;
	plan_execute(PLAN_DELETE_TASK, values, NULL);
	return true;
}

/*
 * True: we now hold the id and the key.  False: *result tells who holds them.
 */
static bool
claim_key(AddCall *call, const NewTask *task, AddedTask *result)
{
	Datum		values[2] = {UUIDPGetDatum(&result->id), task->values[NEW_KEY]};
	char		nulls[2] = {' ', task->nulls[NEW_KEY] ? 'n' : ' '};

	for (int i = 0; i < CLAIM_ATTEMPTS; i++)
	{
		if (plan_execute(PLAN_CLAIM_KEY, values, nulls) == 1)
			return true;
		if (find_first(task, result))
		{
			find_version(call, result);
			return false;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not add task: another with its id or key comes and goes"),
			 errhint("Try the transaction again.")));
}

static void
take_over(Datum *values, bool *nulls, TaskColumn to, const NewTask *task, NewField from)
{
	values[to - 1] = task->values[from];
	nulls[to - 1] = task->nulls[from];
}

static void
put(Datum *values, bool *nulls, TaskColumn column, Datum value)
{
	values[column - 1] = value;
	nulls[column - 1] = false;
}

/* Inserts a row whose id nobody can have used before. */
static void
append_task(AddCall *call, const NewTask *task, const AddedTask *result, TimestampTz now)
{
	bool		waits = task->run_after > now;
	int			n = RelationGetDescr(call->table)->natts;
	Datum	   *values = palloc0(n * sizeof(Datum));
	bool	   *nulls = palloc(n * sizeof(bool));

	memset(nulls, true, n * sizeof(bool));
	put(values, nulls, TASK_ID, UUIDPGetDatum(&result->id));
	put(values, nulls, TASK_VERSION, Int64GetDatum(0));
	put(values, nulls, TASK_NEXT_EVENT_TIME,
		TimestampTzGetDatum(waits ? task->run_after : now + task->queue_time_us));
	put(values, nulls, TASK_STATE_TIME, TimestampTzGetDatum(now));
	put(values, nulls, TASK_CREATED, TimestampTzGetDatum(now));
	put(values, nulls, TASK_STATUS, ObjectIdGetDatum(waits ? call->waiting : call->submitted));
	put(values, nulls, TASK_STUCK, ObjectIdGetDatum(call->stuck));
	put(values, nulls, TASK_TRIES, Int32GetDatum(0));
	put(values, nulls, TASK_SIZE, Int32GetDatum(task->size));
	put(values, nulls, TASK_PRIORITY, Int16GetDatum(task->priority));
	put(values, nulls, TASK_QUEUED, BoolGetDatum(!waits));
	put(values, nulls, TASK_ADDED_BY, call->role);
	take_over(values, nulls, TASK_TYPE, task, NEW_TYPE);
	take_over(values, nulls, TASK_BUCKET, task, NEW_BUCKET);
	take_over(values, nulls, TASK_EXPIRES, task, NEW_EXPIRES);
	take_over(values, nulls, TASK_SUB_TYPE, task, NEW_SUB_TYPE);
	take_over(values, nulls, TASK_KEY, task, NEW_KEY);
	take_over(values, nulls, TASK_DATA, task, NEW_DATA);
	take_over(values, nulls, TASK_PAYLOAD, task, NEW_PAYLOAD);
	take_over(values, nulls, TASK_CONTEXT, task, NEW_CONTEXT);
	append_row(call->append, values, nulls);
	pfree(values);
	pfree(nulls);
}

/* Inserts a row with the caller's own id.  False: the id exists already. */
static bool
insert_named(AddCall *call, const NewTask *task, const AddedTask *result, TimestampTz now)
{
	bool		waits = task->run_after > now;
	Datum		values[15] = {
		UUIDPGetDatum(&result->id),
		TimestampTzGetDatum(now),
		TimestampTzGetDatum(waits ? task->run_after : now + task->queue_time_us),
		task->values[NEW_EXPIRES],
		BoolGetDatum(!waits),
		Int32GetDatum(task->size),
		Int16GetDatum(task->priority),
		task->values[NEW_TYPE],
		task->values[NEW_SUB_TYPE],
		task->values[NEW_BUCKET],
		task->values[NEW_KEY],
		task->values[NEW_DATA],
		task->values[NEW_PAYLOAD],
		task->values[NEW_CONTEXT],
		call->role
	};
	char		nulls[15];

	memset(nulls, ' ', sizeof(nulls));
	nulls[3] = task->nulls[NEW_EXPIRES] ? 'n' : ' ';
	nulls[8] = task->nulls[NEW_SUB_TYPE] ? 'n' : ' ';
	nulls[10] = task->nulls[NEW_KEY] ? 'n' : ' ';
	nulls[11] = task->nulls[NEW_DATA] ? 'n' : ' ';
	nulls[12] = task->nulls[NEW_PAYLOAD] ? 'n' : ' ';
	nulls[13] = task->nulls[NEW_CONTEXT] ? 'n' : ' ';
	return plan_execute(PLAN_INSERT_NAMED_TASK, values, nulls) == 1;
}

static void
remember_trigger(const NewTask *task, const AddedTask *result, TimestampTz now)
{
	TaskTrigger trigger;

	memset(&trigger, 0, offsetof(TaskTrigger, type));
	memcpy(trigger.id, &result->id, sizeof(trigger.id));
	trigger.due_us = task->run_after > now ? unix_us(task->run_after) : 0;
	trigger.size = task->size;
	trigger.priority = task->priority;
	trigger.type_len = strlen(task->type);
	memcpy(trigger.type, task->type, trigger.type_len + 1);
	commit_remember(task->bucket, &trigger);
}

/* Inserts a task whose id we have just made. */
static void
add_new(AddCall *call, const NewTask *task, AddedTask *result, TimestampTz now)
{
	append_task(call, task, result, now);
	result->added = result->version_known = true;
	remember_trigger(task, result, now);
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

/* Stores one checked task; between SPI_connect() and SPI_finish(). */
static void
add_one(AddCall *call, const NewTask *task, AddedTask *result)
{
	TimestampTz now = twt_now();
	bool		has_id = !task->nulls[NEW_TASK_ID];

	memset(result, 0, sizeof(*result));
	if (has_id)
		result->id = *DatumGetUUIDP(task->values[NEW_TASK_ID]);
	else
		task_id_make(time_of_id(now), pg_prng_uint64(&pg_global_prng_state),
					 result->id.data);
	if ((has_id || !task->nulls[NEW_KEY]) && !claim_key(call, task, result))
		return;
	if (!has_id)
	{
		add_new(call, task, result, now);
		return;
	}
	if (find_finished(result) || !insert_named(call, task, result, now) ||
		take_back_finished(result))
	{
		/* The caller uses an id that an earlier task got from us. */
		if (!task->nulls[NEW_KEY])
			refuse_other_key(&result->id);
		if (!result->version_known)
			find_version(call, result);
		return;
	}
	result->added = result->version_known = true;
	remember_trigger(task, result, now);
}

static void
fill_result(const AddedTask *result, Datum *values, bool *nulls)
{
	values[0] = UUIDPGetDatum(&result->id);
	nulls[0] = false;
	values[1] = Int64GetDatum(result->version);
	nulls[1] = !result->version_known;
	values[2] = CStringGetTextDatum(result->added ? "added" : "already_exists");
	nulls[2] = false;
}

static const char *
caller_name(void)
{
	return GetUserNameFromId(caller_role(), false);
}

/* Reads the arguments of add_task(), from this one on. */
static Datum
add_arguments(FunctionCallInfo fcinfo, int first, const char *role)
{
	AddCall		call;
	NewTask		task;
	AddedTask	result;
	Datum		values[3];
	bool		nulls[3];
	TupleDesc	desc;
	HeapTuple	tuple;

	check_may_write();			/* before we read policies */
	for (int i = 0; i < NEW_FIELDS; i++)
	{
		task.values[i] = PG_GETARG_DATUM(first + i);
		task.nulls[i] = PG_ARGISNULL(first + i);
	}
	check_new_task(&task);
	allowed_check(task.type, role);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	begin_call(&call, role);
	add_one(&call, &task, &result);
	end_call(&call);
	SPI_finish();

	fill_result(&result, values, nulls);
	desc = lookup_rowtype_tupdesc(get_func_rettype(fcinfo->flinfo->fn_oid), -1);
	tuple = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	PG_RETURN_DATUM(HeapTupleGetDatum(tuple));
}

static Datum
act_add_task(FunctionCallInfo fcinfo)
{
	return add_arguments(fcinfo, 0, caller_name());
}

PG_FUNCTION_INFO_V1(twt_add_task);
Datum
twt_add_task(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, act_add_task);
}

PG_FUNCTION_INFO_V1(twt_add_task_as);
Datum
twt_add_task_as(PG_FUNCTION_ARGS)
{
	return add_arguments(fcinfo, 1, text_to_cstring(PG_GETARG_TEXT_PP(0)));
}

/* One element of add_tasks(). */
static void
unpack_element(Datum element, bool isnull, NewTask *task)
{
	HeapTupleHeader header;
	HeapTupleData tuple;
	TupleDesc	desc;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a task must not be null")));
	header = DatumGetHeapTupleHeader(element);
	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
								  HeapTupleHeaderGetTypMod(header));
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, desc, task->values, task->nulls);
	ReleaseTupleDesc(desc);
}

static void
element_context(void *arg)
{
	int			number = *(int *) arg;

	if (number > 0)
		errcontext("task %d of add_tasks", number);
}

/* number says in messages which task is meant. */
static void
check_all(NewTask *tasks, int n, const char *role, int *number)
{
	for (int i = 0; i < n; i++)
	{
		*number = i + 1;
		CHECK_FOR_INTERRUPTS();
		check_new_task(&tasks[i]);
		allowed_check(tasks[i].type, role);
	}
}

/* Check all tasks first: a policy function may set the key. */
static void
add_all(NewTask *tasks, int n, AddedTask *results, int *number)
{
	const char *role = caller_name();
	AddCall		call;
	int		   *order;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	begin_call(&call, role);
	check_all(tasks, n, role, number);
	order = add_order(tasks, n);
	for (int i = 0; i < n; i++)
	{
		int			at = order[i];

		*number = at + 1;
		CHECK_FOR_INTERRUPTS();
		add_one(&call, &tasks[at], &results[at]);
	}
	end_call(&call);
	SPI_finish();
}

static void
put_results(ReturnSetInfo *rsinfo, const AddedTask *results, int n)
{
	for (int i = 0; i < n; i++)
	{
		Datum		values[3];
		bool		nulls[3];

		fill_result(&results[i], values, nulls);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

static NewTask *
make_tasks(int n)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, sizeof(NewTask) * (Size) Max(n, 1));
}

static void
add_and_report(FunctionCallInfo fcinfo, NewTask *tasks, int n, int *number)
{
	AddedTask  *results = MemoryContextAllocHuge(CurrentMemoryContext,
												 sizeof(AddedTask) * (Size) Max(n, 1));

	add_all(tasks, n, results, number);
	put_results((ReturnSetInfo *) fcinfo->resultinfo, results, n);
}

static Datum
act_add_tasks(FunctionCallInfo fcinfo)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	int			number = 0;
	ErrorContextCallback context = {error_context_stack, element_context, &number};
	Datum	   *elements;
	bool	   *isnull;
	int			n;
	NewTask    *tasks;

	InitMaterializedSRF(fcinfo, 0);
	error_context_stack = &context;
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_DOUBLE,
					  &elements, &isnull, &n);
	tasks = make_tasks(n);
	for (int i = 0; i < n; i++)
	{
		number = i + 1;
		unpack_element(elements[i], isnull[i], &tasks[i]);
	}
	add_and_report(fcinfo, tasks, n, &number);
	error_context_stack = context.previous;
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(twt_add_tasks);
Datum
twt_add_tasks(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, act_add_tasks);
}

/* The arguments of add_tasks(type, data, ...) after data, as fields of a task. */
static const NewField common_fields[] = {
	NEW_PRIORITY, NEW_RUN_AFTER, NEW_BUCKET, NEW_EXPIRES, NEW_CONTEXT
};

static Datum
act_add_tasks_of_type(FunctionCallInfo fcinfo)
{
	int			number = 0;
	ErrorContextCallback context = {error_context_stack, element_context, &number};
	Elements	data = elements_of(fcinfo, 1, "data");
	NewTask    *tasks = make_tasks(data.n);
	NewTask		common = {0};

	InitMaterializedSRF(fcinfo, 0);
	memset(common.nulls, true, sizeof(common.nulls));
	common.values[NEW_TYPE] = PG_GETARG_DATUM(0);
	common.nulls[NEW_TYPE] = PG_ARGISNULL(0);
	for (size_t i = 0; i < lengthof(common_fields); i++)
	{
		common.values[common_fields[i]] = PG_GETARG_DATUM(i + 2);
		common.nulls[common_fields[i]] = PG_ARGISNULL(i + 2);
	}
	for (int i = 0; i < data.n; i++)
	{
		tasks[i] = common;
		tasks[i].values[NEW_DATA] = data.values[i];
		tasks[i].nulls[NEW_DATA] = data.nulls[i];
	}
	error_context_stack = &context;
	add_and_report(fcinfo, tasks, data.n, &number);
	error_context_stack = context.previous;
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(twt_add_tasks_of_type);
Datum
twt_add_tasks_of_type(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, act_add_tasks_of_type);
}

static Datum
act_add_tasks_json(FunctionCallInfo fcinfo)
{
	Jsonb	   *json = PG_GETARG_JSONB_P(0);
	int			number = 0;
	ErrorContextCallback context = {error_context_stack, element_context, &number};
	int			n = json_count(json);
	NewTask    *tasks = make_tasks(n);

	InitMaterializedSRF(fcinfo, 0);
	error_context_stack = &context;
	json_unpack(json, tasks, &number);
	add_and_report(fcinfo, tasks, n, &number);
	error_context_stack = context.previous;
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(twt_add_tasks_json);
Datum
twt_add_tasks_json(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, act_add_tasks_json);
}

/*
 * How other functions reach queue_trigger(), for tasks already stored and
 * checked.
 */
PG_FUNCTION_INFO_V1(twt_queue_trigger);
Datum
twt_queue_trigger(PG_FUNCTION_ARGS)
{
	TaskTrigger trigger;
	char	   *bucket;
	char	   *type;

	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_VOID();
	bucket = text_to_cstring(PG_GETARG_TEXT_PP(2));
	type = text_to_cstring(PG_GETARG_TEXT_PP(3));
	if (!trigger_bucket_valid(bucket, strlen(bucket)) ||
		!trigger_type_valid(type, strlen(type)))
		PG_RETURN_VOID();
	memset(&trigger, 0, sizeof(trigger));
	memcpy(trigger.id, PG_GETARG_UUID_P(0), sizeof(trigger.id));
	trigger.version = PG_GETARG_INT64(1);
	trigger.priority = PG_GETARG_INT16(4);
	trigger.size = PG_GETARG_INT32(5);
	trigger.due_us = PG_ARGISNULL(6) ? 0 : unix_us(PG_GETARG_TIMESTAMPTZ(6));
	trigger.type_len = strlen(type);
	memcpy(trigger.type, type, trigger.type_len);
	commit_remember(bucket, &trigger);
	PG_RETURN_VOID();
}
