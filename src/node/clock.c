/*-------------------------------------------------------------------------
 *
 * clock.c
 *		The engine's clock: the server's, unless a test has shifted it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <time.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/contract.h"
#include "base/settings.h"
#include "node/clock.h"

/* Columns of twtasks.test_clock. */
#define CLOCK_AHEAD_US 1

static bool is_known;
static int64 known_ahead_us;
static Oid	clock_table;

static void
forget(Datum arg, Oid relation)
{
	if (!OidIsValid(relation) || relation == clock_table)
		is_known = false;
}

void
clock_init(void)
{
	CacheRegisterRelcacheCallback(forget, (Datum) 0);
}

/* The table has at most one row. */
static int64
read_ahead_us(Oid table)
{
	Relation	relation = table_open(table, AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	row = systable_getnext(scan);
	int64		ahead_us = 0;
	bool		isnull;

	if (HeapTupleIsValid(row))
		ahead_us = DatumGetInt64(heap_getattr(row, CLOCK_AHEAD_US,
											  RelationGetDescr(relation), &isnull));
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return ahead_us;
}

static int64
get_ahead_us(void)
{
	if (!twt_testing)
		return 0;
	if (!is_known)
	{
		clock_table = get_relname_relid("test_clock", get_namespace_oid("twtasks", false));
		known_ahead_us = OidIsValid(clock_table) ? read_ahead_us(clock_table) : 0;
		is_known = true;
	}
	return known_ahead_us;
}

TimestampTz
twt_now(void)
{
	return GetCurrentTimestamp() + get_ahead_us();
}

TWT_FUNCTION(twt_clock);
Datum
twt_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(twt_now());
}

/* Nobody sets CLOCK_MONOTONIC, which begins with the boot of the machine. */
TWT_FUNCTION(twt_boot_time);
Datum
twt_boot_time(PG_FUNCTION_ARGS)
{
	struct timespec up;

	(void) clock_gettime(CLOCK_MONOTONIC, &up);
	PG_RETURN_TIMESTAMPTZ(GetCurrentTimestamp() - (up.tv_sec * USECS_PER_SEC + up.tv_nsec / 1000));
}

TWT_FUNCTION(twt_clock_ahead);
Datum
twt_clock_ahead(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(get_ahead_us());
}

TWT_FUNCTION(twt_is_testing);
Datum
twt_is_testing(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(twt_testing);
}
