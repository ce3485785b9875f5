/*-------------------------------------------------------------------------
 *
 * queue.c
 *		Triggers in shared memory: one bounded ring per database and bucket.
 *
 * Sleeping and waking must not miss each other.  A waiter first enters its
 * number, then looks again whether the ring is empty.  A producer first
 * pushes, then looks for waiters.  Full barriers lie between the two steps.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_database.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/call.h"
#include "base/contract.h"
#include "base/settings.h"
#include "queue/door.h"
#include "queue/groups.h"
#include "queue/queue.h"
#include "queue/ring.h"

#define QUEUE_WAITERS 64
#define PREPARED_WORDS 32		/* each note is a bit */

/*
 * A waiter is its process number + 1; its group stands in the higher bits, and
 * above them whether its sidecar reads its door.
 */
#define GROUP_SHIFT 24
#define HAS_DOOR (UINT32_C(1) << 30)
#define ANY_GROUP PG_UINT64_MAX

struct Queue
{
	Oid			database;		/* InvalidOid: unused; under the lock */
	char		bucket[TRIGGER_BUCKET_MAX + 1];
	Groups		groups;
	pg_atomic_uint32 nodes_ended;
	pg_atomic_uint32 nwaiting;
	pg_atomic_uint32 waiters[QUEUE_WAITERS];	/* 0: free */
	pg_atomic_uint64 pushed;
	pg_atomic_uint64 dropped;
	RingCell   *cells;
	Ring		ring;
};

typedef struct QueueShared
{
	LWLock	   *lock;			/* to find and make queues */
	int			nqueues;
	pg_atomic_uint32 prepared[PREPARED_WORDS];
	Queue		queues[FLEXIBLE_ARRAY_MEMBER];
} QueueShared;

static QueueShared *shared = NULL;
static shmem_request_hook_type prev_shmem_request = NULL;
static shmem_startup_hook_type prev_shmem_startup = NULL;

static Size
cells_size(void)
{
	return mul_size(twt_queue_size, sizeof(RingCell));
}

static Size
shared_size(void)
{
	Size		size = add_size(offsetof(QueueShared, queues),
								mul_size(twt_queues, sizeof(Queue)));

	size = add_size(MAXALIGN(size), mul_size(twt_queues, cells_size()));
	return add_size(MAXALIGN(size), groups_size(twt_queues));
}

static void
request_shmem(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche("twtasks", 1);
}

static void
reset_queue(Queue *queue)
{
	queue->database = InvalidOid;
	memset(queue->bucket, 0, sizeof(queue->bucket));
	groups_init(&queue->groups);
	pg_atomic_init_u32(&queue->nodes_ended, 0);
	pg_atomic_init_u32(&queue->nwaiting, 0);
	for (int i = 0; i < QUEUE_WAITERS; i++)
		pg_atomic_init_u32(&queue->waiters[i], 0);
	pg_atomic_init_u64(&queue->pushed, 0);
	pg_atomic_init_u64(&queue->dropped, 0);
	ring_init(&queue->ring, queue->cells, twt_queue_size);
}

static void
startup_shmem(void)
{
	bool		found;
	char	   *cells;

	if (prev_shmem_startup)
		prev_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("twtasks", shared_size(), &found);
	cells = (char *) shared + MAXALIGN(offsetof(QueueShared, queues) + sizeof(Queue) * twt_queues);
	groups_attach(cells + MAXALIGN(cells_size() * twt_queues), twt_queues, !found);
	if (!found)
	{
		shared->lock = &GetNamedLWLockTranche("twtasks")->lock;
		shared->nqueues = twt_queues;
		for (int i = 0; i < PREPARED_WORDS; i++)
			pg_atomic_init_u32(&shared->prepared[i], PG_UINT32_MAX);
		for (int i = 0; i < twt_queues; i++)
		{
			Queue	   *queue = &shared->queues[i];

			queue->cells = (RingCell *) (cells + cells_size() * i);
			reset_queue(queue);
		}
	}
	LWLockRelease(AddinShmemInitLock);
}

void
queue_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
}

bool
queue_available(void)
{
	return shared != NULL;
}

static Queue *
find_queue(const char *bucket)
{
	for (int i = 0; i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];

		if (queue->database == MyDatabaseId &&
			strcmp(queue->bucket, bucket) == 0)
			return queue;
	}
	return NULL;
}

/*
 * Keeps the database of each queue only if the database was dropped.  We do
 * not read the catalog under our lock, since that takes other locks and may
 * fail.
 */
static void
find_dropped(Oid *databases)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	for (int i = 0; i < shared->nqueues; i++)
		databases[i] = shared->queues[i].database;
	LWLockRelease(shared->lock);
	for (int i = 0; i < shared->nqueues; i++)
		if (OidIsValid(databases[i]) &&
			SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(databases[i])))
			databases[i] = InvalidOid;
}

/* An unused queue, or the queue of a dropped database. */
static Queue *
claim_queue(const char *bucket, const Oid *dropped)
{
	for (int i = 0; i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];

		if (OidIsValid(queue->database) && queue->database != dropped[i])
			continue;
		reset_queue(queue);
		snprintf(queue->bucket, sizeof(queue->bucket), "%s", bucket);
		queue->database = MyDatabaseId;
		return queue;
	}
	return NULL;
}

Queue *
queue_find(const char *bucket)
{
	Queue	   *queue;

	if (shared == NULL)
		return NULL;
	LWLockAcquire(shared->lock, LW_SHARED);
	queue = find_queue(bucket);
	LWLockRelease(shared->lock);
	return queue;
}

Queue *
queue_attach(const char *bucket)
{
	Queue	   *queue = queue_find(bucket);
	Oid		   *dropped;

	if (shared == NULL || queue != NULL)
		return queue;

	dropped = palloc(shared->nqueues * sizeof(Oid));
	find_dropped(dropped);
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	queue = find_queue(bucket);
	if (queue == NULL)
		queue = claim_queue(bucket, dropped);
	LWLockRelease(shared->lock);
	pfree(dropped);
	return queue;
}

int
queue_join(Queue *queue, const TypeList *types)
{
	int			group;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	group = groups_join(&queue->groups, types);
	LWLockRelease(shared->lock);
	return group;
}

void
queue_leave(Queue *queue, int group)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	groups_leave(&queue->groups, group);
	LWLockRelease(shared->lock);
	queue_ask(queue);
}

void
queue_push(Queue *queue, const TaskTrigger *trigger)
{
	if (ring_push(&queue->ring, trigger))
	{
		pg_atomic_fetch_add_u64(&queue->pushed, 1);
		return;
	}
	pg_atomic_fetch_add_u64(&queue->dropped, 1);
	queue_ask(queue);
}

bool
queue_pop(Queue *queue, TaskTrigger *trigger)
{
	return ring_pop(&queue->ring, trigger);
}

bool
queue_pop_handed(Queue *queue, int group, TaskTrigger *trigger)
{
	return groups_pop(&queue->groups, group, trigger);
}

bool
queue_take_asked(Queue *queue, int group)
{
	return groups_take_asked(&queue->groups, group);
}

/*
 * A latch belongs to a place in the process array, not to a process.  If the
 * waiter has gone, another process wakes for nothing, which is allowed.
 */
static void
wake_waiter(const Queue *queue, uint32 waiter, const TaskTrigger *lone)
{
	PGPROC	   *process = &ProcGlobal->allProcs[(waiter & ((1 << GROUP_SHIFT) - 1)) - 1];

	if (lone != NULL && (waiter & HAS_DOOR) != 0)
		door_pass(process->pid, queue->bucket, lone);
	SetLatch(&process->procLatch);
}

static void
wake_some(Queue *queue, uint64 groups, int most, const TaskTrigger *lone)
{
	pg_memory_barrier();
	if (pg_atomic_read_u32(&queue->nwaiting) == 0)
		return;
	for (int i = 0; i < QUEUE_WAITERS && most > 0; i++)
	{
		uint32		waiter = pg_atomic_read_u32(&queue->waiters[i]);
		uint32		group = (waiter & ~HAS_DOOR) >> GROUP_SHIFT;

		if (waiter == 0 || (groups >> group & 1) == 0 ||
			!pg_atomic_compare_exchange_u32(&queue->waiters[i], &waiter, 0))
			continue;
		pg_atomic_fetch_sub_u32(&queue->nwaiting, 1);
		wake_waiter(queue, waiter, lone);
		most--;
	}
}

/* Wakes one waiter of each group. */
static void
wake_each(Queue *queue, uint64 groups)
{
	for (int i = 0; groups != 0; i++, groups >>= 1)
		if ((groups & 1) != 0)
			wake_some(queue, UINT64CONST(1) << i, 1, NULL);
}

void
queue_wake(Queue *queue)
{
	wake_some(queue, ANY_GROUP, 1, NULL);
}

void
queue_wake_for(Queue *queue, const TaskTrigger *trigger)
{
	wake_some(queue, ANY_GROUP, 1, trigger);
}

void
queue_ask(Queue *queue)
{
	wake_each(queue, groups_ask(&queue->groups));
}

void
queue_note_prepared(uint32 hash)
{
	pg_atomic_fetch_or_u32(&shared->prepared[hash % PREPARED_WORDS], UINT32_C(1) << hash / PREPARED_WORDS % 32);
}

bool
queue_take_prepared(uint32 hash)
{
	uint32		bit = UINT32_C(1) << hash / PREPARED_WORDS % 32;

	return (pg_atomic_fetch_and_u32(&shared->prepared[hash % PREPARED_WORDS], ~bit) & bit) != 0;
}

/* As ask_duties() does: a time that has passed names no task. */
static void
push_duty(Queue *queue)
{
	static const TaskTrigger duty = {.due_us = INT64CONST(946684801000000), .type = "DUTY", .type_len = sizeof("DUTY") - 1};

	queue_push(queue, &duty);
}

void
queue_ask_all(void)
{
	for (int i = 0; i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];

		if (queue->database != MyDatabaseId)
			continue;
		push_duty(queue);
		queue_ask(queue);
		queue_wake(queue);
	}
}

bool
queue_is_shared(Queue *queue, int group)
{
	return groups_are_others(&queue->groups, group);
}

bool
queue_hand_on(Queue *queue, int group, const TaskTrigger *trigger)
{
	uint64		takers = groups_hand_on(&queue->groups, group, trigger);

	wake_each(queue, takers);
	return takers != 0;
}

void
queue_pass_on(Queue *queue, int group)
{
	if (groups_has_news(&queue->groups, group))
		wake_some(queue, UINT64CONST(1) << group, 1, NULL);
	if (ring_has_news(&queue->ring))
		queue_wake(queue);
}

static uint32
waiter_of(int group)
{
	return (uint32) group << GROUP_SHIFT | (door_is_read() ? HAS_DOOR : 0) | (twt_my_proc_number() + 1);
}

bool
queue_wait(Queue *queue, int group)
{
	for (int i = 0; i < QUEUE_WAITERS; i++)
	{
		uint32		none = 0;

		if (pg_atomic_compare_exchange_u32(&queue->waiters[i], &none, waiter_of(group)))
		{
			pg_atomic_fetch_add_u32(&queue->nwaiting, 1);
			pg_memory_barrier();
			return true;
		}
	}
	return false;
}

void
queue_unwait(Queue *queue, int group)
{
	for (int i = 0; i < QUEUE_WAITERS; i++)
	{
		uint32		me = waiter_of(group);

		if (pg_atomic_compare_exchange_u32(&queue->waiters[i], &me, 0))
			pg_atomic_fetch_sub_u32(&queue->nwaiting, 1);
	}
}

void
queue_node_ended(void)
{
	if (shared == NULL)
		return;
	for (int i = 0; i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];

		if (queue->database != MyDatabaseId)
			continue;
		pg_atomic_fetch_add_u32(&queue->nodes_ended, 1);
		wake_some(queue, ANY_GROUP, QUEUE_WAITERS, NULL);
	}
}

uint32
queue_nodes_ended(Queue *queue)
{
	return pg_atomic_read_u32(&queue->nodes_ended);
}

TWT_FUNCTION(twt_queue_kind);
Datum
twt_queue_kind(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(queue_available() ? "ring" : "notify"));
}

TWT_FUNCTION(twt_lacks_queue);
Datum
twt_lacks_queue(PG_FUNCTION_ARGS)
{
	char	   *bucket = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		is_lacking;

	if (shared == NULL)
		PG_RETURN_BOOL(false);
	LWLockAcquire(shared->lock, LW_SHARED);
	is_lacking = find_queue(bucket) == NULL;
	for (int i = 0; i < shared->nqueues && is_lacking; i++)
		is_lacking = OidIsValid(shared->queues[i].database);
	LWLockRelease(shared->lock);
	PG_RETURN_BOOL(is_lacking);
}

TWT_FUNCTION(twt_queue_stats);
Datum
twt_queue_stats(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; shared != NULL && i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];
		Datum		values[] = {
			CStringGetTextDatum(queue->bucket),
			Int64GetDatum(ring_waiting(&queue->ring)),
			Int64GetDatum(pg_atomic_read_u64(&queue->pushed)),
			Int64GetDatum(pg_atomic_read_u64(&queue->dropped)),
			Int32GetDatum(pg_atomic_read_u32(&queue->nwaiting)),
			BoolGetDatum(groups_is_asked(&queue->groups))
		};
		bool		nulls[lengthof(values)] = {false};

		if (queue->database == MyDatabaseId)
			result_put(fcinfo, values, nulls);
	}
	return (Datum) 0;
}
