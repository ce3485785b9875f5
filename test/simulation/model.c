/*-------------------------------------------------------------------------
 *
 * model.c
 *		What the functions of the extension do, on tables in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "port/pg_bswap.h"

#include "acts.h"
#include "calls/calls.h"
#include "common/trigger.h"
#include "door.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

#define UNDO_MOST 20000
#define QUEUE_MOST 100			/* triggers in shared memory */

/* The server writes what need not be durable after this time. */
#define WRITTEN_US MS_TO_US(600)

const char *const model_types[MODEL_TYPES] = {"A", "B", "C"};
const char *const model_buckets[MODEL_BUCKETS] = {"default", "other"};

static const char *const status_names[] = {"WAITING", "SUBMITTED", "PROCESSING", "ERROR", "DONE", "FAILED", "CANCELLED", "DELETED"};

/* A row as it was before a change. */
typedef struct Undo
{
	int64		transaction;
	int64		at_us;
	Row			row;
} Undo;

typedef struct Model
{
	int			nrows;
	int			nadded;			/* by applications */
	int			nflood;			/* by a flood of urgent tasks */
	int			nundo;
	int64		transaction;
	int64		shift_us;		/* by which the clock was set */
	int64		latest_us;		/* that the clock had before it was set */
	bool		is_ring;
	int			nqueue;
	int64		due_us;			/* -1: no news of WAITING tasks */
	int			lost;
	int			doubled;
	/* Each of these is filled before its number counts it. */
	Row			queue[QUEUE_MOST];	/* as they were then */
	Row			rows[MODEL_TASKS];
	Undo		undo[UNDO_MOST];
} Model;

static Model model;

void
model_begin(bool is_ring)
{
	memset(&model, 0, offsetof(Model, queue));
	model.is_ring = is_ring;
	model.due_us = -1;

	nodes_begin();
	policies_begin();
	limits_begin();
	locks_begin();
	schedules_begin();
}

int64
model_clock_us(void)
{
	return WORLD_EPOCH_US + world_now_us() + model.shift_us;
}

void
model_set_clock(int64 by_us)
{
	model.latest_us = Max(model.latest_us, model_clock_us());
	model.shift_us += by_us;
}

int64
model_behind_us(void)
{
	return Max(0, model.latest_us - model_clock_us());
}

/* ---- rows ---- */

int
model_count(void)
{
	return model.nrows;
}

Row *
tables_row(int number)
{
	return &model.rows[number];
}

const Row *
model_row(int number)
{
	return tables_row(number);
}

/* An id ends with the number of its row. */
Row *
model_find(const void *id)
{
	uint32		number;

	memcpy(&number, (const char *) id + 12, sizeof(number));
	number = pg_ntoh32(number);
	if (number < (uint32) model.nrows && memcmp(model.rows[number].id, id, 16) == 0)
		return &model.rows[number];
	/* A server may have chosen another id. */
	for (int i = 0; i < model.nrows; i++)
		if (model.rows[i].is_scheduled && memcmp(model.rows[i].id, id, 16) == 0)
			return &model.rows[i];
	return NULL;
}

const char *
model_status_name(Status status)
{
	return status_names[status];
}

Row *
tables_new_row(void)
{
	Row		   *row = &model.rows[model.nrows];
	uint32		number = pg_hton32(model.nrows);

	if (model.nrows == MODEL_TASKS)
		world_fail("more than %d tasks", MODEL_TASKS);
	memset(row, 0, sizeof(*row));
	for (int i = 0; i < 12; i++)
		row->id[i] = (uint8) world_between(0, 255);
	memcpy(row->id + 12, &number, sizeof(number));
	row->number = model.nrows++;

	row->created_us = model_clock_us();
	row->cancel = -1;
	row->size = MODEL_SIZE;
	return row;
}

bool
model_has_expired(const Row *row)
{
	return row->expires_us > 0 && row->expires_us <= model_clock_us();
}

void
tables_touch(Row *row)
{
	Undo	   *undo = &model.undo[model.nundo++];

	if (model.nundo == UNDO_MOST)
		world_fail("the log of changes is full");
	undo->transaction = model.transaction;

	undo->at_us = world_now_us();
	undo->row = *row;
}

static void
forget_undo(int n)
{
	if (n == 0)
		return;
	model.nundo -= n;

	memmove(model.undo, model.undo + n, model.nundo * sizeof(Undo));
}

void
tables_commit(bool durable)
{
	int			n = 0;

	model.transaction++;

	while (n < model.nundo && (durable || model.undo[n].at_us < world_now_us() - WRITTEN_US))
		n++;
	forget_undo(n);
}

void
tables_move(Row *row, Status status, int64 incarnation, int64 token)
{
	tables_touch(row);
	row->status = status;
	row->version++;
	row->queued = false;
	row->incarnation = incarnation;
	row->token = token;
}

void
model_crash(void)
{
	int64		from = model.nundo == 0 ? 0 : world_between(model.undo[0].transaction, model.transaction);

	while (model.nundo > 0 && model.undo[model.nundo - 1].transaction >= from)
	{
		const Undo *undo = &model.undo[--model.nundo];
		Row		   *row = &model.rows[undo->row.number];

		world_tell("the crash undoes a change of task %d, v" INT64_FORMAT, row->number, row->version);
		if (row->status == ROW_PROCESSING && undo->row.status == ROW_SUBMITTED)
			judge_undo(row);
		*row = undo->row;
	}
	model.nundo = 0;
	model.nqueue = 0;
	model.due_us = -1;
	locks_begin();
}

/* ---- triggers ---- */

static void
notify(const Row *row, int64 due_us)
{
	char		payload[TRIGGER_TEXT_MAX + 64];
	Trigger		trigger = {.version = row->version, .due_us = Max(due_us, 0), .size = row->size, .priority = row->priority};
	int			len = snprintf(payload, sizeof(payload), "%s\n", model_buckets[row->bucket]);

	memcpy(trigger.id, row->id, sizeof(row->id));
	strcpy(trigger.type, model_types[row->type]);
	trigger.type_len = strlen(trigger.type);
	(void) trigger_encode(&trigger, payload + len);
	server_notify(CHANNEL_TRIGGERS, payload);
}

static void
send_trigger(const Row *row, int64 due_us)
{
	if (world_happens(model.lost))
		return;
	if (!model.is_ring)
		notify(row, due_us);
	else if (due_us >= 0)
		model.due_us = model.due_us < 0 ? due_us : Min(model.due_us, due_us);

	else if (model.nqueue < QUEUE_MOST)
		model.queue[model.nqueue++] = *row;

	else
	{
		/* An overflow: all look at the table. */
		model.nqueue = 0;

		server_want_sweep();
	}
	server_wake();
}

void
tables_trigger(const Row *row, int64 due_us)
{
	send_trigger(row, due_us);
	if (model.is_ring && due_us < 0)
		door_pass(row);
	if (world_happens(model.doubled))
		send_trigger(row, due_us);
}

/* Columns of the answer, and the bytes that they point to. */
typedef struct Columns
{
	Elements	elements[TRIGGERS_BUCKET + 1];
	uint64		figures[QUEUE_MOST][TRIGGERS_BUCKET + 1];
} Columns;

static void
add_element(Elements *elements, const void *value, int len)
{
	elements->values[elements->n] = value;
	elements->lens[elements->n++] = len;
}

static void
add_figure(Columns *columns, int column, int64 value)
{
	uint64	   *place = &columns->figures[columns->elements[column].n][column];

	*place = pg_hton64((uint64) value);
	add_element(&columns->elements[column], place, sizeof(*place));
}

static void
add_trigger(Columns *columns, const Row *row)
{
	add_element(&columns->elements[TRIGGERS_ID], row->id, sizeof(row->id));
	add_figure(columns, TRIGGERS_VERSION, row->version);
	add_element(&columns->elements[TRIGGERS_TYPE], model_types[row->type], strlen(model_types[row->type]));
	add_figure(columns, TRIGGERS_PRIORITY, row->priority);
	add_figure(columns, TRIGGERS_SIZE, row->size);
	add_figure(columns, TRIGGERS_BUCKET, row->bucket + 1);
}

bool
tables_take_triggers(Session *session, PGresult *result)
{
	static const int types[] = {WIRE_UUID, WIRE_INT8, WIRE_TEXT, WIRE_INT8, WIRE_INT8, WIRE_INT8};
	static Columns columns;
	Elements	sweep = {0};
	bool		is_gone = session_take_gone(session);
	bool		wants_sweep = session_take_sweep(session);
	int			n = model.nqueue == 0 ? 0 : (int) world_between(1, model.nqueue);

	if (n == 0 && model.due_us < 0 && !is_gone && !wants_sweep)
		return false;
	memset(&columns, 0, sizeof(columns));
	for (int i = 0; i < n; i++)
		add_trigger(&columns, &model.queue[i]);
	for (int i = 0; i < MODEL_BUCKETS && wants_sweep; i++)
		add_element(&sweep, model_buckets[i], strlen(model_buckets[i]));
	for (int i = 0; i <= TRIGGERS_BUCKET; i++)
		result_array(result, i, types[i], &columns.elements[i]);
	if (model.due_us < 0)
		result_null(result, 0, TRIGGERS_DUE);
	else
		result_time(result, 0, TRIGGERS_DUE, model.due_us);
	result_array(result, TRIGGERS_SWEEP, WIRE_TEXT, &sweep);
	result_bool(result, 0, TRIGGERS_NODE_GONE, is_gone);
	model.due_us = -1;
	model.nqueue -= n;

	memmove(model.queue, model.queue + n, model.nqueue * sizeof(Row));
	if (model.nqueue > 0)
		server_wake();
	return true;
}

static PGresult *
next_triggers(Session *session, const ServerCall *call)
{
	PGresult   *result = result_new(TRIGGERS_NODE_GONE + 1);

	if (tables_take_triggers(session, result))
		return result;
	if (call->has_waited)
	{
		for (int i = 0; i < TRIGGERS_NODE_GONE; i++)
			result_null(result, 0, i);
		result_bool(result, 0, TRIGGERS_NODE_GONE, false);
		return result;
	}
	PQclear(result);
	return NULL;
}

/* ---- calls ---- */

/* One row: so many zeros, and nulls behind them. */
static PGresult *
plain(int zeros, int columns)
{
	PGresult   *result = result_new(columns);

	for (int i = 0; i < columns; i++)
		if (i < zeros)
			result_int(result, 0, i, 0);
		else
			result_null(result, 0, i);
	return result;
}

static PGresult *
listen(Session *session, Channel channel)
{
	session_listen(session, channel);
	return plain(0, 1);
}

static PGresult *
monitor(void)
{
	PGresult   *result = plain(2, MONITOR_IS_NEWS + 1);

	result_bool(result, 0, MONITOR_IS_NEWS, false);
	return result;
}

static PGresult *
queue_kind(void)
{
	PGresult   *result = result_new(1);

	result_text(result, 0, 0, model.is_ring ? "ring" : "notify");
	return result;
}

/* The model's transactions are not late: nobody is named. */
static PGresult *
late_commits(void)
{
	static const Elements none;
	PGresult   *result = result_new(1);

	if (model.is_ring)
		result_null(result, 0, 0);
	else
		result_array(result, 0, WIRE_TEXT, &none);
	return result;
}

/* Calls about tasks and nodes; NULL: it is another one. */
static PGresult *
call_of_tasks(Session *session, const ServerCall *call)
{
	const PgStatement *statement = call->statement;

	if (statement == &call_grab || statement == &call_grab_bare)
		return tasks_grab(call);
	if (statement == &call_resolve_grab || statement == &call_resolve_grab_bare)
		return tasks_resolve_grab(call);
	if (statement == &call_finish)
		return tasks_finish(call);
	if (statement == &call_resolve_finish)
		return tasks_resolve_finish(call);
	if (statement == &call_offer_slots)
		return limits_offer(call);
	if (statement == &call_sweep)
		return tasks_sweep(call);
	if (statement == &call_promote)
		return tasks_promote();
	if (statement == &call_schedules)
		return schedules_run();
	if (statement == &call_expire)
		return tasks_expire();
	if (statement == &call_recover)
		return tasks_recover(call);
	if (statement == &call_take_cancels)
		return tasks_take_cancels(call);
	if (statement == &call_start_node)
		return nodes_start(session, call);
	if (statement == &call_tick)
		return nodes_tick(session, call);
	if (statement == &call_end_node)
		return nodes_end(call);
	return NULL;
}

/* The backend may be the caller's own, or gone. */
static PGresult *
signal_backend(Session *session, const ServerCall *call)
{
	int			pid = (int) param_int(call, 0);

	if (call->statement == &call_cancel_backend)
		server_cancel(pid);
	else if (pid != session_pid(session))
		server_terminate(pid);
	return plain(0, 1);
}

/* Calls whose answer is always the same here.  NULL: the model does not know it. */
static PGresult *
plain_call(const PgStatement *statement)
{
	static const struct
	{
		const PgStatement *statement;
		int			zeros;
		int			columns;	/* 0: no row */
	}			plains[] = {
		{&call_set_timeout, 0, 1}, {&call_tell_addresses, 0, 1}, {&call_note_faults, 0, 1}, {&call_take_types, 0, 1},
		{&call_note_flow, 0, 2}, {&call_note_progress, 0, 2}, {&call_duties, 0, 1},
		{&call_partitions, 1, 1}, {&call_clean, 0, 1}, {&call_clean_slots, 0, 1}, {&call_vacuum, 0, 1}, {&call_judge, 1, 1},
	};

	for (size_t i = 0; i < lengthof(plains); i++)
		if (plains[i].statement == statement)
			return plain(plains[i].zeros, plains[i].columns);
	if (statement == &call_read_limits)
		return limits_read();
	if (statement == &call_check_handlers)
		return result_new(2);
	if (statement == &call_monitor)
		return monitor();
	if (statement == &call_queue_kind)
		return queue_kind();
	if (statement == &call_late_commits)
		return late_commits();
	if (statement == &call_policies)
		return policies_read_all();
	return NULL;
}

/* As an extension refuses it that is older than the sidecar: its function does not exist. */
static const char *
refuse_unknown(const PgStatement *statement)
{
	static const PgStatement *told;

	if (told != statement)
		fprintf(stderr, "the model does not know the call %s: it is refused\n", statement->name);
	told = statement;
	return "42883";
}

PGresult *
model_call(Session *session, const ServerCall *call, const char **state)
{
	const PgStatement *statement = call->statement;
	PGresult   *result = call_of_tasks(session, call);

	*state = NULL;
	if (result != NULL)
		return result;
	if (statement == &call_execute)
		return functions_execute(call, call->took_us, state);
	if (statement == &call_cancel_backend || statement == &call_terminate_backend)
		return signal_backend(session, call);
	if (statement == &call_next_triggers)
		return next_triggers(session, call);
	if (statement == &call_take_types)
		door_make(session_pid(session));
	if (statement == &call_listen)
		return listen(session, CHANNEL_TRIGGERS);
	if (statement == &call_listen_cancels)
		return listen(session, CHANNEL_CANCELS);
	if (statement == &call_listen_config)
		return listen(session, CHANNEL_CONFIG);
	if (statement == &call_listen_slots)
		return listen(session, CHANNEL_SLOTS);
	result = plain_call(statement);
	if (result == NULL)
		*state = refuse_unknown(statement);
	return result;
}

/* ---- applications and people ---- */

/* A new row, which has a type, a bucket and a priority. */
static void
add_task(Row *row)
{
	row->queued = !world_happens(200);
	row->status = row->queued ? ROW_SUBMITTED : ROW_WAITING;
	row->next_us = model_clock_us() + world_between(0, SECONDS_TO_US(20));
	row->runnable_us = model_clock_us();
	if (world_happens(150))
		row->expires_us = model_clock_us() + world_between(1, SECONDS_TO_US(40));
	if (!row->queued)
		judge_wait(row);
	world_count(REACHED_TASKS);
	tables_commit(true);
	tables_trigger(row, row->queued ? -1 : row->next_us);
}

bool
model_add_task(void)
{
	Row		   *row;

	if (model.nadded == MODEL_ADDED)
		return false;
	row = tables_new_row();
	model.nadded++;
	row->type = (int) world_between(0, MODEL_TYPES - 1);
	row->bucket = (int) world_between(0, MODEL_BUCKETS - 1);
	row->priority = (int) world_between(0, TRIGGER_PRIORITIES - 1);
	add_task(row);
	return true;
}

bool
model_add_to_flood(int type, int bucket)
{
	Row		   *row;

	if (model.nflood == MODEL_FLOOD)
		return false;
	row = tables_new_row();
	model.nflood++;
	row->type = type;
	row->bucket = bucket;
	row->priority = (int) (world_happens(700) ? world_between(1, 3) : world_between(0, TRIGGER_PRIORITIES - 1));
	add_task(row);
	return true;
}

void
model_disturb_triggers(int lost, int doubled)
{
	model.lost = lost;
	model.doubled = doubled;
}
