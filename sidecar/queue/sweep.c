/*-------------------------------------------------------------------------
 *
 * sweep.c
 *		Looks at the table of tasks itself: the guarantee behind the triggers.
 *
 *		from: sql/queue/sweep_tasks.sql			to: table.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/names.h"
#include "pg/calls.h"
#include "queue/cursors.h"
#include "queue/sweep.h"

/*
 * The routine look takes this many of each type.  Tasks that are executed
 * first make room for the rest of a backlog in the next look.
 */
#define ROUTINE_PER_TYPE 1000

/* With many types it takes fewer of each: this part of the table in all. */
#define ROUTINE_PART 5

/* With so few left, a node goes on to tasks outside its part. */
#define FEW 1000

/*
 * Types that this node leaves to others, and does not want to hear of again.
 */
#define REFUSED_MAX 100

/*
 * A look that took longer than this, and took long for each row that it found,
 * is followed by a rest of several times as long, unless something was lost.
 */
#define LONG_LOOK_US MS_TO_US(20)
#define MUCH_US 50

/*
 * The first rest after a look that found nothing new although more rows
 * existed than it could take; the next rests are longer.
 */
#define BARREN_US MS_TO_US(10)
#define REST_TIMES 4

/*
 * A look for more of a spilled type goes on where the last one ended.  After
 * this time since the last look at the head, it starts there: a task that is
 * tried again, say, may stand there.
 */
#define HEAD_US SECONDS_TO_US(1)

/*
 * The time between two looks for tasks that a change, unseen by us, may have
 * kept back.
 */
#define DOUBT_US SECONDS_TO_US(5)

typedef struct BucketSweep
{
	Sweep	   *sweep;
	int			number;
	bool		is_wanted;
	bool		is_deep;		/* as many of each type as the table takes */
	bool		is_whole;		/* not only this node's part */
	bool		is_from_head;	/* not only where the last one ended */
	bool		is_under_way;
	bool		was_whole;		/* the look under way */
	bool		was_deep;
	bool		was_from_head;
	bool		is_help;		/* this node's part is done */
	bool		was_help;
	bool		is_last;		/* the table has the rest of this node's part */
	int			per_type;		/* most rows to ask for, of each type */
	int			room;			/* of the types to look for now */
	int64		sent_us;
	int64		head_us;		/* when a deep look began at the head */
	int64		rest_until_us;
	int64		barren_us;		/* the rest after a look that found nothing
								 * new */
	int			turns;
	Names	   *refused;
	Cursors    *cursors;
} BucketSweep;

struct Sweep
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Policies   *policies;
	Table	  **tables;
	BucketSweep *buckets;
	int			nbuckets;
	LoopTimer  *timer;
	LoopTimer  *rested;
	LoopTimer  *doubt;			/* look at everything */
	bool		is_stopped;
	bool		is_idle;		/* no task is there to be found */
};

void
sweep_want(Sweep *sweep, int bucket, bool whole)
{
	BucketSweep *b = &sweep->buckets[bucket];

	b->is_wanted = b->is_deep = b->is_from_head = true;
	b->is_whole |= whole;
	loop_want_turn(sweep->loop);
}

void
sweep_want_all(Sweep *sweep, bool whole)
{
	for (int i = 0; i < sweep->nbuckets; i++)
		sweep_want(sweep, i, whole);
}

static bool
read_trigger(const PGresult *result, int row, Trigger *trigger)
{
	const char *type = PQgetvalue(result, row, SWEEP_TYPE);
	size_t		len = strlen(type);

	if (!trigger_type_valid(type, len))
		return false;
	memset(trigger, 0, offsetof(Trigger, type));
	memcpy(trigger->id, wire_get_uuid(result, row, SWEEP_ID), TRIGGER_ID_BYTES);
	trigger->version = wire_get_int8(result, row, SWEEP_VERSION);
	trigger->priority = wire_get_int2(result, row, SWEEP_PRIORITY);
	trigger->size = wire_get_int4(result, row, SWEEP_SIZE);
	trigger->type_len = len;
	memcpy(trigger->type, type, len + 1);
	return true;
}

static void
forget_refused(void *arg)
{
	Sweep	   *sweep = arg;

	for (int i = 0; i < sweep->nbuckets; i++)
		names_clear(sweep->buckets[i].refused);
}

/* A pause that has ended already: the database refused grabs meanwhile. */
static void
on_same(void *arg)
{
	Sweep	   *sweep = arg;

	if (!loop_timer_active(sweep->doubt))
		loop_timer_start(sweep->doubt, DOUBT_US);
}

static void
on_doubt(void *arg)
{
	sweep_want_all(arg, true);
}

static TablePush
push(BucketSweep *b, const Trigger *trigger, const RowPlace *place)
{
	TablePush	pushed = TABLE_NO_HANDLER;

	if (policies_take(b->sweep->policies, b->number, trigger->type))
		pushed = table_push_seen(b->sweep->tables[b->number], trigger, place);
	if (pushed == TABLE_NO_HANDLER)
		(void) names_add(b->refused, trigger->type);
	return pushed;
}

/* Rows that we know already are being worked on: the next look can wait. */
static int64
rest_after(BucketSweep *b, int64 took, int added, bool is_cut)
{
	bool		is_barren = is_cut && added == 0;

	b->barren_us = is_barren ?
		Min(Max(b->barren_us * 2, BARREN_US), b->sweep->config->sweep_us) : 0;
	if (took < Max(LONG_LOOK_US, (int64) added * MUCH_US))
		return b->barren_us;
	return Max(took * REST_TIMES, b->barren_us);
}

/* The timer belongs to the bucket whose rest ends first. */
static void
arm_rested(Sweep *sweep)
{
	int64		now = loop_now_us(sweep->loop);
	int64		first = PG_INT64_MAX;

	for (int i = 0; i < sweep->nbuckets; i++)
		if (sweep->buckets[i].rest_until_us > now)
			first = Min(first, sweep->buckets[i].rest_until_us);
	if (first < PG_INT64_MAX)
		loop_timer_start(sweep->rested, first - now);
}

static void
rest(BucketSweep *b, int added, bool is_cut)
{
	int64		now = loop_now_us(b->sweep->loop);

	b->rest_until_us = now + rest_after(b, now - b->sent_us, added, is_cut);
	arm_rested(b->sweep);
}

static int
rows_in_all(const BucketSweep *b)
{
	return 2 * table_capacity(b->sweep->tables[b->number]);
}

/* Consecutive rows of one type. */
typedef struct Run
{
	int			n;
	bool		is_ours;		/* this node runs the type */
	bool		has_left;		/* one row found no room */
	uint8		last[TRIGGER_ID_BYTES]; /* of the last row that found room */
	bool		has_last;
} Run;

static void
take_row(BucketSweep *b, Run *run, const Trigger *trigger, const RowPlace *place, int *added)
{
	TablePush	pushed = push(b, trigger, place);

	run->n++;
	run->is_ours |= pushed != TABLE_NO_HANDLER;
	run->has_left |= pushed == TABLE_SPILLED;
	*added += pushed == TABLE_ADDED;
	if (!run->has_left)
		memcpy(run->last, trigger->id, TRIGGER_ID_BYTES);
	run->has_last |= !run->has_left;
}

/* True: the database may have more of that type. */
static bool
end_run(BucketSweep *b, const Run *run, const char *type)
{
	if (run->n < b->per_type || !run->is_ours)
		return false;
	table_spill(b->sweep->tables[b->number], type);
	if (b->was_deep && run->has_last)
		cursors_set(b->cursors, type, run->last);
	return true;
}

/* Returns how many rows were added; *is_cut: some type has more. */
static int
take_rows(BucketSweep *b, const PGresult *result, bool *is_cut)
{
	int			n = PQntuples(result);
	int			added = 0;
	Run			run = {0};

	for (int i = 0; i < n; i++)
	{
		const char *type = PQgetvalue(result, i, SWEEP_TYPE);
		RowPlace	place = wire_get_place(result, i, SWEEP_PLACE);
		Trigger		trigger;

		if (read_trigger(result, i, &trigger))
			take_row(b, &run, &trigger, &place, &added);
		if (i + 1 < n && strcmp(PQgetvalue(result, i + 1, SWEEP_TYPE), type) == 0)
			continue;
		*is_cut |= end_run(b, &run, type);
		memset(&run, 0, sizeof(run));
	}
	return added;
}

/* We reached the end of that type; the next look begins at its head. */
static void
on_end_of_type(void *arg, const char *type)
{
	BucketSweep *b = arg;

	table_spill(b->sweep->tables[b->number], type);
}

/*
 * The next routine look repeats a refused look.  A lost look is repeated as
 * soon as the connection is back.
 */
static void
on_swept(void *arg, PgOutcome outcome, PGresult *result)
{
	BucketSweep *b = arg;
	int			added;
	bool		is_cut = false; /* some type has more */

	b->is_under_way = false;
	if (outcome != PG_DONE || b->sweep->is_stopped)
	{
		cursors_clear(b->cursors);
		b->is_whole |= b->was_whole;
		b->is_deep |= b->was_deep;
		b->is_wanted |= outcome == PG_LOST;
		return;
	}
	added = take_rows(b, result, &is_cut);
	/* rows before a cursor were not looked at */
	is_cut |= PQntuples(result) >= rows_in_all(b) || !b->was_from_head;
	cursors_end(b->cursors, on_end_of_type, b);
	if (b->was_deep)
		b->is_last = b->was_help ? is_cut : !b->was_whole && !is_cut;
	rest(b, added, is_cut);
	if (added > 0)
		log_line(TWT_LOG_DEBUG, "sweep", "found %d tasks in bucket \"%s\"",
				 added, b->sweep->config->buckets[b->number]);
}

typedef struct TypeList
{
	const char **names;
	int			n;
	int			max;
} TypeList;

static void
add_type(void *arg, const char *type)
{
	TypeList   *list = arg;

	if (list->n == list->max)
	{
		list->max = Max(16, list->max * 2);
		list->names = list->names == NULL ?
			palloc(list->max * sizeof(char *)) :
			repalloc(list->names, list->max * sizeof(char *));
	}
	list->names[list->n++] = type;
}

/* The types that the look skips. */
static TypeList
skipped_types(const BucketSweep *b)
{
	TypeList	list = {0};

	table_full_types(b->sweep->tables[b->number], add_type, &list);
	for (int i = 0; i < names_count(b->refused); i++)
		add_type(&list, names_get(b->refused, i));
	return list;
}

static void
add_types(const TypeList *list, WireParams *params)
{
	wire_add_text_array(params, list->n);
	for (int i = 0; i < list->n; i++)
		wire_text(params, list->names[i]);
}

/* Slightly more than there is room for, so one look fills a table. */
static int
rows_per_type(const BucketSweep *b, const Table *table)
{
	int			even = table_even_share(table);

	if (!b->was_from_head)
		return b->room;
	if (b->was_deep)
		return Min(table_share(table), 2 * even);
	return Min(ROUTINE_PER_TYPE, Max(even / ROUTINE_PART, 1));
}

/* A routine look ignores cursors. */
static void
add_cursors(BucketSweep *b, const TypeList *skipped, WireParams *params)
{
	if (b->was_deep && b->was_from_head)
	{
		b->head_us = b->sent_us;
		cursors_clear(b->cursors);
	}
	if (b->was_from_head)
		wire_add_uuid_array(params, 0);
	else
		cursors_use(b->cursors, skipped->names, skipped->n, params);
}

static void
send_sweep(BucketSweep *b)
{
	Sweep	   *sweep = b->sweep;
	Table	   *table = sweep->tables[b->number];
	int			place;
	int			nodes;
	TypeList	skipped = skipped_types(b);
	WireParams	params;

	node_share(sweep->node, &place, &nodes);
	b->was_deep = b->is_deep;
	b->was_help = b->is_help;
	b->was_from_head = b->is_from_head || !b->is_deep || !cursors_any(b->cursors) ||
		loop_now_us(sweep->loop) >= b->head_us + HEAD_US;
	b->was_whole = b->is_whole || b->is_help || nodes == 1 ||
		(b->was_from_head && b->turns++ % 2 == 1);
	b->is_under_way = true;
	b->is_wanted = b->is_deep = b->is_whole = b->is_help = b->is_from_head = false;
	wire_init(&params);
	wire_add_text(&params, sweep->config->buckets[b->number]);
	b->per_type = rows_per_type(b, table);
	b->sent_us = loop_now_us(sweep->loop);
	wire_add_int4(&params, b->per_type);
	add_types(&skipped, &params);
	wire_add_int4(&params, b->was_whole ? 0 : place);
	wire_add_int4(&params, b->was_whole ? 1 : nodes);
	wire_add_int4(&params, rows_in_all(b));
	add_cursors(b, &skipped, &params);
	if (skipped.names != NULL)
		pfree(skipped.names);
	b->room = 0;
	pg_send(node_pg(sweep->node), &call_sweep, &params, on_swept, b);
}

static void
on_come_down(void *arg, const char *type, int room)
{
	BucketSweep *b = arg;

	b->is_wanted = b->is_deep = true;
	b->is_from_head |= type == NULL;
	b->room = Max(b->room, room);
}

/*
 * When its part is nearly done, a node looks for tasks that others have not
 * come to, and goes on with these.  So a node without free slots, or one that
 * hangs, holds nothing back.
 */
static void
help_others(BucketSweep *b)
{
	if (!b->is_last || table_waiting(b->sweep->tables[b->number]) > FEW ||
		loop_now_us(b->sweep->loop) < b->rest_until_us)
		return;
	b->is_last = false;
	b->is_wanted = b->is_deep = b->is_help = b->is_from_head = true;
}

void
sweep_pump(Sweep *sweep)
{
	if (sweep->is_stopped || !node_is_alive(sweep->node) ||
		!pg_is_up(node_pg(sweep->node)))
		return;
	for (int i = 0; i < sweep->nbuckets; i++)
	{
		BucketSweep *b = &sweep->buckets[i];

		if (b->is_under_way)
			continue;
		if (table_has_spilled(sweep->tables[i]) &&
			loop_now_us(sweep->loop) >= b->rest_until_us)
			table_take_spilled(sweep->tables[i], on_come_down, b);
		help_others(b);
		if (b->is_wanted)
			send_sweep(b);
	}
}

static void
on_time(void *arg)
{
	Sweep	   *sweep = arg;

	for (int i = 0; i < sweep->nbuckets && !sweep->is_idle; i++)
		sweep->buckets[i].is_wanted = true;
	loop_timer_start(sweep->timer, sweep->config->sweep_us);
}

static void
on_rested(void *arg)
{
	Sweep	   *sweep = arg;

	arm_rested(sweep);
	loop_want_turn(sweep->loop);
}

Sweep *
sweep_open(Loop *loop, const Config *config, Node *node, Policies *policies,
		   Table **tables)
{
	Sweep	   *sweep = palloc0(sizeof(Sweep));

	sweep->loop = loop;
	sweep->config = config;
	sweep->node = node;
	sweep->policies = policies;
	sweep->tables = tables;
	policies_on(policies, POLICIES_CHANGED, forget_refused, sweep);
	policies_on(policies, POLICIES_SAME, on_same, sweep);
	sweep->nbuckets = config->nbuckets;
	sweep->buckets = palloc0(config->nbuckets * sizeof(BucketSweep));
	for (int i = 0; i < config->nbuckets; i++)
	{
		sweep->buckets[i].sweep = sweep;
		sweep->buckets[i].number = i;
		sweep->buckets[i].refused = names_new(REFUSED_MAX);
		sweep->buckets[i].cursors = cursors_new();
	}
	sweep->timer = loop_timer_new(loop, on_time, sweep);
	sweep->rested = loop_timer_new(loop, on_rested, sweep);
	sweep->doubt = loop_timer_new(loop, on_doubt, sweep);
	loop_timer_start(sweep->timer, config->sweep_us);
	return sweep;
}

void
sweep_reload(Sweep *sweep, const Config *config)
{
	sweep->config = config;
	loop_timer_start(sweep->timer, config->sweep_us);
}

void
sweep_set_idle(Sweep *sweep, bool is_idle)
{
	sweep->is_idle = is_idle;
}

void
sweep_stop(Sweep *sweep)
{
	sweep->is_stopped = true;
	loop_timer_stop(sweep->timer);
}

void
sweep_free(Sweep *sweep)
{
	loop_timer_free(sweep->timer);
	loop_timer_free(sweep->rested);
	loop_timer_free(sweep->doubt);
	for (int i = 0; i < sweep->nbuckets; i++)
	{
		names_free(sweep->buckets[i].refused);
		cursors_free(sweep->buckets[i].cursors);
	}
	pfree(sweep->buckets);
	pfree(sweep);
}
