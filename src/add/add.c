/*-------------------------------------------------------------------------
 *
 * add.c
 *		add_task() and add_tasks(): check the tasks, store them, report.
 *
 *		from: SQL			to: store.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "add/add_json.h"
#include "add/allowed.h"
#include "add/batch.h"
#include "add/check.h"
#include "add/store.h"
#include "base/arrays.h"
#include "base/call.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/shape.h"

static const ShapeColumn added_columns[] = {
	{"task_id", UUIDOID},
	{"version", INT8OID},
	{"result", TEXTOID}
};

static const Shape added_shape = SHAPE("added_task", added_columns);

static void
fill_result(const AddedTask *result, Datum *values, bool *nulls)
{
	static const char *const names[] = {
		[ADD_EXISTS] = "already_exists",[ADD_NEW] = "added",[ADD_REPLACED] = "replaced"
	};

	values[0] = UUIDPGetDatum(&result->id);
	nulls[0] = false;
	values[1] = Int64GetDatum(result->version);
	nulls[1] = !result->version_known;
	values[2] = CStringGetTextDatum(names[result->result]);
	nulls[2] = false;
}

static const char *
caller_name(void)
{
	return GetUserNameFromId(caller_role(), false);
}

/* ---- one task ---- */

static Datum
add_one(FunctionCallInfo fcinfo, NewTask *task, const char *role)
{
	Store	   *store;
	AddedTask	result;
	Datum		values[3];
	bool		nulls[3];

	store_check();				/* before we read policies */
	task->has_limit = false;
	check_new_task(task);
	allowed_check_add(task->type, role, caller_is_owner());

	store = store_begin(role, 0);
	store_task(store, task, &result);
	store_end(store);

	fill_result(&result, values, nulls);
	PG_RETURN_DATUM(shape_form_as(&added_shape, get_func_rettype(fcinfo->flinfo->fn_oid),
								  values, nulls));
}

static Datum
act_add_task(FunctionCallInfo fcinfo)
{
	NewTask		task;

	for (int i = 0; i < NEW_FIELDS; i++)
	{
		task.values[i] = PG_GETARG_DATUM(i);
		task.nulls[i] = PG_ARGISNULL(i);
	}
	task.key_rule = KEY_KEPT;
	return add_one(fcinfo, &task, caller_name());
}

TWT_FUNCTION_AS_OWNER(twt_add_task, act_add_task);

static Datum
act_put_task(FunctionCallInfo fcinfo)
{
	/* In the order of the parameters; the fourth one is the rule. */
	static const NewField fields[] = {
		NEW_TYPE, NEW_KEY, NEW_DATA, NEW_FIELDS, NEW_SUB_TYPE, NEW_PRIORITY, NEW_RUN_AFTER, NEW_BUCKET,
		NEW_EXPIRES, NEW_CONTEXT, NEW_PAYLOAD
	};
	NewTask		task;

	require_argument(fcinfo, 1, "key");
	require_argument(fcinfo, 3, "key_rule");
	memset(task.nulls, true, sizeof(task.nulls));
	for (size_t i = 0; i < lengthof(fields); i++)
		if (fields[i] != NEW_FIELDS)
		{
			task.values[fields[i]] = PG_GETARG_DATUM(i);
			task.nulls[fields[i]] = PG_ARGISNULL(i);
		}
	task.key_rule = key_rule_of(PG_GETARG_DATUM(3));
	return add_one(fcinfo, &task, caller_name());
}

TWT_FUNCTION_AS_OWNER(twt_put_task, act_put_task);

TWT_FUNCTION(twt_add_task_as);
Datum
twt_add_task_as(PG_FUNCTION_ARGS)
{
	NewTask		task;

	shape_deform(&new_task_shape, PG_GETARG_HEAPTUPLEHEADER(1), task.values, task.nulls);
	task.key_rule = KEY_KEPT;
	return add_one(fcinfo, &task, text_to_cstring(PG_GETARG_TEXT_PP(0)));
}

TWT_FUNCTION(twt_check_task);
Datum
twt_check_task(PG_FUNCTION_ARGS)
{
	NewTask		task = {.has_limit = false};

	shape_deform(&new_task_shape, PG_GETARG_HEAPTUPLEHEADER(0), task.values, task.nulls);
	check_kept_task(&task);
	allowed_check_add(task.type, caller_name(), false);
	PG_RETURN_DATUM(shape_form_as(&new_task_shape, get_func_rettype(fcinfo->flinfo->fn_oid),
								  task.values, task.nulls));
}

/* ---- many tasks ---- */

static Datum
add_batch(FunctionCallInfo fcinfo, void (*unpack) (FunctionCallInfo fcinfo, Batch *batch), bool is_given)
{
	Batch		batch = {.call = "add_tasks", .is_given = is_given};
	const char *role = caller_name();
	AddedTask  *results;

	InitMaterializedSRF(fcinfo, 0);
	batch_enter(&batch);
	unpack(fcinfo, &batch);
	batch_check(&batch, role);
	results = batch_store(&batch, role);
	for (int i = 0; i < batch.n; i++)
	{
		Datum		values[3];
		bool		nulls[3];

		fill_result(&results[i], values, nulls);
		shape_put(&added_shape, fcinfo, values, nulls);
	}
	batch_leave(&batch);
	return (Datum) 0;
}

static void
unpack_rows(FunctionCallInfo fcinfo, Batch *batch)
{
	Elements	rows = elements_of(fcinfo, 0, "tasks");

	batch_make(batch, rows.n);
	for (int i = 0; i < rows.n; i++)
	{
		batch->number = i + 1;
		if (rows.nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("a task must not be null")));
		shape_deform(&new_task_shape, DatumGetHeapTupleHeader(rows.values[i]),
					 batch->tasks[i].values, batch->tasks[i].nulls);
		batch->tasks[i].key_rule = KEY_KEPT;
	}
}

static Datum
act_add_tasks(FunctionCallInfo fcinfo)
{
	return add_batch(fcinfo, unpack_rows, false);
}

TWT_FUNCTION_AS_OWNER(twt_add_tasks, act_add_tasks);

static Datum
act_add_given_tasks(FunctionCallInfo fcinfo)
{
	return add_batch(fcinfo, unpack_rows, true);
}

TWT_FUNCTION_AS_OWNER(twt_add_given_tasks, act_add_given_tasks);

/* The arguments of add_tasks(type, data, ...) after data, as fields of a task. */
static const NewField common_fields[] = {
	NEW_PRIORITY, NEW_RUN_AFTER, NEW_BUCKET, NEW_EXPIRES, NEW_CONTEXT
};

static void
unpack_data(FunctionCallInfo fcinfo, Batch *batch)
{
	Elements	data = elements_of(fcinfo, 1, "data");
	NewTask		common = {0};

	memset(common.nulls, true, sizeof(common.nulls));
	common.values[NEW_TYPE] = PG_GETARG_DATUM(0);
	common.nulls[NEW_TYPE] = PG_ARGISNULL(0);
	for (size_t i = 0; i < lengthof(common_fields); i++)
	{
		common.values[common_fields[i]] = PG_GETARG_DATUM(i + 2);
		common.nulls[common_fields[i]] = PG_ARGISNULL(i + 2);
	}
	batch_make(batch, data.n);
	for (int i = 0; i < data.n; i++)
	{
		batch->tasks[i] = common;
		batch->tasks[i].values[NEW_DATA] = data.values[i];
		batch->tasks[i].nulls[NEW_DATA] = data.nulls[i];
	}
}

static Datum
act_add_tasks_of_type(FunctionCallInfo fcinfo)
{
	return add_batch(fcinfo, unpack_data, false);
}

TWT_FUNCTION_AS_OWNER(twt_add_tasks_of_type, act_add_tasks_of_type);

static void
unpack_json(FunctionCallInfo fcinfo, Batch *batch)
{
	Jsonb	   *json = PG_GETARG_JSONB_P(0);

	batch_make(batch, json_count(json));
	json_unpack(json, batch->tasks, &batch->number);
}

static Datum
act_add_tasks_json(FunctionCallInfo fcinfo)
{
	return add_batch(fcinfo, unpack_json, false);
}

TWT_FUNCTION_AS_OWNER(twt_add_tasks_json, act_add_tasks_json);
