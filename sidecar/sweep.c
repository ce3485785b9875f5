/*-------------------------------------------------------------------------
 *
 * sweep.c
 *		Looks at the table of tasks itself: the guarantee behind the triggers.
 *
 *		from: sql/sweep_tasks.sql			to: table.c
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "calls.h"
#include "log.h"
#include "sweep.h"

/*
 * The look that comes by itself takes this many of each type: those that are
 * executed before make room for the rest of a backlog in the next one.
 */
#define ROUTINE_PER_TYPE 1000

typedef struct BucketSweep
{
	Sweep	   *sweep;
	int			number;
	bool		is_wanted;
	bool		is_deep;		/* as many of each type as the table takes */
	bool		is_whole;		/* not only this node's part */
	bool		is_under_way;
	bool		was_whole;		/* the one under way */
	bool		was_deep;
	int			per_type;		/* rows asked for at most, of each type */
	int			turns;
} BucketSweep;

struct Sweep
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Table	  **tables;
	BucketSweep *buckets;
	int			nbuckets;
	LoopTimer  *timer;
	bool		is_stopped;
	bool		is_idle;		/* no task is there to be found */
};

void
sweep_want(Sweep *sweep, int bucket, bool whole)
{
	BucketSweep *b = &sweep->buckets[bucket];

	b->is_wanted = b->is_deep = true;
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

/* An answer that cannot be had is asked for again at the next routine look. */
static void
on_swept(void *arg, PgOutcome outcome, PGresult *result)
{
	BucketSweep *b = arg;
	Table	   *table = b->sweep->tables[b->number];
	int			added = 0;
	int			same = 0;		/* rows of one type, which stand together */

	b->is_under_way = false;
	if (outcome != PG_DONE || b->sweep->is_stopped)
	{
		b->is_whole |= b->was_whole;
		b->is_deep |= b->was_deep;
		return;
	}
	for (int i = 0; i < PQntuples(result); i++)
	{
		Trigger		trigger;

		if (!read_trigger(result, i, &trigger))
			continue;
		added += table_push(table, &trigger) == TABLE_ADDED;
		same = i > 0 && strcmp(PQgetvalue(result, i - 1, SWEEP_TYPE), trigger.type) == 0 ?
			same + 1 : 1;
		if (same == b->per_type)
			table_spill(table, trigger.type);
	}
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

static void
add_skipped_types(const Table *table, WireParams *params)
{
	TypeList	list = {0};

	table_full_types(table, add_type, &list);
	wire_add_text_array(params, list.n);
	for (int i = 0; i < list.n; i++)
		wire_text(params, list.names[i]);
	if (list.names != NULL)
		pfree(list.names);
}

static void
send_sweep(BucketSweep *b)
{
	Sweep	   *sweep = b->sweep;
	Table	   *table = sweep->tables[b->number];
	int			place;
	int			nodes;
	WireParams	params;

	node_share(sweep->node, &place, &nodes);
	b->was_whole = b->is_whole || nodes == 1 || b->turns++ % 2 == 1;
	b->was_deep = b->is_deep;
	b->is_under_way = true;
	b->is_wanted = b->is_deep = b->is_whole = false;
	wire_init(&params);
	wire_add_text(&params, sweep->config->buckets[b->number]);
	b->per_type = b->was_deep ? table_share(table) : ROUTINE_PER_TYPE;
	wire_add_int4(&params, b->per_type);
	add_skipped_types(table, &params);
	wire_add_int4(&params, b->was_whole ? 0 : place);
	wire_add_int4(&params, b->was_whole ? 1 : nodes);
	pg_send(node_pg(sweep->node), &call_sweep, &params, on_swept, b);
}

static void
on_come_down(void *arg, const char *type, int room)
{
	BucketSweep *b = arg;

	b->is_wanted = b->is_deep = true;
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
		if (table_has_spilled(sweep->tables[i]))
			table_take_spilled(sweep->tables[i], on_come_down, b);
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

Sweep *
sweep_open(Loop *loop, const Config *config, Node *node, Table **tables)
{
	Sweep	   *sweep = palloc0(sizeof(Sweep));

	sweep->loop = loop;
	sweep->config = config;
	sweep->node = node;
	sweep->tables = tables;
	sweep->nbuckets = config->nbuckets;
	sweep->buckets = palloc0(config->nbuckets * sizeof(BucketSweep));
	for (int i = 0; i < config->nbuckets; i++)
	{
		sweep->buckets[i].sweep = sweep;
		sweep->buckets[i].number = i;
	}
	sweep->timer = loop_timer_new(loop, on_time, sweep);
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
	pfree(sweep->buckets);
	pfree(sweep);
}
