/*-------------------------------------------------------------------------
 *
 * news.c
 *		One notification in flight for each bucket.
 *
 *		lock of a bucket	mode			held by
 *		commits				AccessShare		late transactions
 *							Exclusive		the one whose notification is on its way
 *		readers				RowExclusive	sessions of sidecars that look once more
 *							Share			for a moment, to see whether there are any
 *
 * Advisory locks of a kind that no function of PostgreSQL takes, as in
 * node/locks.h.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "commit/news.h"
#include "queue/queue.h"

/* In pg_locks their objsubid; node/locks.h has the kind before them. */
#define KIND_COMMITS 29816
#define KIND_READERS 29817

/* Two buckets of one hash would share a lock, and the sweep finds their tasks. */
static LOCKTAG
tag_of(const char *bucket, uint16 kind)
{
	uint64		hash = hash_bytes_extended((const unsigned char *) bucket, strlen(bucket), 0);
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (hash >> 32), (uint32) hash, kind);
	return tag;
}

static bool
has_readers(const char *bucket)
{
	LOCKTAG		readers = tag_of(bucket, KIND_READERS);

	if (LockAcquire(&readers, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&readers, ShareLock, false);
	return false;
}

/*
 * Nobody must rely on the notification of a transaction that may still fail: a
 * serializable one, or one that waits for the server's lock with a limit.
 */
static bool
may_fail(void)
{
	return IsolationIsSerializable() || LockTimeout > 0;
}

/* A holder whose tasks are visible counts no more: sidecars may have read its news. */
static bool
is_on_its_way(const LOCKTAG *commits)
{
	int			nholders;

	(void) GetLockConflicts(commits, ShareLock, &nholders);
	return nholders > 0;
}

bool
news_must_tell(const char *bucket)
{
	LOCKTAG		commits = tag_of(bucket, KIND_COMMITS);

	if (queue_available() || may_fail() || !has_readers(bucket))
		return true;
	(void) LockAcquire(&commits, AccessShareLock, false, false);
	if (LockAcquire(&commits, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
		return true;
	return !is_on_its_way(&commits);
}

static void
become_reader(const char *bucket)
{
	LOCKTAG		readers = tag_of(bucket, KIND_READERS);

	if (!twt_holds_lock(&readers, RowExclusiveLock))
		(void) LockAcquire(&readers, RowExclusiveLock, true, false);
}

static bool
has_late(const char *bucket)
{
	LOCKTAG		commits = tag_of(bucket, KIND_COMMITS);
	int			nlate;

	(void) GetLockConflicts(&commits, AccessExclusiveLock, &nlate);
	return nlate > 0;
}

TWT_FUNCTION(twt_late_commits);
Datum
twt_late_commits(PG_FUNCTION_ARGS)
{
	Elements	buckets = elements_of(fcinfo, 0, "buckets");
	ArrayBuildState *late = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	if (queue_available())
		PG_RETURN_NULL();
	for (int i = 0; i < buckets.n; i++)
	{
		const char *bucket;

		if (buckets.nulls[i])
			continue;
		bucket = TextDatumGetCString(buckets.values[i]);
		become_reader(bucket);
		if (has_late(bucket))
			accumArrayResult(late, buckets.values[i], false, TEXTOID, CurrentMemoryContext);
	}
	PG_RETURN_DATUM(makeArrayResult(late, CurrentMemoryContext));
}
