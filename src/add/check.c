/*-------------------------------------------------------------------------
 *
 * check.c
 *		Checks the arguments of add_task().
 *
 * add_task() refuses a wrong argument before it stores anything.  Later, the
 * mistake would be a task that nobody can run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/detoast.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "add/check.h"
#include "add/context.h"
#include "add/json_digits.h"
#include "add/known_type.h"
#include "base/settings.h"
#include "base/shown.h"
#include "policy/policy.h"
#include "policy/policy_apply.h"

#define SUB_TYPE_MAX 250		/* characters */
#define KEY_MAX 1000			/* bytes: must fit an index entry */

/* A text argument as a C string; NULL when it is null. */
static char *
text_argument(const NewTask *task, NewField field)
{
	if (task->nulls[field])
		return NULL;
	return text_to_cstring(DatumGetTextPP(task->values[field]));
}

static void
check_type(NewTask *task)
{
	char	   *type = text_argument(task, NEW_TYPE);

	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("type must not be null")));
	if (!trigger_type_valid(type, strlen(type)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type: \"%s\"", shown_value(type)),
				 errdetail("A type has 1 to %d letters (A to Z), digits and characters of \"_.:|/-\".",
						   TRIGGER_TYPE_MAX),
				 errhint("Put what varies from task to task into sub_type or data, but the key of a limit into the type, "
						 "in these characters: a number, or a hash.")));
	task->type = type;
}

static void
check_bucket(NewTask *task)
{
	char	   *bucket = text_argument(task, NEW_BUCKET);

	if (!trigger_bucket_valid(bucket, strlen(bucket)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid bucket: \"%s\"", shown_value(bucket)),
				 errdetail("A bucket has 1 to %d letters (A to Z), digits and characters of \"_-\".",
						   TRIGGER_BUCKET_MAX)));
	if (!policy_bucket_exists(bucket))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bucket \"%s\" is not configured", bucket),
				 errdetail("No sidecar would run the task."),
				 errhint("Choose a bucket of twtasks.buckets, or create it with twtasks.configure_bucket().")));
	task->bucket = bucket;
}

/* Control characters could forge lines of logs and environments. */
static bool
is_printable(const char *value)
{
	for (; *value; value++)
		if ((unsigned char) *value < 0x20 || *value == 0x7f)
			return false;
	return true;
}

static void
check_sub_type(NewTask *task)
{
	char	   *sub_type = text_argument(task, NEW_SUB_TYPE);

	if (sub_type == NULL)
		return;
	if (pg_mbstrlen(sub_type) > SUB_TYPE_MAX || !is_printable(sub_type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid sub_type"),
				 errdetail("A sub_type has at most %d characters and no control characters.",
						   SUB_TYPE_MAX)));
}

static void
check_key(NewTask *task)
{
	char	   *key = text_argument(task, NEW_KEY);

	if (key == NULL)
		return;
	if (*key == '\0' || strlen(key) > KEY_MAX || !is_printable(key))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid key"),
				 errdetail("A key has 1 to %d bytes and no control characters.", KEY_MAX),
				 errhint("For a longer key use a hash of it.")));
}

/* A rule that gives keys from one task to the next would separate an id from its key. */
static void
check_key_rule(const NewTask *task)
{
	if (task->key_rule != KEY_KEPT && (task->nulls[NEW_KEY] || !task->nulls[NEW_TASK_ID]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg(task->nulls[NEW_KEY] ? "key must not be null with this key_rule" :
						"task_id cannot be given with this key_rule"),
				 errhint("The rules live, replace and replace_data are about a key, and each new task has a new id.")));
}

static void
check_priority(NewTask *task)
{
	int32		priority;

	priority = DatumGetInt32(task->values[NEW_PRIORITY]);
	if (priority < 0 || priority >= TRIGGER_PRIORITIES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("priority must be between 0 and %d, not %d",
						TRIGGER_PRIORITIES - 1, priority),
				 errhint("0 is the most urgent, 5 the default.")));
	task->priority = priority;
}

static void
check_time(const NewTask *task, NewField field, const char *name)
{
	if (!task->nulls[field] &&
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(task->values[field])))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a finite time", name),
				 errhint("Leave it out, or use NULL, for no limit.")));
}

/*
 * Checks the size that a reader of the task gets, even if a value is toasted.
 */
static void
check_size(NewTask *task)
{
	static const NewField fields[] = {NEW_DATA, NEW_PAYLOAD, NEW_CONTEXT};
	Size		size = 0;

	for (int i = 0; i < (int) lengthof(fields); i++)
		if (!task->nulls[fields[i]])
			size += toast_raw_datum_size(task->values[fields[i]]) - VARHDRSZ;
	if (!task->nulls[NEW_DATA])
		size += json_digits(task->values[NEW_DATA]);
	if (!task->nulls[NEW_CONTEXT])
		size += json_digits(task->values[NEW_CONTEXT]);
	if (size > (Size) twt_max_payload)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("task of %zu bytes is too large", size),
				 errdetail("The setting twtasks.max_payload allows %d bytes for data, payload and context together, with all digits of their numbers.",
						   twt_max_payload),
				 errhint("Store large content elsewhere and add a task that names it.")));
	task->size = (int32) size;
}

static void
check_fields(NewTask *task)
{
	policy_apply(task);
	check_bucket(task);
	check_sub_type(task);
	check_key(task);
	check_key_rule(task);
	check_priority(task);
	check_time(task, NEW_RUN_AFTER, "run_after");
	check_time(task, NEW_EXPIRES, "expires");
	check_size(task);
	task->run_after = task->nulls[NEW_RUN_AFTER] ? DT_NOBEGIN :
		DatumGetTimestampTz(task->values[NEW_RUN_AFTER]);
}

void
check_new_task(NewTask *task)
{
	check_type(task);
	context_merge(task);
	if (policy_intercept(task))
		check_type(task);
	known_type_check(task->type);
	check_fields(task);
}

void
check_kept_task(NewTask *task)
{
	check_type(task);
	check_fields(task);
	task->nulls[NEW_EXPIRES] = true;
}
