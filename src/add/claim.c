/*-------------------------------------------------------------------------
 *
 * claim.c
 *		Keys and ids of callers: which task has them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "catalog/pg_collation.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "add/claim.h"
#include "add/when.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/unix_time.h"
#include "common/task_id.h"
#include "node/adoption.h"

/*
 * Attempts to claim a key, since a conflicting claim may disappear meanwhile.
 */
#define CLAIM_ATTEMPTS 10

struct Claims
{
	Appender   *append;
	Datum		role;
	int			patience_ms;
	bool		has_statements; /* plan_begin() was called */
	int			pinned;			/* for plan_end() */
};

Claims *
claims_begin(Appender *append, Datum role, int patience_ms)
{
	Claims	   *claims = palloc0(sizeof(Claims));

	claims->append = append;
	claims->role = role;
	claims->patience_ms = patience_ms;
	return claims;
}

void
claims_end(Claims *claims)
{
	if (claims->has_statements)
		plan_end(claims->pinned);
	pfree(claims);
}

/* Only a task with a key or an id of the caller needs statements. */
static void
begin_statements(Claims *claims)
{
	if (claims->has_statements)
		return;
	claims->pinned = plan_begin();
	claims->has_statements = true;
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
bool
claim_find_finished(AddedTask *result)
{
	int64		ms = task_id_ms(result->id.data);
	Datum		values[3];

	/* Else a reader of the history may miss its first partition. */
	AcceptInvalidationMessages();
	if (ms < 0)
		return false;
	values[0] = UUIDPGetDatum(&result->id);
	values[1] = TimestampTzGetDatum(postgres_us(ms * 1000) - USECS_PER_DAY);
	values[2] = TimestampTzGetDatum(DT_NOEND);
	return read_version(plan_query_latest(PLAN_FIND_FINISHED, values), result);
}

/* Finds the version of the existing task, if the task is still there. */
static void
find_version(Claims *claims, AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	append_flush(claims->append);
	if (!read_version(plan_execute(PLAN_FIND_VERSION, values, NULL), result) && !claim_find_finished(result))
		(void) read_version(plan_execute(PLAN_FIND_ANYWHERE, values, NULL), result);
}

/* Until the result is given to AtEOXact_GUC(), locks are awaited with patience. */
static int
begin_patience(const Claims *claims)
{
	char		limit[16];
	int			level = NewGUCNestLevel();

	if (claims->patience_ms == 0)
		return level;
	snprintf(limit, sizeof(limit), "%d", claims->patience_ms);
	(void) set_config_option("lock_timeout", limit, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * A commit shows its rows before it tells of its partitions.  So while we know of
 * no default partition, wait for whoever makes the first ones: see begin_history().
 */
static void
await_partitions(const Claims *claims)
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
	level = begin_patience(claims);
	LockRelationOid(oid, ShareUpdateExclusiveLock);
	UnlockRelationOid(oid, ShareUpdateExclusiveLock);
	AtEOXact_GUC(true, level);
}

bool
claim_take_back(const Claims *claims, AddedTask *result)
{
	Datum		values[1] = {UUIDPGetDatum(&result->id)};

	await_partitions(claims);
	if (!claim_find_finished(result))
		return false;
	plan_execute(PLAN_DELETE_TASK, values, NULL);
	return true;
}

/* Whether a statement that may wait for a key's row changes it. */
static bool
change_key(const Claims *claims, PlanId plan, Datum *values, char *nulls)
{
	int			level = begin_patience(claims);
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
still_holds(Claims *claims, AddedTask *holder)
{
	Datum		values[1] = {UUIDPGetDatum(&holder->id)};

	find_version(claims, holder);
	if (holder->version_known || !twt_is_adopted())
		return true;
	await_partitions(claims);
	(void) change_key(claims, PLAN_FREE_ORPHAN, values, NULL);
	return false;
}

/* ---- A key that another task has ---- */

static void
refuse_other_type(const NewTask *task)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("key \"%s\" belongs to a live task of another type",
					TextDatumGetCString(task->values[NEW_KEY])),
			 errhint("Begin the keys of each type with the type.")));
}

/*
 * Whether the holder is live; then its version is in *holder.  An ended task keeps no
 * new one out, so an end counts that the transaction's snapshot lacks.
 */
static bool
find_live(Claims *claims, const NewTask *task, AddedTask *holder, bool *is_held)
{
	Datum		values[1] = {UUIDPGetDatum(&holder->id)};
	bool		isnull;
	Datum		type;

	append_flush(claims->append);
	if (!read_version(plan_query_latest(PLAN_FIND_LIVE, values), holder))
		return false;
	*is_held = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull));
	type = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	if (strcmp(TextDatumGetCString(type), task->type) != 0)
		refuse_other_type(task);
	return true;
}

/* Lets sidecars know of the task that was replaced: its row is in SPI_tuptable. */
static void
remember_replaced(const NewTask *task, TimestampTz now, const AddedTask *result)
{
	HeapTuple	row = SPI_tuptable->vals[0];
	bool		isnull;
	TimestampTz due = DatumGetTimestampTz(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull));

	/* A held task has no time. */
	if (!isnull)
		when_remember(task, &result->id, result->version, due, now);
}

static void
refuse_kept(const NewTask *task)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("key \"%s\" is kept for an earlier task",
					TextDatumGetCString(task->values[NEW_KEY])),
			 errdetail("The key was claimed by add_task(), by an import, or with the key_rule \"kept\"."),
			 errhint("Give the keys of put_task() a prefix of their own.")));
}

/* To change its data, or to run another task beside it, would pass over whoever holds it. */
static void
refuse_held(const NewTask *task, const AddedTask *holder)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("key \"%s\" belongs to a held task that may have started",
					TextDatumGetCString(task->values[NEW_KEY])),
			 errdetail("The task is \"%s\".",
					   DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&holder->id)))),
			 errhint("Release or cancel that task first.")));
}

/*
 * Finds the version that the last put_task() gave the holder.  False: the key has
 * changed hands meanwhile.  Keys of add_task() are kept as long as their task.
 */
static bool
find_put(Claims *claims, const NewTask *task, AddedTask *holder, int64 *version)
{
	Datum		values[2] = {UUIDPGetDatum(&holder->id), task->values[NEW_KEY]};
	bool		isnull;

	if (plan_execute(PLAN_FIND_PUT, values, NULL) == 0)
		return false;
	*version = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	if (!isnull)
		return true;
	if (still_holds(claims, holder))
		refuse_kept(task);
	return false;
}

/*
 * The holder becomes the new task, unless it may have started: a start and its end are
 * two versions.  The statement waits for a grab of it.
 */
static bool
replace_holder(Claims *claims, const NewTask *task, TimestampTz now, int64 put_version, AddedTask *holder)
{
	static const NewField fields[] = {
		NEW_SUB_TYPE, NEW_BUCKET, NEW_DATA, NEW_PAYLOAD, NEW_CONTEXT, NEW_EXPIRES
	};
	Datum		values[16] = {
		UUIDPGetDatum(&holder->id), task->values[NEW_TYPE], claims->role,
		Int32GetDatum(task->size), Int16GetDatum(task->priority),
		BoolGetDatum(task->key_rule == KEY_REPLACE), TimestampTzGetDatum(now),
		TimestampTzGetDatum(when_next(task, now)), BoolGetDatum(!when_waits(task, now))
	};
	char		nulls[16];

	memset(nulls, ' ', sizeof(nulls));
	for (size_t i = 0; i < lengthof(fields); i++)
	{
		values[9 + i] = task->values[fields[i]];
		nulls[9 + i] = task->nulls[fields[i]] ? 'n' : ' ';
	}
	values[15] = Int64GetDatum(put_version);
	append_flush(claims->append);
	if (!change_key(claims, PLAN_REPLACE_TASK, values, nulls))
		return false;
	(void) read_version(1, holder);
	remember_replaced(task, now, holder);
	return true;
}

/* Gives the key of the holder to the new task, unless another session was faster. */
static bool
take_key(Claims *claims, const NewTask *task, const pg_uuid_t *own, int64 put_version, const AddedTask *holder)
{
	Datum		values[4] = {UUIDPGetDatum(own), task->values[NEW_KEY], UUIDPGetDatum(&holder->id), Int64GetDatum(put_version)};

	return change_key(claims, PLAN_TAKE_KEY, values, NULL);
}

/* Whether it is decided, by the rule of the caller, what becomes of the task. */
static bool
settle(Claims *claims, const NewTask *task, TimestampTz now, AddedTask *result)
{
	AddedTask	own = *result;
	int64		put_version;
	bool		is_held = false;

	if (!find_first(task, result))
		return false;
	if (task->key_rule == KEY_KEPT)
		return still_holds(claims, result);
	if (!find_put(claims, task, result, &put_version))
		return false;
	if (task->key_rule != KEY_LIVE && replace_holder(claims, task, now, put_version, result))
	{
		result->result = ADD_REPLACED;
		return true;
	}
	if (find_live(claims, task, result, &is_held) && task->key_rule == KEY_LIVE)
		return true;
	if (is_held)
		refuse_held(task, result);

	/* In a copy that is not adopted, the holder may still come. */
	if (!result->version_known && !twt_is_adopted())
		return true;
	if (!take_key(claims, task, &own.id, put_version, result))
		return false;
	*result = own;
	result->result = ADD_NEW;
	return true;
}

/* In SQL of 1.0 all keys are kept. */
static void
require_put_version(void)
{
	if (get_attnum(rows_relation("unique_key"), "put_version") == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the SQL of extension \"twtasks\" has no key_rule other than kept"),
				 errhint("Run ALTER EXTENSION twtasks UPDATE.")));
}

void
claim_key(Claims *claims, const NewTask *task, TimestampTz now, AddedTask *result)
{
	AddedTask	own = {.id = result->id, .result = ADD_EXISTS};
	Datum		values[2] = {UUIDPGetDatum(&own.id), task->values[NEW_KEY]};
	char		nulls[2] = {' ', task->nulls[NEW_KEY] ? 'n' : ' '};
	PlanId		claim = task->key_rule == KEY_KEPT ? PLAN_CLAIM_KEY : PLAN_PUT_KEY;

	begin_statements(claims);
	if (claim == PLAN_PUT_KEY)
		require_put_version();
	for (int i = 0; i < CLAIM_ATTEMPTS; i++)
	{
		*result = own;
		if (change_key(claims, claim, values, nulls))
		{
			result->result = ADD_NEW;
			return;
		}
		if (settle(claims, task, now, result))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not add task: another task with its id or key comes and goes"),
			 errhint("Try the transaction again.")));
}

void
claim_find_other(Claims *claims, const NewTask *task, AddedTask *result)
{
	if (!task->nulls[NEW_KEY])
		refuse_other_key(&result->id);
	if (!result->version_known)
		find_version(claims, result);
	result->result = ADD_EXISTS;
}
