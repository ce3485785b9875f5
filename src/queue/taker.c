/*-------------------------------------------------------------------------
 *
 * taker.c
 *		The queues that this session takes triggers from.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "fmgr.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "queue/door.h"
#include "queue/groups.h"
#include "queue/queue.h"
#include "queue/taker.h"

/* When all queues are in use, one becomes free only rarely. */
#define FULL_MS 10000

struct Taker
{
	char		bucket[TRIGGER_BUCKET_MAX + 1];
	Queue	   *queue;
	int			group;
	uint32		nodes_ended;	/* as last reported */
	bool		is_waiting;
};

static Taker takers[TRIGGER_BUCKETS];
static int	ntakers = 0;

/* The types that our client handles; NULL: all types. */
static TypeList *handled = NULL;

void
takers_stop(void)
{
	for (int i = 0; i < ntakers; i++)
	{
		if (!takers[i].is_waiting)
			continue;
		taker_unwait(&takers[i]);
		taker_pass_on(&takers[i]);
	}
}

/*
 * Leaves all queues; other sessions then look for the tasks that our client
 * took and did not grab.
 */
static void
leave_queues(void)
{
	takers_stop();
	while (ntakers > 0)
	{
		ntakers--;
		queue_leave(takers[ntakers].queue, takers[ntakers].group);
	}
}

static void
on_backend_exit(int code, Datum arg)
{
	leave_queues();
}

static Taker *
add_taker(Queue *queue, const char *bucket)
{
	static bool is_registered = false;
	Taker	   *taker = &takers[ntakers];

	if (ntakers == TRIGGER_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("a session cannot take from more than %d buckets", TRIGGER_BUCKETS)));
	if (!is_registered)
		before_shmem_exit(on_backend_exit, 0);
	is_registered = true;
	strlcpy(taker->bucket, bucket, sizeof(taker->bucket));
	taker->queue = queue;
	taker->group = queue_join(queue, handled);
	taker->is_waiting = false;
	taker->nodes_ended = queue_nodes_ended(queue);
	ntakers++;
	return taker;
}

Taker *
taker_find(const char *bucket)
{
	static TimestampTz full_until = 0;
	TimestampTz now;
	Queue	   *queue;

	for (int i = 0; i < ntakers; i++)
		if (strcmp(takers[i].bucket, bucket) == 0)
			return &takers[i];
	now = GetCurrentTimestamp();
	queue = now < full_until ? queue_find(bucket) : queue_attach(bucket);
	if (queue != NULL)
		return add_taker(queue, bucket);
	if (now >= full_until)
		full_until = TimestampTzPlusMilliseconds(now, FULL_MS);
	return NULL;
}

static bool
is_ours(const TaskTrigger *trigger)
{
	return trigger->due_us != 0 || type_list_fits(handled, trigger->type);
}

bool
taker_pop(Taker *taker, TaskTrigger *trigger, int *looks)
{
	/* The session that handed these on may have known only some of our types. */
	while (queue_pop_handed(taker->queue, taker->group, trigger))
		if (is_ours(trigger))
			return true;
	while (*looks > 0 && queue_pop(taker->queue, trigger))
	{
		(*looks)--;
		if (!queue_is_shared(taker->queue, taker->group) || is_ours(trigger) ||
			!queue_hand_on(taker->queue, taker->group, trigger))
			return true;
	}
	return false;
}

bool
taker_take_sweep(Taker *taker)
{
	return queue_take_asked(taker->queue, taker->group);
}

bool
taker_take_ended(Taker *taker)
{
	uint32		before = taker->nodes_ended;

	taker->nodes_ended = queue_nodes_ended(taker->queue);
	return taker->nodes_ended != before;
}

void
taker_wait(Taker *taker)
{
	taker->is_waiting = queue_wait(taker->queue, taker->group);
}

void
taker_unwait(Taker *taker)
{
	if (taker->is_waiting)
		queue_unwait(taker->queue, taker->group);
	taker->is_waiting = false;
}

void
taker_pass_on(Taker *taker)
{
	queue_pass_on(taker->queue, taker->group);
}

TWT_FUNCTION(twt_take_types);
Datum
twt_take_types(PG_FUNCTION_ARGS)
{
	Elements	types = elements_of(fcinfo, 0, "types");
	char	  **names = palloc(Max(types.n, 1) * sizeof(char *));
	TypeList   *old = handled;
	int			n = 0;

	for (int i = 0; i < types.n; i++)
		if (!types.nulls[i])
			names[n++] = TextDatumGetCString(types.values[i]);
	leave_queues();
	door_make();
	handled = type_list_make(TopMemoryContext, names, n);
	if (old != NULL)
		pfree(old);
	PG_RETURN_VOID();
}
