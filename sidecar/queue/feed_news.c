/*
 * feed_news.c -- passes triggers and losses of a feed to the parts that act on
 * them.
 */
#include "base/port.h"

#include "queue/feed_kind.h"

void
feed_trigger(struct Feed *feed, int bucket, const Trigger *trigger)
{
	if (trigger->due_us != 0)
		duties_due_at(feed->duties, trigger->due_us);
	else if (feed->forward != NULL && feed->kind == QUEUE_RING)
		forward_trigger(feed->forward, bucket, trigger);
	else
		tables_push(feed->tables, bucket, trigger);
}

void
feed_lost(struct Feed *feed, int bucket)
{
	sweep_want(feed->sweep, bucket);
	duties_due_at(feed->duties, 1);
}

void
feed_sweep_all(struct Feed *feed)
{
	for (int i = 0; i < feed->config->nbuckets; i++)
		sweep_want(feed->sweep, i);
}
