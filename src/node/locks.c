/*-------------------------------------------------------------------------
 *
 * locks.c
 *		Locks between sessions, by a number.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lock.h"

#include "base/contract.h"
#include "node/locks.h"

static LOCKTAG own;
static bool has_own = false;

static LOCKTAG
tag_of(int64 number)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (number >> 32), (uint32) number, LOCKS_KIND);
	return tag;
}

bool
locks_try(int64 number, LOCKMODE mode)
{
	LOCKTAG		tag = tag_of(number);

	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Reads all locks of the server. */
static bool
any_holds(const LOCKTAG *tag)
{
	LockData   *all = GetLockStatusData();
	bool		holds = false;

	for (int i = 0; i < all->nelements; i++)
		holds |= memcmp(&all->locks[i].locktag, tag, sizeof(LOCKTAG)) == 0 &&
			(all->locks[i].holdMask & LOCKBIT_ON(ExclusiveLock)) != 0;
	return holds;
}

/*
 * A holder has AccessExclusiveLock too, and nobody waits for that mode who does not
 * hold the lock.  So an AccessShareLock that is not available proves a holder.  A
 * ShareLock does not: it is not available either when a session waits for the
 * lock, behind a shared one.  Only a holder's first moment needs to read all locks.
 */
bool
locks_held(int64 number)
{
	LOCKTAG		tag = tag_of(number);

	if (twt_holds_lock(&tag, ExclusiveLock) ||
		LockAcquire(&tag, AccessShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, AccessShareLock, false);
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return any_holds(&tag);
	(void) LockRelease(&tag, ShareLock, false);
	return false;
}

TWT_FUNCTION(twt_try_lock);
Datum
twt_try_lock(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(locks_try(PG_GETARG_INT64(0), PG_GETARG_BOOL(1) ? ShareLock : ExclusiveLock));
}

/* Takes both modes of a holder, the one that counts first: see locks_held(). */
static void
hold(LOCKTAG tag, bool dont_wait)
{
	if (LockAcquire(&tag, ExclusiveLock, true, dont_wait) == LOCKACQUIRE_NOT_AVAIL)
		return;
	own = tag;
	has_own = true;
	(void) LockAcquire(&tag, AccessExclusiveLock, true, dont_wait);
}

TWT_FUNCTION(twt_lock_session);
Datum
twt_lock_session(PG_FUNCTION_ARGS)
{
	hold(tag_of(PG_GETARG_INT64(0)), false);
	PG_RETURN_VOID();
}

bool
locks_own_held(void)
{
	return has_own && twt_holds_lock(&own, ExclusiveLock);
}

void
locks_own_restore(void)
{
	if (!locks_own_held())
		hold(own, true);
}

TWT_FUNCTION(twt_session_holds);
Datum
twt_session_holds(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag = tag_of(PG_GETARG_INT64(0));

	PG_RETURN_BOOL(twt_holds_lock(&tag, ExclusiveLock));
}

/*
 * Whether the session that holds this lock is outside a transaction: then the
 * lock manager's answer about blockers omits the session.  Views about
 * sessions would need rights, which this does not.
 */
TWT_FUNCTION(twt_session_is_idle);
Datum
twt_session_is_idle(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag = tag_of(PG_GETARG_INT64(0));
	int			at_work;

	(void) GetLockConflicts(&tag, ExclusiveLock, &at_work);
	PG_RETURN_BOOL(at_work == 0);
}

TWT_FUNCTION(twt_slots_lock);
Datum
twt_slots_lock(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(LOCKS_SLOTS);
}
