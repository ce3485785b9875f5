/*-------------------------------------------------------------------------
 *
 * attempts.c
 *		Attempts of tasks that did not succeed.
 *
 * All rows of a call have the same time, so one statement writes them.  It looks at
 * the partition of that time alone: a plan for the whole would lock all days.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "base/parts.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "finish/attempts.h"
#include "node/clock.h"
#include "policy/policy.h"
#include "policy/try_call.h"

typedef enum Column
{
	ATTEMPT_ID,
	ATTEMPT_VERSION,
	ATTEMPT_TRY,
	ATTEMPT_RUNNABLE,
	ATTEMPT_STARTED,
	ATTEMPT_INCARNATION,
	ATTEMPT_RESULT,
	ATTEMPT_ERROR,
	ATTEMPT_NEXT,
	ATTEMPT_COLUMNS
} Column;

static const struct
{
	Oid			type;
	Oid			array;
	int			length;
	char		align;
}			columns[ATTEMPT_COLUMNS] = {
	{UUIDOID, UUIDARRAYOID, UUID_LEN, TYPALIGN_CHAR},
	{INT8OID, INT8ARRAYOID, sizeof(int64), TYPALIGN_DOUBLE},
	{INT4OID, INT4ARRAYOID, sizeof(int32), TYPALIGN_INT},
	{TIMESTAMPTZOID, TIMESTAMPTZARRAYOID, sizeof(TimestampTz), TYPALIGN_DOUBLE},
	{TIMESTAMPTZOID, TIMESTAMPTZARRAYOID, sizeof(TimestampTz), TYPALIGN_DOUBLE},
	{INT8OID, INT8ARRAYOID, sizeof(int64), TYPALIGN_DOUBLE},
	{TEXTOID, TEXTARRAYOID, -1, TYPALIGN_INT},
	{TEXTOID, TEXTARRAYOID, -1, TYPALIGN_INT},
	{TIMESTAMPTZOID, TIMESTAMPTZARRAYOID, sizeof(TimestampTz), TYPALIGN_DOUBLE}
};

struct Attempts
{
	TimestampTz at;
	int			max;
	int			n;
	Datum	   *values[ATTEMPT_COLUMNS];	/* NULL until there is one */
	bool	   *nulls[ATTEMPT_COLUMNS];
};

Attempts *
attempts_begin(TimestampTz at, int max)
{
	Attempts   *attempts = palloc0(sizeof(Attempts));

	attempts->at = at;
	attempts->max = max;
	return attempts;
}

static void
put(Attempts *attempts, Column column, Datum value, bool isnull)
{
	if (attempts->values[column] == NULL)
	{
		attempts->values[column] = palloc(attempts->max * sizeof(Datum));
		attempts->nulls[column] = palloc(attempts->max * sizeof(bool));
	}
	attempts->values[column][attempts->n] = value;
	attempts->nulls[column][attempts->n] = isnull;
}

static Datum
copy_id(TupleTableSlot *row)
{
	pg_uuid_t  *id = palloc(sizeof(pg_uuid_t));

	*id = *DatumGetUUIDP(row_value(row, TASK_ID));
	return UUIDPGetDatum(id);
}

static void
put_runnable(Attempts *attempts, TupleTableSlot *row, bool is_started)
{
	TimestampTz at = policy_runnable(row);
	bool		was_handed_on = is_started && !DatumGetBool(row_value(row, TASK_QUEUED));

	if (is_started)
		at = Min(at, DatumGetTimestampTz(row_value(row, TASK_STATE_TIME)));
	put(attempts, ATTEMPT_RUNNABLE, TimestampTzGetDatum(at), was_handed_on);
}

void
attempts_add(Attempts *attempts, TupleTableSlot *row, const char *result, text * error, const TimestampTz *next)
{
	bool		is_started;

	if (result == NULL || twt_keep_attempts == 0)
		return;
	is_started = DatumGetObjectId(row_value(row, TASK_STATUS)) == rows_label("task_status", "PROCESSING");
	put(attempts, ATTEMPT_ID, copy_id(row), false);
	put(attempts, ATTEMPT_VERSION, row_value(row, TASK_VERSION), false);
	put(attempts, ATTEMPT_TRY,
		Int32GetDatum(DatumGetInt32(row_value(row, TASK_TRIES)) + (is_started ? 0 : 1)), false);
	put_runnable(attempts, row, is_started);
	put(attempts, ATTEMPT_STARTED, row_value(row, TASK_STATE_TIME), !is_started);
	put(attempts, ATTEMPT_INCARNATION, row_value(row, TASK_INCARNATION),
		!is_started || row_null(row, TASK_INCARNATION));
	put(attempts, ATTEMPT_RESULT, CStringGetTextDatum(result), false);
	put(attempts, ATTEMPT_ERROR, PointerGetDatum(error), error == NULL);
	put(attempts, ATTEMPT_NEXT, TimestampTzGetDatum(next == NULL ? 0 : *next), next == NULL);
	attempts->n++;
}

/* ---- the statement ---- */

/* The partition for a time; InvalidOid: there is no such table. */
static Oid
find_part(TimestampTz at)
{
	Oid			oid = get_relname_relid("task_attempt", get_namespace_oid("twtasks", false));
	Relation	whole;
	Oid			part;

	if (!OidIsValid(oid))
		return InvalidOid;
	whole = table_open(oid, RowExclusiveLock);
	part = parts_find(whole, at);
	if (!OidIsValid(part))
	{
		table_close(whole, RowExclusiveLock);
		plan_execute(PLAN_BEGIN_ATTEMPTS, NULL, NULL);
		whole = table_open(oid, RowExclusiveLock);
		part = parts_find(whole, at);
	}
	table_close(whole, NoLock);
	if (!OidIsValid(part))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("no partition of relation \"task_attempt\" found for row"),
				 errhint("Attach twtasks.task_attempt_other again.")));
	return part;
}

/* A condition that all its rows meet: by it a plan for the whole leaves out all others. */
static char *
rows_of(Oid part)
{
	Expr	   *qual = get_partition_qual_relid(part);

	return qual == NULL ? "true" :
		deparse_expression((Node *) qual, deparse_context_for(get_rel_name(part), part), false, false);
}

/*
 * A restore without owners gives partitions to others, so the rights are those on the
 * whole.  A try that is repeated has a bound; the last one before a person decides has
 * none.  Tries are at least two versions apart, so only a task of many versions can
 * have reached it.  A plan for one attempt looks cheaper than the generic one, so it
 * would be made anew for each.
 */
static SPIPlanPtr
prepare(Oid part)
{
	Oid			types[ATTEMPT_COLUMNS + 1];
	SPIPlanPtr	plan;

	for (int i = 0; i < ATTEMPT_COLUMNS; i++)
		types[i] = columns[i].array;
	types[ATTEMPT_COLUMNS] = TIMESTAMPTZOID;

	/* lint: sql: the condition is the server's own text, the rest is constant */
	plan = SPI_prepare_cursor(psprintf(
									   "INSERT INTO twtasks.task_attempt (task_id, version, try, runnable, started, ended, incarnation, result, error, next, node) "
									   "SELECT u.id, u.version, u.try, u.runnable, u.started, $10, u.incarnation, u.result, "
									   "CASE WHEN u.version OPERATOR(pg_catalog.=) 1 OR u.error IS DISTINCT FROM ("
									   "SELECT t.error FROM twtasks.task_attempt t WHERE t.task_id OPERATOR(pg_catalog.=) u.id AND %1$s "
									   "AND t.error IS NOT NULL AND t.result OPERATOR(pg_catalog.<>) 'late' ORDER BY t.version DESC LIMIT 1) "
									   "THEN u.error END, u.next, n.name "
									   "FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) "
									   "u(id, version, try, runnable, started, incarnation, result, error, next) "
									   "LEFT JOIN twtasks.node n ON n.incarnation OPERATOR(pg_catalog.=) u.incarnation "
									   "WHERE u.next IS NULL OR u.version OPERATOR(pg_catalog.<) 200 OR 100 OPERATOR(pg_catalog.<>) ("
									   "SELECT pg_catalog.count(*) FROM ("
									   "SELECT FROM twtasks.task_attempt t WHERE t.task_id OPERATOR(pg_catalog.=) u.id AND %1$s LIMIT 100) a)",
									   rows_of(part)),
							  lengthof(types), types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "could not prepare the insert of attempts: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	return plan;
}

/* The statement for a partition, which is prepared once a day. */
static SPIPlanPtr
plan_for(Oid part)
{
	static SPIPlanPtr plan;
	static Oid	plan_part;

	if (plan != NULL && plan_part == part)
		return plan;
	if (plan != NULL)
		SPI_freeplan(plan);
	plan = NULL;
	plan = prepare(part);
	plan_part = part;
	return plan;
}

static Datum
array_of(const Attempts *attempts, Column column)
{
	int			lower = 1;
	int			n = attempts->n;

	return PointerGetDatum(construct_md_array(attempts->values[column], attempts->nulls[column], 1, &n, &lower,
											  columns[column].type, columns[column].length,
											  columns[column].length > 0 && columns[column].length <= (int) sizeof(Datum),
											  columns[column].align));
}

/*
 * Partitions are changed under locks that exclude us, for a second at most.  The new
 * partition of a day has no statistics, by which its index would be left aside.  The
 * condition has times, which are read again whenever the plan is made anew.
 */
static int
set_settings(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("lock_timeout", "1s", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("datestyle", "ISO", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

static void
write_all(void *arg)
{
	const Attempts *attempts = arg;
	Datum		values[ATTEMPT_COLUMNS + 1];
	int			pinned = plan_begin();
	int			level = set_settings();
	Oid			part = find_part(attempts->at);

	if (OidIsValid(part))
	{
		int			code;

		for (int i = 0; i < ATTEMPT_COLUMNS; i++)
			values[i] = array_of(attempts, i);
		values[ATTEMPT_COLUMNS] = TimestampTzGetDatum(attempts->at);
		code = SPI_execute_plan(plan_for(part), values, NULL, false, 0);
		if (code < 0)
			elog(ERROR, "could not write attempts: %s", SPI_result_code_string(code));
	}
	AtEOXact_GUC(true, level);
	plan_end(pinned);
}

void
attempts_write(Attempts *attempts)
{
	static TimestampTz told;
	ErrorData  *error;
	TimestampTz now;

	if (attempts->n == 0)
		return;
	error = try_work(write_all, attempts);
	if (error == NULL)
		return;
	/* All calls may fail until somebody mends the table. */
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(told, now, 10000))
		return;
	told = now;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("could not write %d attempts: %s", attempts->n, error->message),
			 errhint("The ends of these tries are kept. Mend twtasks.task_attempt, or set twtasks.keep_attempts to 0.")));
}

/* ---- for SQL ---- */

TWT_FUNCTION(twt_note_attempts);
Datum
twt_note_attempts(PG_FUNCTION_ARGS)
{
	Elements	ids = elements_of(fcinfo, 0, "ids");
	char	   *result = text_to_cstring(PG_GETARG_TEXT_PP(1));
	TimestampTz next = PG_GETARG_TIMESTAMPTZ(3);
	Attempts   *attempts;
	Rows	   *rows;

	if (ids.n == 0 || twt_keep_attempts == 0)
		PG_RETURN_VOID();
	/* The next try can run since this one ended. */
	attempts = attempts_begin(next, ids.n);
	rows = rows_open_to_read();
	for (int i = 0; i < ids.n; i++)
	{
		TupleTableSlot *row = ids.nulls[i] ? NULL : rows_find(rows, DatumGetUUIDP(ids.values[i]));

		if (row != NULL)
			attempts_add(attempts, row, result, PG_GETARG_TEXT_PP(2), &next);
	}
	rows_close(rows);
	attempts_write(attempts);
	PG_RETURN_VOID();
}
