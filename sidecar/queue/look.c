/*-------------------------------------------------------------------------
 *
 * look.c
 *		One look at the rows of a bucket.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "queue/look.h"

/*
 * A routine look takes at most this many rows of each type.  The next look
 * takes the rest of a backlog, when these tasks have made room.
 */
#define ROUTINE_PER_TYPE 1000

/*
 * With many types a routine look takes fewer rows of each: together at most
 * 1/ROUTINE_PART of the table.
 */
#define ROUTINE_PART 5

/*
 * A look skips at most SKIPPED_MAX types, and REFUSED_MAX of them because they
 * are left to other nodes.  The look still reads rows of other
 * full types, and drops them.
 */
#define SKIPPED_MAX 300
#define REFUSED_MAX 100

/*
 * After this time a look starts at the head again instead of the cursors, if a
 * task has lost its place meanwhile: it may be before the cursor.  The head is
 * expensive in a backlog, since the entries of finished tasks begin there.
 */
#define HEAD_US SECONDS_TO_US(1)

void
look_init(Look *look)
{
	look->refused = names_new(REFUSED_MAX);
	look->skipped = names_new(SKIPPED_MAX);
	look->cursors = cursors_new();
}

void
look_clear(Look *look)
{
	names_free(look->refused);
	names_free(look->skipped);
	cursors_free(look->cursors);
}

bool
look_can_go_on(const Look *look)
{
	return cursors_any(look->cursors) &&
		(look->turned_away == table_turned_away(look->table) ||
		 loop_now_us(look->loop) < look->head_us + HEAD_US);
}

/* ---- the answer to a look ---- */

static bool
read_trigger(const PGresult *result, int row, Trigger *trigger)
{
	const char *type = PQgetvalue(result, row, SWEEP_TYPE);
	size_t		len = strlen(type);

	if (!trigger_type_valid(type, len))
		return false;
	memset(trigger, 0, offsetof(Trigger, type));
	memcpy(trigger->id, wire_get_uuid(result, row, SWEEP_ID), TRIGGER_ID_BYTES);
	trigger->version = wire_get_int(result, row, SWEEP_VERSION);
	trigger->priority = wire_get_int(result, row, SWEEP_PRIORITY);
	trigger->size = wire_get_int(result, row, SWEEP_SIZE);
	trigger->type_len = len;
	memcpy(trigger->type, type, len + 1);
	return true;
}

static TablePush
push(Look *look, const Trigger *trigger, const RowPlace *place)
{
	TablePush	pushed = TABLE_NO_HANDLER;

	if (policies_take(look->policies, look->bucket, trigger->type))
		pushed = table_push(look->table, trigger, place);
	if (pushed == TABLE_NO_HANDLER)
		(void) names_add(look->refused, trigger->type);
	return pushed;
}

/* Consecutive rows of one type. */
typedef struct Run
{
	int			n;
	bool		is_ours;		/* this node has a handler for the type */
	bool		has_left;		/* a row found no room */
	uint8		last[TRIGGER_ID_BYTES]; /* the last row that found room */
	bool		has_last;
} Run;

static void
take_row(Look *look, Run *run, const Trigger *trigger, const RowPlace *place, int *added)
{
	TablePush	pushed = push(look, trigger, place);

	run->n++;
	run->is_ours |= pushed != TABLE_NO_HANDLER;
	run->has_left |= pushed == TABLE_SPILLED;
	*added += pushed == TABLE_ADDED;
	if (!run->has_left)
		memcpy(run->last, trigger->id, TRIGGER_ID_BYTES);
	run->has_last |= !run->has_left;
}

/* Ends the run of a type.  True: the database may have more rows of that type. */
static bool
end_run(Look *look, const Run *run, const char *type)
{
	if (run->n < look->per_type || !run->is_ours)
		return false;
	table_spill(look->table, type);
	if (look->kind.depth == LOOK_DEEP && run->has_last)
		cursors_set(look->cursors, type, run->last);
	return true;
}

static void
take_rows(Look *look, const PGresult *result, LookEnd *end)
{
	int			n = PQntuples(result);
	Run			run = {0};

	for (int i = 0; i < n; i++)
	{
		const char *type = PQgetvalue(result, i, SWEEP_TYPE);
		RowPlace	place = wire_get_place(result, i, SWEEP_PLACE);
		Trigger		trigger;

		if (read_trigger(result, i, &trigger))
			take_row(look, &run, &trigger, &place, &end->added);
		if (i + 1 < n && strcmp(PQgetvalue(result, i + 1, SWEEP_TYPE), type) == 0)
			continue;
		end->is_cut |= end_run(look, &run, type);
		memset(&run, 0, sizeof(run));
	}
}

/* The look reached the end of the type, so the next look starts at its head. */
static void
on_end_of_type(void *arg, const char *type)
{
	table_spill(((Look *) arg)->table, type);
}

static int
rows_in_all(const Look *look)
{
	return 2 * table_capacity(look->table);
}

static void
on_swept(void *arg, PgOutcome outcome, PGresult *result)
{
	Look	   *look = arg;
	LookEnd		end = {.outcome = outcome, .kind = look->kind,
		.took_us = loop_now_us(look->loop) - look->sent_us};

	if (outcome == PG_DONE)
	{
		take_rows(look, result, &end);
		/* A look from the cursors does not see the rows before them. */
		end.is_cut |= PQntuples(result) >= rows_in_all(look) || look->kind.start == LOOK_ON;
		cursors_end(look->cursors, on_end_of_type, look);
	}
	else
		cursors_clear(look->cursors);
	look->kind.depth = LOOK_NONE;
	look->on_end(look->arg, &end);
}

/* ---- the query of a look ---- */

static void
skip_if_full(void *arg, const char *type, int waiting)
{
	Look	   *look = arg;

	if (waiting >= table_share(look->table))
		(void) names_add(look->skipped, type);
}

/*
 * The look may be for lost triggers of a full type, which the table has not heard of.
 * So full types are marked, and looked for when they have room.
 */
static void
choose_skipped(Look *look)
{
	int			nrefused = names_count(look->refused);

	names_clear(look->skipped);
	for (int i = 0; i < nrefused; i++)
		(void) names_add(look->skipped, names_get(look->refused, i));
	table_types(look->table, skip_if_full, look);
	for (int i = nrefused; i < names_count(look->skipped); i++)
		table_spill(look->table, names_get(look->skipped, i));
}

/*
 * The rows to ask for of each type.  A deep look asks for the even share, which
 * the table may have already, and for an even share of the room.
 */
static int
rows_per_type(const Look *look)
{
	int			even = table_even_share(look->table);
	int64		more = (int64) even * table_room(look->table) / table_capacity(look->table);

	if (look->kind.start == LOOK_ON)
		return look->kind.room;
	if (look->kind.depth == LOOK_DEEP)
		return Min(table_share(look->table), even + more);
	return Min(ROUTINE_PER_TYPE, Max(even / ROUTINE_PART, 1));
}

/*
 * Adds the cursors if the look continues there.  A deep look from the head
 * clears them; a routine look ignores them.
 */
static void
add_cursors(Look *look, WireParams *params)
{
	if (look->kind.start == LOOK_ON)
	{
		cursors_use(look->cursors, look->skipped, params);
		return;
	}
	wire_add_array(params, WIRE_UUID, 0);
	if (look->kind.depth == LOOK_ROUTINE)
		return;
	look->head_us = look->sent_us;
	look->turned_away = table_turned_away(look->table);
	cursors_clear(look->cursors);
}

void
look_send(Look *look, const char *bucket, LookKind kind)
{
	WireParams	params;
	int			place;
	int			nodes;

	node_share(look->node, &place, &nodes);
	look->kind = kind;
	look->per_type = rows_per_type(look);
	look->sent_us = loop_now_us(look->loop);
	choose_skipped(look);
	wire_init(&params);
	wire_add_text(&params, bucket);
	wire_add_int4(&params, look->per_type);
	wire_add_array(&params, WIRE_TEXT, names_count(look->skipped));
	for (int i = 0; i < names_count(look->skipped); i++)
		wire_text(&params, names_get(look->skipped, i));
	wire_add_int4(&params, kind.part == LOOK_OWN ? place : 0);
	wire_add_int4(&params, kind.part == LOOK_OWN ? nodes : 1);
	wire_add_int4(&params, rows_in_all(look));
	add_cursors(look, &params);
	pg_send(node_pg(look->node), &call_sweep, &params, on_swept, look);
}
