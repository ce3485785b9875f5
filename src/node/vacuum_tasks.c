/*-------------------------------------------------------------------------
 *
 * vacuum_tasks.c
 *		vacuum_tasks(): the leader vacuums the tables that each task passes through.
 *
 * A finish prunes the pages of earlier tasks, but only a vacuum gives line
 * pointers and index entries back.  So a page serves about 160 tasks between two
 * vacuums.  Autovacuum comes once in autovacuum_naptime, by default a minute, and
 * tens of thousands of tasks a second fill 100 MB until then.  VACUUM itself is for
 * the owner; a sidecar may call this procedure.
 *
 * The call vacuums what autovacuum would find due, with the settings of the table.
 * It does not wait for locks, and it does not shrink the file, which would need a lock
 * that stops everybody, and it does not sleep as the cost of a vacuum may demand.  A table that has outgrown MOST_PAGES is left to autovacuum:
 * there the growth of a minute does not matter, and the call would take long.
 *
 * A snapshot would keep all sessions from rows that die while a vacuum takes its
 * time.  So this is a procedure: each table has a transaction of its own, which
 * others ignore as they ignore a transaction of VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "commands/vacuum.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/contract.h"
#include "base/path.h"
#include "base/rows.h"

/* Fewer dead rows fill no more than a few dozen pages. */
#define LEAST_DEAD 5000

/* 256 MB */
#define MOST_PAGES 32768

/* Milliseconds until the next call: nothing was to be done, and a vacuum has helped. */
#define PAUSE_MS 10000
#define PAUSE_IN_NEED_MS 2000

/* A vacuum takes at most one part in so many of the time, and in vain fewer. */
#define SHARE_OF_HELP 20
#define SHARE_IN_VAIN 100

TWT_FUNCTION(twt_vacuum_tasks);

static int64
dead_rows(Oid table)
{
	return DatumGetInt64(DirectFunctionCall1(pg_stat_get_dead_tuples, ObjectIdGetDatum(table)));
}

/* How many dead rows autovacuum tolerates; -1: its user wants no vacuum. */
static double
tolerated(Relation table, const AutoVacOpts *options)
{
	double		threshold = options->vacuum_threshold >= 0 ? options->vacuum_threshold : autovacuum_vac_thresh;
	double		scale = options->vacuum_scale_factor >= 0 ? options->vacuum_scale_factor : autovacuum_vac_scale;

	if (!options->enabled)
		return -1;
	return Max(LEAST_DEAD, threshold + scale * Max(table->rd_rel->reltuples, 0));
}

static VacOptValue
index_cleanup(Relation table)
{
	const StdRdOptions *options = (const StdRdOptions *) table->rd_options;

	if (options == NULL || options->vacuum_index_cleanup == STDRD_OPTION_VACUUM_INDEX_CLEANUP_AUTO)
		return VACOPTVALUE_AUTO;
	return options->vacuum_index_cleanup == STDRD_OPTION_VACUUM_INDEX_CLEANUP_ON ? VACOPTVALUE_ENABLED : VACOPTVALUE_DISABLED;
}

/*
 * An index may call functions for its vacuum, as BRIN does for new pages.  As in VACUUM,
 * they have the rights of the table's owner and change nothing in the session.
 */
static void
vacuum_as_owner(Relation table, VacuumParams *params)
{
	int			nest_level = NewGUCNestLevel();
	Oid			save_user;
	int			save_context;

	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(table->rd_rel->relowner, save_context | SECURITY_RESTRICTED_OPERATION);
	(void) path_pin();
	table_relation_vacuum(table, params, GetAccessStrategy(BAS_VACUUM));
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(save_user, save_context);
}

/* Returns when to call again, in milliseconds; 0: there was nothing to do. */
static int64
vacuum_if_due(Relation table, const AutoVacOpts *options)
{
	double		most = tolerated(table, options);
	int64		dead = dead_rows(RelationGetRelid(table));
	TimestampTz begun = GetCurrentTimestamp();
	int64		took;
	VacuumParams params = {
		.options = VACOPT_VACUUM,
		.freeze_min_age = -1,
		.freeze_table_age = -1,
		.multixact_freeze_min_age = -1,
		.multixact_freeze_table_age = -1,
		.log_min_duration = -1,
		.index_cleanup = index_cleanup(table),
		.truncate = VACOPTVALUE_DISABLED,
		.nworkers = -1
	};

	if (most < 0 || dead <= most || RelationGetNumberOfBlocks(table) > MOST_PAGES)
		return 0;
	vacuum_as_owner(table, &params);
	took = TimestampDifferenceMilliseconds(begun, GetCurrentTimestamp());
	pgstat_clear_snapshot();
	if (dead_rows(RelationGetRelid(table)) < dead / 2)
		return Max(took * SHARE_OF_HELP, PAUSE_IN_NEED_MS);
	return Max(took * SHARE_IN_VAIN, PAUSE_MS);
}

/* Begins a transaction that others ignore, until it ends. */
static void
begin_as_vacuum(void)
{
	SPI_commit();
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_IN_VACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

/*
 * Vacuums one table in a transaction of its own, which keeps the lock until its end.
 * The table's own options take the place of "options".
 */
static int64
vacuum_alone(Oid oid, AutoVacOpts *options, Oid *toast)
{
	int64		next_ms = 0;
	Relation	table;

	begin_as_vacuum();
	PushActiveSnapshot(GetTransactionSnapshot());
	table = ConditionalLockRelationOid(oid, ShareUpdateExclusiveLock) ? try_relation_open(oid, NoLock) : NULL;
	if (table != NULL)
	{
		if (table->rd_options != NULL)
			*options = ((const StdRdOptions *) table->rd_options)->autovacuum;
		*toast = table->rd_rel->reltoastrelid;
		next_ms = vacuum_if_due(table, options);
		relation_close(table, NoLock);
	}
	PopActiveSnapshot();
	return next_ms;
}

/* As for autovacuum, a TOAST table without options has the options of its table. */
static int64
vacuum_with_toast(const char *name)
{
	AutoVacOpts options = {.enabled = true, .vacuum_threshold = -1, .vacuum_scale_factor = -1};
	Oid			toast = InvalidOid;
	Oid			none;
	int64		next_ms = vacuum_alone(rows_relation(name), &options, &toast);

	return OidIsValid(toast) ? Max(next_ms, vacuum_alone(toast, &options, &none)) : next_ms;
}

Datum
twt_vacuum_tasks(PG_FUNCTION_ARGS)
{
	bool		nulls[] = {false};
	Datum		values[lengthof(nulls)];
	int64		of_tasks;
	int64		of_keys;
	int64		next_ms;

	require_own_statement(fcinfo, "vacuum_tasks");
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	of_tasks = vacuum_with_toast("task");
	of_keys = vacuum_with_toast("unique_key");
	SPI_commit();
	SPI_finish();
	next_ms = Max(of_tasks, of_keys);
	values[0] = Int64GetDatum(next_ms > 0 ? next_ms : PAUSE_MS);
	return result_row(fcinfo, values, nulls);
}
