/*-------------------------------------------------------------------------
 *
 * feed.c
 *		The connection that brings triggers, and its kind.
 *
 *		from: feed_ring.c, feed_notify.c			to: table.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "pg/calls.h"
#include "queue/feed.h"

struct Queue
{
	const Config *config;
	QueueEvents events;
	void	   *arg;
	Pg		   *pg;
	QueueKind	kind;
	bool		is_begun;		/* on this connection */
	bool		is_closing;
};

static void
begin(Queue *queue, QueueKind kind)
{
	if (kind != queue->kind)
		log_line(TWT_LOG_INFO, "queue", "triggers come %s",
				 kind == QUEUE_RING ? "through shared memory" :
				 "by NOTIFY: preload twtasks for faster commits");
	queue->kind = kind;
	queue->is_begun = true;
	if (kind == QUEUE_RING)
		queue_ring_begin(queue);
	else
		queue_notify_begin(queue);
}

static void
on_kind(void *arg, PgOutcome outcome, PGresult *result)
{
	Queue	   *queue = arg;

	if (outcome == PG_FAILED)
		pg_reset(queue->pg, "could not ask for the kind of queue");
	if (outcome != PG_DONE || queue->is_closing)
		return;
	begin(queue, strcmp(PQgetvalue(result, 0, 0), "ring") == 0 ?
		  QUEUE_RING : QUEUE_NOTIFY);
}

static void
on_state(void *arg, bool is_up)
{
	Queue	   *queue = arg;

	queue->is_begun = false;
	if (!is_up || queue->is_closing)
		return;
	if (queue->config->queue == QUEUE_AUTO)
		pg_send(queue->pg, &call_queue_kind, NULL, on_kind, queue);
	else
		begin(queue, queue->config->queue);
}

static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Queue	   *queue = arg;

	if (!queue->is_closing && strcmp(channel, "twtasks") == 0)
		queue_notify_read(queue, payload);
}

Queue *
queue_open(Loop *loop, const Config *config, const QueueEvents *events, void *arg)
{
	Queue	   *queue = palloc0(sizeof(Queue));

	queue->config = config;
	queue->events = *events;
	queue->arg = arg;
	queue->kind = QUEUE_AUTO;
	queue->pg = pg_new(loop, config->postgres, "queue", on_state, queue);
	pg_on_notify(queue->pg, on_notify);
	pg_start(queue->pg);
	return queue;
}

void
queue_stop(Queue *queue)
{
	if (queue->is_closing)
		return;
	queue->is_closing = true;
	queue->is_begun = false;
	pg_close(queue->pg);
}

void
queue_close(Queue *queue)
{
	queue_stop(queue);
	pfree(queue);
}

void
queue_pump(Queue *queue)
{
	if (queue->is_begun && queue->kind == QUEUE_RING)
		queue_ring_pump(queue);
}

QueueKind
queue_kind(const Queue *queue)
{
	return queue->kind;
}

void
queue_trigger(Queue *queue, int bucket, const Trigger *trigger)
{
	if (trigger->due_us != 0)
		queue_due(queue, trigger->due_us);
	else
		queue->events.on_trigger(queue->arg, bucket, trigger);
}

void
queue_sweep(Queue *queue, int bucket)
{
	queue->events.on_sweep(queue->arg, bucket);
}

void
queue_sweep_all(Queue *queue)
{
	for (int i = 0; i < queue->config->nbuckets; i++)
		queue_sweep(queue, i);
}

void
queue_due(Queue *queue, int64 unix_us)
{
	queue->events.on_due(queue->arg, unix_us);
}

void
queue_node_gone(Queue *queue)
{
	queue->events.on_node_gone(queue->arg);
}

const Config *
queue_config(const Queue *queue)
{
	return queue->config;
}

Pg *
queue_pg(const Queue *queue)
{
	return queue->pg;
}
