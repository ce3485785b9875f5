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
 * A transaction sends no payload while another one's is on its way, and may commit
 * after that one (src/commit/news.h).  So a second look at the table follows news
 * after SECOND_US, and again while a transaction is late.  That many looks a
 * second are few, however many payloads come.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "queue/feed.h"
#include "queue/feed_kind.h"

#define SECOND_US MS_TO_US(20)

static bool
is_wanted(const Feed *feed)
{
	bool		any = false;

	for (int i = 0; i < feed->config->nbuckets; i++)
		any |= feed->news[i].is_wanted;
	return any;
}

/* Later news wait for the answer to an earlier call. */
static void
want_second(Feed *feed, int bucket)
{
	feed->news[bucket].is_wanted = true;
	if (pg_in_flight(feed->pg) == 0 && !loop_timer_active(feed->second))
		loop_timer_start(feed->second, SECOND_US);
}

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
	if (feed->looks_twice)
		want_second(feed, bucket);
}

/* The looks begin after the answer, so they see all commits that it does not name. */
static void
look_again(Feed *feed, PGresult *result)
{
	WireArray	late;
	const char *name;
	int			len;

	wire_array_begin(&late, result, 0, 0);
	while (wire_array_next(&late, &name, &len))
	{
		int			bucket = config_bucket(feed->config, name, len);

		/*
		 * Late transactions of a bucket follow its news; the SQL edition
		 * names further ones.
		 */
		if (bucket >= 0 && feed->news[bucket].is_asked)
			feed->news[bucket].is_wanted = true;
	}
	for (int i = 0; i < feed->config->nbuckets; i++)
		if (feed->news[i].is_asked)
			sweep_want_news(feed->sweep, i);
}

static void
on_late_commits(void *arg, PgOutcome outcome, PGresult *result)
{
	Feed	   *feed = arg;

	if (outcome == PG_FAILED && strcmp(pg_sqlstate(result), "42883") != 0)
		pg_reset(feed->pg, "could not ask for late commits");
	if (outcome != PG_DONE || feed->state == FEED_STOPPED)
		return;
	feed->looks_twice = !PQgetisnull(result, 0, 0);
	if (!feed->looks_twice)
		return;
	look_again(feed, result);
	if (is_wanted(feed))
		loop_timer_start(feed->second, SECOND_US);
}

/* Once called, the server relies on second looks in all buckets. */
static void
ask_for_late(Feed *feed)
{
	WireParams	params;

	for (int i = 0; i < feed->config->nbuckets; i++)
	{
		feed->news[i].is_asked = feed->news[i].is_wanted;
		feed->news[i].is_wanted = false;
	}
	wire_init(&params);
	calls_add_buckets(&params, feed->config);
	pg_send(feed->pg, &call_late_commits, &params, on_late_commits, feed);
}

/* A new session looks at everything. */
void
feed_notify_second(void *arg)
{
	Feed	   *feed = arg;

	if (feed->looks_twice && pg_is_up(feed->pg))
		ask_for_late(feed);
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
	for (int i = 0; i < feed->config->nbuckets; i++)
		feed->news[i].is_wanted = true;
	ask_for_late(feed);
}
