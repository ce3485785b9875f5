#include "base/port.h"

#include "finish/postponed.h"

#define AGAIN_US SECONDS_TO_US(1)

/* How many go in a second, before the database takes one. */
#define ALONE_MIN 10

struct Postponed
{
	LoopTimer  *timer;			/* runs while items wait */
	dlist_head	items;			/* the items that wait, the longest first */
	int			n;				/* also of those that are sent again */
	int			most_alone;		/* how many go alone in one second */
};

Postponed *
postponed_new(Loop *loop, LoopFn fn, void *arg)
{
	Postponed  *postponed = palloc0(sizeof(Postponed));

	postponed->timer = loop_timer_new(loop, fn, arg);
	dlist_init(&postponed->items);
	postponed->most_alone = ALONE_MIN;
	return postponed;
}

void
postponed_free(Postponed *postponed)
{
	loop_timer_free(postponed->timer);
	pfree(postponed);
}

void
postponed_add(Postponed *postponed, FinishItem *item)
{
	if (item->is_postponed)
		postponed->most_alone = ALONE_MIN;
	postponed->n += !item->is_postponed;
	item->is_postponed = item->goes_alone = true;
	item->answer = FINISH_REFUSED;
	dlist_push_tail(&postponed->items, &item->node);
	if (!loop_timer_active(postponed->timer))
		loop_timer_start(postponed->timer, AGAIN_US);
}

int
postponed_take(Postponed *postponed, dlist_head *list)
{
	int			n = 0;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &postponed->items)
	{
		FinishItem *item = dlist_container(FinishItem, node, iter.cur);

		if (n == postponed->most_alone)
			break;
		dlist_delete(&item->node);
		dlist_push_tail(list, &item->node);
		n++;
	}
	if (!dlist_is_empty(&postponed->items))
		loop_timer_start(postponed->timer, AGAIN_US);
	return n;
}

void
postponed_forget(Postponed *postponed, FinishItem *item, bool is_stored)
{
	if (!item->is_postponed)
		return;
	item->is_postponed = false;
	if (--postponed->n == 0)
		postponed->most_alone = ALONE_MIN;
	else if (is_stored)
		postponed->most_alone += ALONE_MIN;
}

dlist_head *
postponed_items(Postponed *postponed)
{
	return &postponed->items;
}

int
postponed_count(const Postponed *postponed)
{
	return postponed->n;
}
