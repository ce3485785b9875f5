/*-------------------------------------------------------------------------
 *
 * feed_notify.c
 *		Triggers by LISTEN and NOTIFY, for servers that do not preload twtasks.
 *
 *		from: src/commit/commit.c			to: feed.c
 *
 * A payload is the name of the bucket, then one trigger per line.  With too
 * many triggers, it is the name and "sweep".  Any session may send any
 * payload, so malformed ones are skipped.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "queue/feed.h"
#include "queue/feed_kind.h"

void
feed_notify_read(Feed *feed, const char *payload)
{
	size_t		len = strcspn(payload, "\n");
	int			bucket = config_bucket(feed->config, payload, len);

	if (bucket < 0)
		return;
	while (payload[len] == '\n')
	{
		Trigger		trigger;

		payload += len + 1;
		len = strcspn(payload, "\n");
		if (len == 5 && memcmp(payload, "sweep", 5) == 0)
			feed_lost(feed, bucket);
		else if (trigger_decode(payload, len, &trigger))
			feed_trigger(feed, bucket, &trigger);
	}
}

/* LISTEN has succeeded: from now on every commit notifies us. */
static void
on_listening(void *arg, PgOutcome outcome, PGresult *result)
{
	Feed	   *feed = arg;

	if (outcome == PG_FAILED)
		pg_reset(feed->pg, "could not listen for triggers");
	if (outcome == PG_DONE)
		feed_sweep_all(feed);
}

void
feed_notify_begin(Feed *feed)
{
	pg_send(feed->pg, &call_listen, NULL, on_listening, feed);
}
