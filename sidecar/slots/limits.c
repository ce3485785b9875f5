/*-------------------------------------------------------------------------
 *
 * limits.c
 *		The limits that time or the database may open: which of them is next.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/heap.h"
#include "slots/limits.h"

struct Limits
{
	LimitClock	clock;
	void	   *arg;
	Heap		timed;			/* LimitsEntries, the earliest first */
	dlist_head	freed;			/* LimitsEntries */
};

/* ---- all ---- */

static bool
is_earlier(const void *a, const void *b)
{
	return ((const LimitsEntry *) a)->next_us < ((const LimitsEntry *) b)->next_us;
}

static void
set_entry_place(void *item, int place)
{
	((LimitsEntry *) item)->place = place;
}

Limits *
limits_new(LimitClock clock, void *arg)
{
	Limits	   *limits = palloc0(sizeof(Limits));

	limits->clock = clock;
	limits->arg = arg;
	heap_init(&limits->timed, is_earlier, set_entry_place);
	dlist_init(&limits->freed);
	return limits;
}

void
limits_free(Limits *limits)
{
	Assert(limits->timed.count == 0);
	heap_clear(&limits->timed);
	pfree(limits);
}

int64
limits_now_us(const Limits *limits)
{
	return limits->clock(limits->arg);
}

/* ---- one ---- */

void
limits_entry_init(LimitsEntry *entry)
{
	entry->next_us = LIMITS_NEVER;
	entry->place = HEAP_NOWHERE;
	entry->freed = 0;
}

void
limits_forget(Limits *limits, LimitsEntry *entry)
{
	if (entry->place != HEAP_NOWHERE)
		heap_remove(&limits->timed, entry->place);
	if (entry->freed > 0)
		dlist_delete(&entry->freed_node);
}

/* ---- time ---- */

void
limits_set_time(Limits *limits, LimitsEntry *entry, int64 next_us)
{
	if (next_us == entry->next_us)
		return;
	entry->next_us = next_us;
	if (entry->place != HEAP_NOWHERE && next_us == LIMITS_NEVER)
		heap_remove(&limits->timed, entry->place);
	else if (entry->place != HEAP_NOWHERE)
		heap_moved(&limits->timed, entry->place);
	else
		heap_push(&limits->timed, entry);
}

int64
limits_next_us(const Limits *limits)
{
	const LimitsEntry *first = heap_first(&limits->timed);

	return first == NULL ? -1 : first->next_us;
}

LimitsEntry *
limits_due(const Limits *limits, int64 now_us)
{
	LimitsEntry *first = heap_first(&limits->timed);

	return first != NULL && first->next_us <= now_us ? first : NULL;
}

/* ---- freed slots ---- */

void
limits_add_freed(Limits *limits, LimitsEntry *entry, int n)
{
	if (entry->freed == 0)
		dlist_push_tail(&limits->freed, &entry->freed_node);
	entry->freed += n;
}

bool
limits_have_freed(Limits *limits)
{
	return !dlist_is_empty(&limits->freed);
}

LimitsEntry *
limits_pop_freed(Limits *limits, int *freed)
{
	LimitsEntry *entry;

	if (!limits_have_freed(limits))
		return NULL;
	entry = dlist_container(LimitsEntry, freed_node, dlist_pop_head_node(&limits->freed));
	*freed = entry->freed;
	entry->freed = 0;
	return entry;
}
