/*-------------------------------------------------------------------------
 *
 * feed_ring.c
 *		Triggers from shared memory, through CALL twtasks_internal.next_triggers().
 *
 *		from: src/queue/next_triggers.c			to: feed.c
 *
 * Two calls are under way: while we look at the answer of the first, the
 * second already waits.  The server gives us triggers for our handlers, and
 * triggers that nobody handles.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/calls.h"
#include "queue/feed.h"

#define CALLS_AHEAD 2
#define MAX_TRIGGERS 1000
#define WAIT_MS 60000

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
read_triggers(Queue *queue, PGresult *result)
{
	WireArray	columns[TRIGGERS_BUCKET + 1];
	Trigger		trigger;
	int			bucket;

	for (int i = 0; i <= TRIGGERS_BUCKET; i++)
		wire_array_begin(&columns[i], result, 0, i);
	while (next_trigger(columns, &trigger, &bucket))
		if (bucket >= 0 && bucket < queue_config(queue)->nbuckets)
			queue_trigger(queue, bucket, &trigger);
}

static void
read_sweeps(Queue *queue, PGresult *result)
{
	WireArray	names;
	const char *name;
	int			len;

	wire_array_begin(&names, result, 0, TRIGGERS_SWEEP);
	while (wire_array_next(&names, &name, &len))
	{
		int			bucket = config_bucket(queue_config(queue), name, len);

		if (bucket >= 0)
			queue_sweep(queue, bucket);
	}
}

/* PostgreSQL counts from 2000. */
#define EPOCH_SHIFT_US (INT64CONST(946684800) * 1000000)

static void
on_triggers(void *arg, PgOutcome outcome, PGresult *result)
{
	Queue	   *queue = arg;

	if (outcome == PG_FAILED)
		pg_reset(queue_pg(queue), "could not wait for triggers");
	if (outcome != PG_DONE)
		return;
	if (PQntuples(result) != 1 || PQnfields(result) <= TRIGGERS_NODE_GONE)
		return;
	read_triggers(queue, result);
	read_sweeps(queue, result);
	if (!wire_null(result, 0, TRIGGERS_DUE))
		queue_due(queue, wire_get_int8(result, 0, TRIGGERS_DUE) + EPOCH_SHIFT_US);
	if (wire_get_bool(result, 0, TRIGGERS_NODE_GONE))
		queue_node_gone(queue);
}

static void
call_next(Queue *queue)
{
	WireParams	params;

	wire_init(&params);
	calls_add_buckets(&params, queue_config(queue));
	wire_add_int4(&params, MAX_TRIGGERS);
	wire_add_int4(&params, WAIT_MS);
	pg_send(queue_pg(queue), &call_next_triggers, &params, on_triggers, queue);
}

void
queue_ring_pump(Queue *queue)
{
	while (pg_in_flight(queue_pg(queue)) < CALLS_AHEAD && pg_is_up(queue_pg(queue)))
		call_next(queue);
}

static void
on_types(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_FAILED)
		pg_reset(queue_pg(arg), "could not say which types are handled");
}

void
queue_ring_begin(Queue *queue)
{
	WireParams	params;

	wire_init(&params);
	calls_add_types(&params, queue_config(queue));
	pg_send(queue_pg(queue), &call_take_types, &params, on_types, queue);
	queue_ring_pump(queue);
	queue_sweep_all(queue);
}
