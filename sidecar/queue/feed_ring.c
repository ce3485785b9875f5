/*-------------------------------------------------------------------------
 *
 * feed_ring.c
 *		Triggers from shared memory, through CALL twtasks_internal.next_triggers().
 *
 *		from: src/queue/next_triggers.c			to: feed.c
 *
 * Two calls are in flight: while we handle the answer to the first, the second
 * already waits on the server.  The server gives us triggers for our handlers,
 * and triggers that no node has a handler for.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "queue/feed.h"
#include "queue/feed_kind.h"

#define CALLS_AHEAD 2
#define MAX_TRIGGERS 1000

/* A backend that says nothing for much longer has fallen silent. */
#define WAIT_MS 15000

static bool
next_int(WireArray *array, int64 *number)
{
	const char *value;
	int			len;

	if (!wire_array_next(array, &value, &len))
		return false;
	*number = wire_int(value, len);
	return true;
}

/* False: the row has ended, or is malformed. */
static bool
next_trigger(WireArray *columns, Trigger *trigger, int *bucket)
{
	const char *id;
	const char *type;
	int			len;
	int			type_len;
	int64		priority;
	int64		size;
	int64		number;

	if (!wire_array_next(&columns[TRIGGERS_ID], &id, &len) || len != TRIGGER_ID_BYTES ||
		!next_int(&columns[TRIGGERS_VERSION], &trigger->version) ||
		!wire_array_next(&columns[TRIGGERS_TYPE], &type, &type_len) ||
		!next_int(&columns[TRIGGERS_PRIORITY], &priority) ||
		!next_int(&columns[TRIGGERS_SIZE], &size) ||
		!next_int(&columns[TRIGGERS_BUCKET], &number) ||
		!trigger_type_valid(type, type_len) ||
		priority < 0 || priority >= TRIGGER_PRIORITIES)
		return false;
	memcpy(trigger->id, id, TRIGGER_ID_BYTES);
	memcpy(trigger->type, type, type_len);
	trigger->type[type_len] = '\0';
	trigger->type_len = type_len;
	trigger->priority = priority;
	trigger->size = (int32) size;
	trigger->due_us = 0;
	*bucket = (int) number - 1;
	return true;
}

static void
read_triggers(Feed *feed, PGresult *result)
{
	WireArray	columns[TRIGGERS_BUCKET + 1];
	Trigger		trigger;
	int			bucket;

	for (int i = 0; i <= TRIGGERS_BUCKET; i++)
		wire_array_begin(&columns[i], result, 0, i);
	while (next_trigger(columns, &trigger, &bucket))
		if (bucket >= 0 && bucket < feed->config->nbuckets)
			feed_trigger(feed, bucket, &trigger);
}

static void
read_sweeps(Feed *feed, PGresult *result)
{
	WireArray	names;
	const char *name;
	int			len;

	wire_array_begin(&names, result, 0, TRIGGERS_SWEEP);
	while (wire_array_next(&names, &name, &len))
	{
		int			bucket = config_bucket(feed->config, name, len);

		if (bucket >= 0)
			feed_lost(feed, bucket);
	}
}

static void
on_triggers(void *arg, PgOutcome outcome, PGresult *result)
{
	Feed	   *feed = arg;

	if (outcome == PG_FAILED)
		pg_reset(feed->pg, "could not wait for triggers");
	if (outcome != PG_DONE)
		return;
	if (PQntuples(result) != 1 || PQnfields(result) <= TRIGGERS_NODE_GONE)
		return;
	read_triggers(feed, result);
	read_sweeps(feed, result);
	if (!PQgetisnull(result, 0, TRIGGERS_DUE))
		duties_due_at(feed->duties, wire_get_time(result, 0, TRIGGERS_DUE));
	if (wire_get_bool(result, 0, TRIGGERS_NODE_GONE))
	{
		node_look(feed->node);
		duties_node_gone(feed->duties);
	}
}

static void
call_next(Feed *feed)
{
	WireParams	params;

	wire_init(&params);
	calls_add_buckets(&params, feed->config);
	wire_add_int4(&params, MAX_TRIGGERS);
	wire_add_int4(&params, WAIT_MS);
	pg_expect_wait(feed->pg, MS_TO_US(WAIT_MS));
	pg_send(feed->pg, &call_next_triggers, &params, on_triggers, feed);
}

void
feed_ring_pump(Feed *feed)
{
	while (pg_in_flight(feed->pg) < CALLS_AHEAD && pg_is_up(feed->pg))
		call_next(feed);
}

static void
on_types(void *arg, PgOutcome outcome, PGresult *result)
{
	Feed	   *feed = arg;

	if (outcome == PG_FAILED)
		pg_reset(feed->pg, "could not say which types are handled");
	if (outcome == PG_DONE)
		feed_door_open(feed);
}

void
feed_ring_begin(Feed *feed)
{
	WireParams	params;

	wire_init(&params);
	calls_add_types(&params, feed->config);
	pg_send(feed->pg, &call_take_types, &params, on_types, feed);
	feed_ring_pump(feed);
	feed_sweep_all(feed);
}
