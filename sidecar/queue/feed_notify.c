/*-------------------------------------------------------------------------
 *
 * feed_notify.c
 *		Triggers by LISTEN and NOTIFY, for servers that do not preload us.
 *
 *		from: src/commit/commit.c			to: feed.c
 *
 * A payload is the bucket's name, then one trigger per line; or the bucket's
 * name and "sweep" when there were too many.  Anybody may NOTIFY anything: we
 * skip malformed payloads.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/calls.h"
#include "queue/feed.h"

void
queue_notify_read(Queue *queue, const char *payload)
{
	size_t		len = strcspn(payload, "\n");
	int			bucket = config_bucket(queue_config(queue), payload, len);

	if (bucket < 0)
		return;
	while (payload[len] == '\n')
	{
		Trigger		trigger;

		payload += len + 1;
		len = strcspn(payload, "\n");
		if (len == 5 && memcmp(payload, "sweep", 5) == 0)
			queue_sweep(queue, bucket);
		else if (trigger_decode(payload, len, &trigger))
			queue_trigger(queue, bucket, &trigger);
	}
}

/* From here on every commit is sure to reach us. */
static void
on_listening(void *arg, PgOutcome outcome, PGresult *result)
{
	Queue	   *queue = arg;

	if (outcome == PG_FAILED)
		pg_reset(queue_pg(queue), "could not listen for triggers");
	if (outcome == PG_DONE)
		queue_sweep_all(queue);
}

void
queue_notify_begin(Queue *queue)
{
	pg_send(queue_pg(queue), &call_listen, NULL, on_listening, queue);
}
