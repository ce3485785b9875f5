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
 * The next look that refills the table from the same place waits for REST_TIMES
 * the time that the last one took.  If that one found tasks, FREE_US of it do not
 * count, nor FREE_TASK_US for each task.  The factor doubles with each barren deep
 * look in a row, which found no new task although there were more rows than it could
 * take.  An empty table ends that: the looks had found again what it had.  No rest is
 * longer than a sweep's period, or REST_TIMES the time of its look.  A look for lost
 * triggers does not wait.
 */
#define REST_TIMES 4
#define FREE_US MS_TO_US(20)
#define FREE_TASK_US 50

/*
 * The delay of a look for tasks that a pause, already over, may have held
 * back.
 */
#define DOUBT_US SECONDS_TO_US(5)

/* The last look from a place, for the rest that follows it. */
typedef struct Rest
{
	int64		since_us;		/* when it ended */
	int64		took_us;
	int			added;
} Rest;

typedef struct BucketSweep
{
	Sweep	   *sweep;
	Look		look;
	LookKind	wanted;			/* the next look; LOOK_NONE: none */
	LookKind	refused;		/* a failed look: the next one covers it, too */
	bool		has_rest;		/* the table has all remaining tasks of this
								 * node's share */
	Rest		rests[LOOK_FROM_HEAD + 1];	/* by LookStart */
	int64		rest_times;
	bool		has_news;		/* a look at new tasks is wanted */
	LoopTimer  *rested;
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

static void
want_turn(void *sweep)
{
	loop_want_turn(((Sweep *) sweep)->loop);
}

void
sweep_want(Sweep *sweep, int bucket)
{
	widen(&sweep->buckets[bucket].wanted, everything);
	want_turn(sweep);
}

void
sweep_want_news(Sweep *sweep, int bucket)
{
	sweep->buckets[bucket].has_news = true;
	want_turn(sweep);
}

static void
want_in_all(Sweep *sweep, LookKind kind)
{
	for (int i = 0; i < sweep->nbuckets; i++)
		widen(&sweep->buckets[i].wanted, kind);
	want_turn(sweep);
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

static void
begin_rest(BucketSweep *b, const LookEnd *end)
{
	Rest	   *rest = &b->rests[end->kind.start];

	if (!end->is_cut || end->added > 0)
		b->rest_times = REST_TIMES;
	else if (end->kind.depth == LOOK_DEEP &&
			 end->took_us * b->rest_times < b->sweep->config->sweep_us)
		b->rest_times *= 2;
	rest->since_us = loop_now_us(b->sweep->loop);
	rest->took_us = end->took_us;
	rest->added = end->added;
}

/*
 * A look at the head reads all types again, also those that have tasks in the
 * table.  So all of its time counts while more than half of the table is full.
 */
static int64
rest_left(const BucketSweep *b, LookStart start)
{
	const Rest *rest = &b->rests[start];
	bool		is_fed = start == LOOK_FROM_HEAD && table_waiting(b->look.table) > table_capacity(b->look.table) / 2;
	int64		free_us = rest->added == 0 || is_fed ? 0 : FREE_US + (int64) rest->added * FREE_TASK_US;
	int64		busy_us = Max(rest->took_us - free_us, 0);
	int64		times = table_is_empty(b->look.table) ? REST_TIMES : b->rest_times;
	int64		most_us = Max(busy_us * REST_TIMES, b->sweep->config->sweep_us);

	return rest->since_us + Min(busy_us * times, most_us) - loop_now_us(b->sweep->loop);
}

/* A look at new tasks waits for REST_TIMES the time of the last look, however barren, or a sweep's period. */
static int64
news_rest_left(const BucketSweep *b)
{
	const Rest *rest = &b->rests[LOOK_FROM_HEAD];

	return rest->since_us + Min(rest->took_us * REST_TIMES, b->sweep->config->sweep_us) - loop_now_us(b->sweep->loop);
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
	begin_rest(b, end);
	if (end->added > 0)
		log_line(TWT_LOG_DEBUG, "sweep", "found %d tasks in bucket \"%s\"",
				 end->added, b->sweep->config->buckets[b->look.bucket]);
}

static void
on_come_down(void *arg, const char *type, int room)
{
	BucketSweep *b = arg;
	LookStart	start = type == NULL && rest_left(b, LOOK_FROM_HEAD) <= 0 ? LOOK_FROM_HEAD : LOOK_ON;
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

/* The look begins after the commits that it is for.  0: no rest is left. */
static int64
take_news(BucketSweep *b)
{
	int64		rest_us = b->has_news ? news_rest_left(b) : 0;

	if (!b->has_news || rest_us > 0)
		return rest_us;
	b->has_news = false;
	widen(&b->wanted, all_shares);
	return 0;
}

/* After an expensive look at the head, looks from the cursors still fetch more. */
static void
pump(BucketSweep *b)
{
	int64		head_us = rest_left(b, LOOK_FROM_HEAD);
	int64		next_us = look_can_go_on(&b->look) ? rest_left(b, LOOK_ON) : head_us;
	int64		news_us = take_news(b);
	int64		wait_us = next_us > 0 ? next_us : head_us;

	if (next_us <= 0 && table_has_spilled(b->look.table))
		table_take_spilled(b->look.table, on_come_down, b);
	if (head_us <= 0)
		help_others(b);
	if (news_us > 0 && (wait_us <= 0 || news_us < wait_us))
		wait_us = news_us;
	if (wait_us > 0)
		loop_timer_start(b->rested, wait_us);
	if (b->wanted.depth != LOOK_NONE)
		send_look(b);
}

void
sweep_pump(Sweep *sweep)
{
	if (sweep->is_stopped || !node_is_alive(sweep->node) ||
		!pg_is_up(node_pg(sweep->node)))
		return;
	for (int i = 0; i < sweep->nbuckets; i++)
		if (sweep->buckets[i].look.kind.depth == LOOK_NONE)
			pump(&sweep->buckets[i]);
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
		b->rest_times = REST_TIMES;
		b->look = (Look)
		{
			.loop = loop, .node = node, .policies = policies, .table = tables[i],
				.bucket = i, .on_end = on_end, .arg = b
		};
		look_init(&b->look);
		b->rested = loop_timer_new(loop, want_turn, sweep);
	}
	sweep->timer = loop_timer_new(loop, on_time, sweep);
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
	loop_timer_free(sweep->doubt);
	for (int i = 0; i < sweep->nbuckets; i++)
	{
		loop_timer_free(sweep->buckets[i].rested);
		look_clear(&sweep->buckets[i].look);
	}
	pfree(sweep->buckets);
	pfree(sweep);
}
