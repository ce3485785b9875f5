/*-------------------------------------------------------------------------
 *
 * table_changed.c
 *		Tells all sessions that one of our tables has changed.
 *
 *		to: adoption.c, clock.c
 *
 * A session that caches the content of a table drops its cache when the
 * table's relcache entry is invalidated: at once in this session, elsewhere at
 * the commit.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/inval.h"

#include "base/contract.h"

TWT_FUNCTION(twt_table_changed);
Datum
twt_table_changed(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("not called by a trigger")));
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	PG_RETURN_POINTER(NULL);
}
