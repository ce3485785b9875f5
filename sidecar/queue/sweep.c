/*-------------------------------------------------------------------------
 *
 * sweep.c
 *		Decides when to look at the table of tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "queue/look.h"
#include "queue/sweep.h"

/* With this few tasks left, a node looks for tasks outside its share. */
#define FEW 1000

/*
 * A look is expensive if it takes longer than LONG_LOOK_US, and longer than
 * MUCH_US for each new task.  Then a rest of REST_TIMES the excess follows,
 * unless triggers were lost.  So a disk that stalls once does not leave the
 * node without tasks for long.
 */
#define LONG_LOOK_US MS_TO_US(20)
#define MUCH_US 50
#define REST_TIMES 4

/*
 * The first rest after a barren look, which found no new task although there
 * were more rows than it could take.  Each further rest is twice as long.
 */
#define BARREN_US MS_TO_US(10)

/*
 * The delay of a look for tasks that a pause, already over, may have held
 * back.
 */
#define DOUBT_US SECONDS_TO_US(5)

typedef struct BucketSweep
{
	Sweep	   *sweep;
	Look		look;
	LookKind	wanted;			/* the next look; LOOK_NONE: none */
	LookKind	refused;		/* a failed look: the next one covers it, too */
	bool		has_rest;		/* the table has all remaining tasks of this
								 * node's share */
	int64		rest_until_us;
	bool		rests_from_head;	/* the look at the head made it rest */
	int64		fed_until_us;	/* until then, only a table that is half empty
								 * is refilled from the head */
	int64		barren_us;		/* the last rest after a look that found
								 * nothing new */
	int			turns;
} BucketSweep;

struct Sweep
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	BucketSweep *buckets;
	int			nbuckets;
	LoopTimer  *timer;			/* the next routine look */
	LoopTimer  *rested;
	LoopTimer  *doubt;			/* for a look at everything */
	bool		is_stopped;
	bool		is_idle;		/* no task is SUBMITTED or PROCESSING */
};

static const LookKind nothing;
static const LookKind routine = {.depth = LOOK_ROUTINE};
static const LookKind all_shares = {.depth = LOOK_ROUTINE, .part = LOOK_WHOLE};
static const LookKind everything = {LOOK_DEEP, LOOK_WHOLE, LOOK_FROM_HEAD, 0};
static const LookKind help = {LOOK_DEEP, LOOK_HELP, LOOK_FROM_HEAD, 0};

static void
widen(LookKind *kind, LookKind by)
{
	kind->depth = Max(kind->depth, by.depth);
	kind->part = Max(kind->part, by.part);
	kind->start = Max(kind->start, by.start);
	kind->room = Max(kind->room, by.room);
}

void
sweep_want(Sweep *sweep, int bucket)
{
	widen(&sweep->buckets[bucket].wanted, everything);
	loop_want_turn(sweep->loop);
}

static void
want_in_all(Sweep *sweep, LookKind kind)
{
	for (int i = 0; i < sweep->nbuckets; i++)
		widen(&sweep->buckets[i].wanted, kind);
	loop_want_turn(sweep->loop);
}

void
sweep_want_all(void *arg)
{
	want_in_all(arg, everything);
}

static void
forget_refused(void *arg)
{
	Sweep	   *sweep = arg;

	for (int i = 0; i < sweep->nbuckets; i++)
		names_clear(sweep->buckets[i].look.refused);
}

/*
 * A pause may have come and gone unread, and the database may have refused
 * grabs.
 */
static void
on_same_policies(void *arg)
{
	Sweep	   *sweep = arg;

	if (!loop_timer_active(sweep->doubt))
		loop_timer_start(sweep->doubt, DOUBT_US);
}

/* ---- rests ---- */

/* The time to rest after a look that was expensive or barren. */
static int64
rest_after(BucketSweep *b, const LookEnd *end)
{
	bool		is_barren = end->is_cut && end->added == 0;
	int64		excess_us = end->took_us - (int64) end->added * MUCH_US;

	b->barren_us = is_barren ?
		Min(Max(b->barren_us * 2, BARREN_US), b->sweep->config->sweep_us) : 0;
	if (end->took_us < LONG_LOOK_US)
		return b->barren_us;
	return Max(excess_us * REST_TIMES, b->barren_us);
}

static bool
is_resting(const BucketSweep *b)
{
	return loop_now_us(b->sweep->loop) < b->rest_until_us;
}

/*
 * A look at the head reads all types again, also those that have tasks in the
 * table.  So with many types that spilled, it waits until it can fill half of
 * the table, or until REST_TIMES the time of the last one has passed.
 */
static bool
is_fed(const BucketSweep *b)
{
	return loop_now_us(b->sweep->loop) < b->fed_until_us &&
		table_waiting(b->look.table) > table_capacity(b->look.table) / 2;
}

/*
 * After an expensive look at the head, looks from the cursors still fetch more:
 * they do not read what is before.
 */
static bool
may_refill(const BucketSweep *b)
{
	if (look_can_go_on(&b->look))
		return !is_resting(b) || b->rests_from_head;
	return !is_resting(b) && !is_fed(b);
}

/* Sets the timer for the first end of a rest. */
static void
arm_rested(Sweep *sweep)
{
	int64		now_us = loop_now_us(sweep->loop);
	int64		first = PG_INT64_MAX;

	for (int i = 0; i < sweep->nbuckets; i++)
	{
		const BucketSweep *b = &sweep->buckets[i];

		if (b->rest_until_us > now_us)
			first = Min(first, b->rest_until_us);
		if (b->fed_until_us > now_us)
			first = Min(first, b->fed_until_us);
	}
	if (first < PG_INT64_MAX)
		loop_timer_start(sweep->rested, first - now_us);
}

static void
on_rested(void *arg)
{
	Sweep	   *sweep = arg;

	arm_rested(sweep);
	loop_want_turn(sweep->loop);
}

/* ---- looks ---- */

/* A lost look is repeated when the connection is back. */
static void
on_end(void *arg, const LookEnd *end)
{
	BucketSweep *b = arg;

	if (end->outcome != PG_DONE)
	{
		widen(end->outcome == PG_LOST ? &b->wanted : &b->refused, end->kind);
		return;
	}
	if (end->kind.depth == LOOK_DEEP)
		b->has_rest = end->kind.part == LOOK_HELP ? end->is_cut :
			end->kind.part == LOOK_OWN && !end->is_cut;
	b->rest_until_us = loop_now_us(b->sweep->loop) + rest_after(b, end);
	b->rests_from_head = end->kind.start == LOOK_FROM_HEAD;
	if (end->kind.depth == LOOK_DEEP && b->rests_from_head)
		b->fed_until_us = loop_now_us(b->sweep->loop) + end->took_us * REST_TIMES;
	arm_rested(b->sweep);
	if (end->added > 0)
		log_line(TWT_LOG_DEBUG, "sweep", "found %d tasks in bucket \"%s\"",
				 end->added, b->sweep->config->buckets[b->look.bucket]);
}

static void
on_come_down(void *arg, const char *type, int room)
{
	BucketSweep *b = arg;
	LookStart	start = type == NULL && !is_resting(b) ? LOOK_FROM_HEAD : LOOK_ON;
	LookKind	own = {LOOK_DEEP, LOOK_OWN, start, room};

	widen(&b->wanted, own);
}

/*
 * When its share is nearly done, a node looks for waiting tasks in the shares
 * of other nodes.  So a node that hangs or has no free slots does not hold its
 * tasks back.
 */
static void
help_others(BucketSweep *b)
{
	if (!b->has_rest || table_waiting(b->look.table) > FEW)
		return;
	b->has_rest = false;
	widen(&b->wanted, help);
}

/*
 * With several nodes, every second look from the head covers all rows: another
 * node may have no handler for tasks in its share.
 */
static void
send_look(BucketSweep *b)
{
	LookKind	kind = b->wanted;
	int			place;
	int			nodes;

	widen(&kind, b->refused);
	if (kind.depth == LOOK_ROUTINE || !look_can_go_on(&b->look))
		kind.start = LOOK_FROM_HEAD;
	node_share(b->sweep->node, &place, &nodes);
	if (kind.part == LOOK_OWN &&
		(nodes == 1 || (kind.start == LOOK_FROM_HEAD && b->turns++ % 2 == 1)))
		kind.part = LOOK_WHOLE;
	b->wanted = b->refused = nothing;
	look_send(&b->look, b->sweep->config->buckets[b->look.bucket], kind);
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

		if (b->look.kind.depth != LOOK_NONE)
			continue;
		if (may_refill(b) && table_has_spilled(b->look.table))
			table_take_spilled(b->look.table, on_come_down, b);
		if (!is_resting(b))
			help_others(b);
		if (b->wanted.depth != LOOK_NONE)
			send_look(b);
	}
}

static void
on_time(void *arg)
{
	Sweep	   *sweep = arg;

	if (!sweep->is_idle)
		want_in_all(sweep, routine);
	loop_timer_start(sweep->timer, sweep->config->sweep_us);
}

Sweep *
sweep_open(Loop *loop, const Config *config, Node *node, Policies *policies,
		   Table **tables)
{
	Sweep	   *sweep = palloc0(sizeof(Sweep));

	sweep->loop = loop;
	sweep->config = config;
	sweep->node = node;
	policies_on(policies, POLICIES_CHANGED, forget_refused, sweep);
	policies_on(policies, POLICIES_SAME, on_same_policies, sweep);
	sweep->nbuckets = config->nbuckets;
	sweep->buckets = palloc0(config->nbuckets * sizeof(BucketSweep));
	for (int i = 0; i < config->nbuckets; i++)
	{
		BucketSweep *b = &sweep->buckets[i];

		b->sweep = sweep;
		b->look = (Look)
		{
			.loop = loop, .node = node, .policies = policies, .table = tables[i],
				.bucket = i, .on_end = on_end, .arg = b
		};
		look_init(&b->look);
	}
	sweep->timer = loop_timer_new(loop, on_time, sweep);
	sweep->rested = loop_timer_new(loop, on_rested, sweep);
	sweep->doubt = loop_timer_new(loop, sweep_want_all, sweep);
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
	if (sweep->is_idle && !is_idle)
		want_in_all(sweep, all_shares);
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
		look_clear(&sweep->buckets[i].look);
	pfree(sweep->buckets);
	pfree(sweep);
}
