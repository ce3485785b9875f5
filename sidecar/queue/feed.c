/*-------------------------------------------------------------------------
 *
 * feed.c
 *		The connection that brings triggers, and its kind.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "calls/calls.h"
#include "queue/feed.h"
#include "queue/feed_kind.h"

static void
set_state(Feed *feed, FeedState state)
{
	if (feed->state != FEED_STOPPED)
		feed->state = state;
}

/* By NOTIFY each trigger reaches all nodes, so there is none to hand on. */
static void
begin_kafka(Feed *feed, QueueKind kind)
{
	if (kind == QUEUE_NOTIFY && kind != feed->kind)
		log_line(TWT_LOG_WARN, "kafka", "not used for triggers: twtasks is not preloaded");
	if (kind == QUEUE_RING && feed->forward == NULL)
		feed->forward = forward_open(feed->loop, feed->config, feed->tables, feed->sweep);
}

static void
begin(Feed *feed, QueueKind kind)
{
	if (feed->config->queue == QUEUE_KAFKA)
		begin_kafka(feed, kind);
	if (kind != feed->kind)
		log_line(TWT_LOG_INFO, "queue", "triggers come %s",
				 kind == QUEUE_RING ? "through shared memory" :
				 "by NOTIFY; where twtasks can be preloaded, that makes commits faster");
	feed->kind = kind;
	set_state(feed, FEED_RUNNING);
	if (kind == QUEUE_RING)
		feed_ring_begin(feed);
	else
		feed_notify_begin(feed);
}

static void
on_kind(void *arg, PgOutcome outcome, PGresult *result)
{
	Feed	   *feed = arg;

	if (outcome == PG_FAILED)
		pg_reset(feed->pg, "could not ask for the kind of queue");
	if (outcome == PG_DONE && feed->state != FEED_STOPPED)
		begin(feed, strcmp(PQgetvalue(result, 0, 0), "ring") == 0 ? QUEUE_RING : QUEUE_NOTIFY);
}

static void
on_state(void *arg, bool is_up)
{
	Feed	   *feed = arg;

	set_state(feed, FEED_WAITING);
	feed_door_close(feed);
	feed->looks_twice = false;
	if (!is_up || feed->state == FEED_STOPPED)
		return;
	if (feed->config->queue == QUEUE_AUTO || feed->config->queue == QUEUE_KAFKA)
		pg_send(feed->pg, &call_queue_kind, NULL, on_kind, feed);
	else
		begin(feed, feed->config->queue);
}

static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Feed	   *feed = arg;

	if (feed->state != FEED_STOPPED && strcmp(channel, "twtasks") == 0)
		feed_notify_read(feed, payload);
}

Feed *
feed_open(Loop *loop, const Config *config, const FeedTargets *targets)
{
	Feed	   *feed = palloc0(sizeof(Feed));

	feed->loop = loop;
	feed->config = config;
	feed->tables = targets->tables;
	feed->sweep = targets->sweep;
	feed->duties = targets->duties;
	feed->node = targets->node;
	feed->kind = QUEUE_AUTO;
	feed->door = -1;
	feed->news = palloc0(config->nbuckets * sizeof(FeedNews));
	feed->second = loop_timer_new(loop, feed_notify_second, feed);
	feed->pg = pg_new(loop, config->postgres, "queue", on_state, feed);
	pg_on_notify(feed->pg, on_notify);
	pg_start(feed->pg);
	return feed;
}

void
feed_stop(Feed *feed)
{
	if (feed->state == FEED_STOPPED)
		return;
	set_state(feed, FEED_STOPPED);
	feed_door_close(feed);
	pg_close(feed->pg);
	if (feed->forward != NULL)
		forward_leave(feed->forward);
}

bool
feed_is_idle(const Feed *feed)
{
	return feed->forward == NULL || forward_has_left(feed->forward);
}

void
feed_reload(Feed *feed, const Config *config)
{
	feed->config = config;
	if (feed->forward != NULL)
		forward_reload(feed->forward, config);
}

void
feed_add_troubles(void *arg, json_t *list)
{
	const Feed *feed = arg;

	if (feed->forward != NULL)
		forward_add_troubles(feed->forward, list);
}

void
feed_close(Feed *feed)
{
	feed_stop(feed);
	if (feed->forward != NULL)
		forward_free(feed->forward);
	loop_timer_free(feed->second);
	pfree(feed->news);
	pfree(feed);
}

void
feed_pump(Feed *feed)
{
	if (feed->state == FEED_RUNNING && feed->kind == QUEUE_RING)
		feed_ring_pump(feed);
}

QueueKind
feed_kind(const Feed *feed)
{
	return feed->kind;
}
