/*-------------------------------------------------------------------------
 *
 * queue.c
 *		Triggers in shared memory: one bounded ring per database and bucket.
 *
 *		from: commit.c			to: next_triggers.c
 *
 * The ring is Dmitry Vyukov's bounded queue for many producers and many
 * consumers: each cell carries a turn number.  A cell is free for the push at
 * position p when its turn is p, and holds the trigger for the pop at position
 * p when its turn is p + 1.  Whoever moves head or tail on by compare-and-swap
 * owns the cell of that position and passes it on by setting its turn.
 *
 * A backend that dies between the two steps would leave its cell for ever,
 * but the only way to die there takes the whole server through crash
 * recovery, which builds the rings anew.
 *
 * To sleep and to wake without missing each other, a waiter first enters its
 * number, then looks again whether the ring is empty; a producer first
 * pushes, then looks for waiters.  Full barriers lie between the two steps.
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "queue.h"
#include "settings.h"

#define QUEUE_WAITERS 64

/* A push gives up after so many lost races; the sweep finds the task. */
#define PUSH_ATTEMPTS 1000

typedef struct Cell
{
	pg_atomic_uint64 turn;
	TaskTrigger trigger;
} Cell;

struct Queue
{
	Oid			database;		/* InvalidOid: unused; under the lock */
	char		bucket[TRIGGER_BUCKET_MAX + 1];
	uint64		mask;
	Cell	   *cells;
	pg_atomic_uint32 flags;
	pg_atomic_uint32 nodes_ended;
	pg_atomic_uint32 nwaiting;
	pg_atomic_uint32 waiters[QUEUE_WAITERS];	/* proc number + 1, 0: free */
	pg_atomic_uint64 pushed;
	pg_atomic_uint64 dropped;
	char		pad1[PG_CACHE_LINE_SIZE];
	pg_atomic_uint64 tail;		/* next push */
	char		pad2[PG_CACHE_LINE_SIZE];
	pg_atomic_uint64 head;		/* next pop */
	char		pad3[PG_CACHE_LINE_SIZE];
};

typedef struct QueueShared
{
	LWLock	   *lock;			/* for finding and making queues */
	int			nqueues;
	Queue		queues[FLEXIBLE_ARRAY_MEMBER];
} QueueShared;

static QueueShared *shared = NULL;
static shmem_request_hook_type prev_shmem_request = NULL;
static shmem_startup_hook_type prev_shmem_startup = NULL;

static Size
cells_size(void)
{
	return mul_size(twt_queue_size, sizeof(Cell));
}

static Size
shared_size(void)
{
	Size		size = add_size(offsetof(QueueShared, queues),
								mul_size(twt_queues, sizeof(Queue)));

	return add_size(MAXALIGN(size), mul_size(twt_queues, cells_size()));
}

static void
request_shmem(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche("twtasks", 1);
}

/* Whatever was pushed before is unknown now, hence the first sweep. */
static void
reset_queue(Queue *queue)
{
	queue->database = InvalidOid;
	memset(queue->bucket, 0, sizeof(queue->bucket));
	pg_atomic_init_u32(&queue->flags, QUEUE_NEED_SWEEP);
	pg_atomic_init_u32(&queue->nodes_ended, 0);
	pg_atomic_init_u32(&queue->nwaiting, 0);
	for (int i = 0; i < QUEUE_WAITERS; i++)
		pg_atomic_init_u32(&queue->waiters[i], 0);
	pg_atomic_init_u64(&queue->pushed, 0);
	pg_atomic_init_u64(&queue->dropped, 0);
	pg_atomic_init_u64(&queue->tail, 0);
	pg_atomic_init_u64(&queue->head, 0);
	for (uint64 i = 0; i <= queue->mask; i++)
		pg_atomic_init_u64(&queue->cells[i].turn, i);
}

static void
startup_shmem(void)
{
	bool		found;

	if (prev_shmem_startup)
		prev_shmem_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("twtasks", shared_size(), &found);
	if (!found)
	{
		char	   *cells = (char *) shared +
			MAXALIGN(offsetof(QueueShared, queues) + sizeof(Queue) * twt_queues);

		shared->lock = &GetNamedLWLockTranche("twtasks")->lock;
		shared->nqueues = twt_queues;
		for (int i = 0; i < twt_queues; i++)
		{
			Queue	   *queue = &shared->queues[i];

			queue->mask = twt_queue_size - 1;
			queue->cells = (Cell *) (cells + cells_size() * i);
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
 * The database of each queue, if it was dropped.  The catalog is not looked into
 * under our lock: that takes other locks, and may fail.
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

/* An unused queue, or one that is still that of a dropped database. */
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
queue_attach(const char *bucket)
{
	Queue	   *queue;
	Oid		   *dropped;

	if (shared == NULL)
		return NULL;
	LWLockAcquire(shared->lock, LW_SHARED);
	queue = find_queue(bucket);
	LWLockRelease(shared->lock);
	if (queue != NULL)
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

/* Claims the cell of the next push; NULL when the ring is full. */
static Cell *
claim_tail(Queue *queue, uint64 *position)
{
	uint64		p = pg_atomic_read_u64(&queue->tail);

	for (int i = 0; i < PUSH_ATTEMPTS; i++)
	{
		Cell	   *cell = &queue->cells[p & queue->mask];
		int64		ahead = (int64) (pg_atomic_read_u64(&cell->turn) - p);

		if (ahead < 0)
			return NULL;
		if (ahead > 0)
			p = pg_atomic_read_u64(&queue->tail);
		else if (pg_atomic_compare_exchange_u64(&queue->tail, &p, p + 1))
		{
			*position = p;
			return cell;
		}
	}
	return NULL;
}

void
queue_push(Queue *queue, const TaskTrigger *trigger)
{
	uint64		position = 0;
	Cell	   *cell = claim_tail(queue, &position);

	if (cell == NULL)
	{
		pg_atomic_fetch_add_u64(&queue->dropped, 1);
		queue_ask(queue, QUEUE_NEED_SWEEP);
		return;
	}
	pg_read_barrier();
	cell->trigger = *trigger;
	pg_write_barrier();
	pg_atomic_write_u64(&cell->turn, position + 1);
	pg_atomic_fetch_add_u64(&queue->pushed, 1);
}

bool
queue_pop(Queue *queue, TaskTrigger *trigger)
{
	uint64		p = pg_atomic_read_u64(&queue->head);

	for (;;)
	{
		Cell	   *cell = &queue->cells[p & queue->mask];
		int64		ahead = (int64) (pg_atomic_read_u64(&cell->turn) - (p + 1));

		if (ahead < 0)
			return false;
		if (ahead > 0)
			p = pg_atomic_read_u64(&queue->head);
		else if (pg_atomic_compare_exchange_u64(&queue->head, &p, p + 1))
		{
			pg_read_barrier();
			*trigger = cell->trigger;
			pg_memory_barrier();
			pg_atomic_write_u64(&cell->turn, p + queue->mask + 1);
			return true;
		}
	}
}

void
queue_ask(Queue *queue, uint32 flags)
{
	pg_atomic_fetch_or_u32(&queue->flags, flags);
}

uint32
queue_take_flags(Queue *queue)
{
	if (pg_atomic_read_u32(&queue->flags) == 0)
		return 0;
	return pg_atomic_exchange_u32(&queue->flags, 0);
}

bool
queue_has_news(Queue *queue)
{
	uint64		p = pg_atomic_read_u64(&queue->head);
	uint64		turn = pg_atomic_read_u64(&queue->cells[p & queue->mask].turn);

	return (int64) (turn - (p + 1)) >= 0 ||
		pg_atomic_read_u32(&queue->flags) != 0;
}

/*
 * A latch belongs to a place in the process array, not to a process: should
 * the waiter have gone, a stranger wakes for nothing, which is allowed.
 */
static void
wake_some(Queue *queue, int most)
{
	pg_memory_barrier();
	if (pg_atomic_read_u32(&queue->nwaiting) == 0)
		return;
	for (int i = 0; i < QUEUE_WAITERS && most > 0; i++)
	{
		uint32		waiter;

		if (pg_atomic_read_u32(&queue->waiters[i]) == 0)
			continue;
		waiter = pg_atomic_exchange_u32(&queue->waiters[i], 0);
		if (waiter == 0)
			continue;
		pg_atomic_fetch_sub_u32(&queue->nwaiting, 1);
		SetLatch(&ProcGlobal->allProcs[waiter - 1].procLatch);
		most--;
	}
}

void
queue_wake(Queue *queue)
{
	wake_some(queue, 1);
}

bool
queue_wait(Queue *queue)
{
	for (int i = 0; i < QUEUE_WAITERS; i++)
	{
		uint32		none = 0;

		if (pg_atomic_compare_exchange_u32(&queue->waiters[i], &none,
										   twt_my_proc_number() + 1))
		{
			pg_atomic_fetch_add_u32(&queue->nwaiting, 1);
			pg_memory_barrier();
			return true;
		}
	}
	return false;
}

void
queue_unwait(Queue *queue)
{
	for (int i = 0; i < QUEUE_WAITERS; i++)
	{
		uint32		me = twt_my_proc_number() + 1;

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
		wake_some(queue, QUEUE_WAITERS);
	}
}

uint32
queue_nodes_ended(Queue *queue)
{
	return pg_atomic_read_u32(&queue->nodes_ended);
}

bool
queue_stats(int n, QueueStats *stats)
{
	for (int i = 0; shared != NULL && i < shared->nqueues; i++)
	{
		Queue	   *queue = &shared->queues[i];

		if (queue->database != MyDatabaseId || n-- > 0)
			continue;
		snprintf(stats->bucket, sizeof(stats->bucket), "%s", queue->bucket);
		stats->waiting = pg_atomic_read_u64(&queue->tail) -
			pg_atomic_read_u64(&queue->head);
		stats->pushed = pg_atomic_read_u64(&queue->pushed);
		stats->dropped = pg_atomic_read_u64(&queue->dropped);
		stats->waiters = pg_atomic_read_u32(&queue->nwaiting);
		stats->need_sweep = (pg_atomic_read_u32(&queue->flags) & QUEUE_NEED_SWEEP) != 0;
		return true;
	}
	return false;
}
