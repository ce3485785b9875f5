/*-------------------------------------------------------------------------
 *
 * test_shared_limits.c
 *		Nodes that share a limit, and the database between them: random delays,
 *		lost offers.
 *
 * Everything is played here in a time of its own: the messages of several
 * nodes, the database that grants, refuses and remembers who waits, jobs that
 * run for a while.  Slots must go round: with every message delivered hardly
 * one is ever idle while somebody waits; with offers lost, none for long.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/heap.h"
#include "check.h"
#include "slots/slots.h"
#include "slots/type_limits.h"

#define NODES 4
#define JOBS 60					/* per node */

typedef enum What
{
	GRAB,						/* node to database */
	GRAB_ANSWER,
	FINISH,
	FINISH_ANSWER,
	OFFER,
	OFFER_ANSWER,				/* or a notification */
	JOB_END
} What;

typedef struct Event
{
	int64		at_us;
	uint64		number;
	int			place;
	What		what;
	int			node;
	struct Job *job;
	int			turns;
	bool		is_good;		/* granted; wanted */
} Event;

typedef struct Job
{
	SlotWaiter	waiter;			/* first */
	int			node;
	bool		is_ready;
} Job;

typedef struct Node
{
	Limits	   *all;
	Limit	   *root;
	TypeLimits *limits;
	Limit	   *leaf;
	Job			jobs[JOBS];
} Node;

static Chance chance;
static int64 now;
static uint64 number;
static Heap events;
static Node nodes[NODES];
static int	delay_us;			/* longest delay of a message */
static int	job_us;
static int	lost_percent;		/* share of lost offers */

/* The database. */
static int	max;
static int	held;
static int	waiting[NODES];
static int	nwaiting;

static int	ndone;
static int	nmost;
static int64 idle_us;			/* slots not held while jobs are left to start */
static int64 idle_since_us;
static int	nstarted;
static int	njobs;

static int64
get_now(void *arg)
{
	(void) arg;
	return now;
}

static bool
is_earlier(const void *a, const void *b)
{
	const Event *left = a;
	const Event *right = b;

	if (left->at_us != right->at_us)
		return left->at_us < right->at_us;
	return left->number < right->number;
}

static void
set_place(void *event, int place)
{
	((Event *) event)->place = place;
}

static Event *
send(What what, int node, int64 after_us)
{
	Event	   *event = palloc0(sizeof(Event));

	event->at_us = now + after_us;
	event->number = ++number;
	event->what = what;
	event->node = node;
	heap_push(&events, event);
	return event;
}

static int64
some_delay(void)
{
	return 1 + chance_below(&chance, delay_us);
}

/* ---- a node ---- */

static void
wake_job(SlotWaiter *waiter)
{
	((Job *) waiter)->is_ready = true;
}

static Job *
first_ready(Node *node)
{
	Job		   *first = NULL;

	for (int i = 0; i < JOBS; i++)
		if (node->jobs[i].is_ready &&
			(first == NULL || node->jobs[i].waiter.sequence < first->waiter.sequence))
			first = &node->jobs[i];
	return first;
}

static void
note_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
	Event	   *offer = send(OFFER, *(int *) arg, some_delay());

	(void) limit;
	offer->turns = freed;
	offer->is_good = is_wanted;
}

/* The end of a turn of a sidecar's loop. */
static void
pump(int n)
{
	Node	   *node = &nodes[n];
	Job		   *job;

	limits_tick(node->all);
	while ((job = first_ready(node)) != NULL)
	{
		Limit	   *full = slots_book(node->leaf, job->waiter.priority);

		job->is_ready = false;
		if (full == NULL)
			send(GRAB, n, some_delay())->job = job;
		else
			slots_wait(full, &job->waiter);
	}
	limits_take_freed(node->all, note_freed, &n);
}

static void
on_grabbed(const Event *event)
{
	Node	   *node = &nodes[event->node];
	Limit	   *limit = type_limits_find_shared(node->limits, "A");

	if (!event->is_good)
	{
		limit_refuse(limit, 0);
		slots_undo(node->leaf);
		event->job->is_ready = true;
		return;
	}
	slots_start(node->leaf);
	limit_grant(limit);
	send(JOB_END, event->node, job_us / 2 + chance_below(&chance, job_us))->job = event->job;
}

/* A turn that others left us is handed on when nobody waits; one's own is not. */
static void
on_turn(const Event *event)
{
	Limit	   *limit = type_limits_find_shared(nodes[event->node].limits, "A");

	if (!limit_offer(limit, event->turns, event->is_good ? TURNS_TOLD : TURNS_ANSWERED) && event->is_good)
		send(OFFER, event->node, some_delay())->turns = event->turns;
}

/* ---- the database ---- */

static void
drop_waiting(int place)
{
	nwaiting--;
	memmove(&waiting[place], &waiting[place + 1], (nwaiting - place) * sizeof(int));
}

static int
find_waiting(int node)
{
	for (int i = 0; i < nwaiting; i++)
		if (waiting[i] == node)
			return i;
	return -1;
}

static void
note_idle(void)
{
	if (nstarted < njobs)
		idle_us += (now - idle_since_us) * Min(max - held, njobs - nstarted);
	idle_since_us = now;
}

static void
do_grab(const Event *event)
{
	Event	   *answer = send(GRAB_ANSWER, event->node, some_delay());

	answer->job = event->job;
	answer->is_good = held < max;
	nstarted += answer->is_good;
	if (answer->is_good)
		held++;
	else if (find_waiting(event->node) < 0)
		waiting[nwaiting++] = event->node;
	nmost = Max(nmost, held);
}

static void
send_turn(int node, int turns, bool is_notified)
{
	Event	   *turn;

	if (is_notified && chance_percent(&chance, lost_percent))
		return;
	turn = send(OFFER_ANSWER, node, some_delay());
	turn->turns = turns;
	turn->is_good = is_notified;
}

/* As offer_slot() has it. */
static void
do_offer(const Event *event)
{
	int			own = find_waiting(event->node);
	bool		is_kept = own >= 0 && !event->is_good;
	int			count;

	if (nwaiting == 0 || (nwaiting == 1 && own == 0))
	{
		send_turn(event->node, event->turns, false);
		return;
	}
	if (is_kept)
		drop_waiting(own);
	if (event->is_good && own < 0)
		waiting[nwaiting++] = event->node;
	count = Min(event->turns, nwaiting);
	for (int i = 0; i < count; i++)
		send_turn(waiting[i], (event->turns + nwaiting - i - 1) / nwaiting,
				  waiting[i] != event->node);
	while (count-- > 0)
		drop_waiting(0);
	if (is_kept)
	{
		memmove(&waiting[1], &waiting[0], nwaiting * sizeof(int));
		waiting[0] = event->node;
		nwaiting++;
	}
}

static void
happen(const Event *event)
{
	now = event->at_us;
	note_idle();
	switch (event->what)
	{
		case GRAB:
			do_grab(event);
			break;
		case GRAB_ANSWER:
			on_grabbed(event);
			break;
		case JOB_END:
			slots_free_here(nodes[event->node].leaf);
			send(FINISH, event->node, some_delay());
			break;
		case FINISH:
			held--;
			send(FINISH_ANSWER, event->node, some_delay());
			break;
		case FINISH_ANSWER:
			slots_free_shared(nodes[event->node].leaf);
			ndone++;
			break;
		case OFFER:
			do_offer(event);
			break;
		case OFFER_ANSWER:
			on_turn(event);
			break;
	}
	pump(event->node);
}

/* ---- all of it ---- */

static void
start_node(int n, int jobs)
{
	LimitRule	rule = {"A", true, {.max = max}};
	Node	   *node = &nodes[n];

	memset(node, 0, sizeof(*node));
	node->all = limits_new(get_now, NULL);
	node->root = limit_new_root(node->all, "node", 0);
	node->limits = type_limits_new(node->root);
	type_limits_set(node->limits, &rule, 1);
	node->leaf = type_limits_leaf(node->limits, "A", NULL, NULL);
	for (int i = 0; i < jobs; i++)
	{
		node->jobs[i].waiter.wake = wake_job;
		node->jobs[i].waiter.wants = node->leaf;
		node->jobs[i].waiter.sequence = i;
		node->jobs[i].is_ready = true;
	}
}

/* False: nothing more can happen, or not for a long time. */
static bool
go_on(void)
{
	Event	   *event = heap_first(&events);
	int64		next = event == NULL ? PG_INT64_MAX : event->at_us;
	int			who = -1;

	for (int i = 0; i < NODES; i++)
	{
		int64		tick = limits_next_us(nodes[i].all);

		if (tick >= 0 && tick < next)
		{
			next = tick;
			who = i;
		}
	}
	if (next > SECONDS_TO_US(3600))
		return false;
	if (who >= 0)
	{
		now = Max(now, next);
		pump(who);
		return true;
	}
	heap_remove(&events, 0);
	happen(event);
	pfree(event);
	return true;
}

static void
play(int seed, int slots)
{
	chance_init(&chance, seed);
	now = SECONDS_TO_US(1);
	max = slots;
	held = nwaiting = ndone = nmost = nstarted = njobs = 0;
	idle_us = 0;
	idle_since_us = now;
	heap_init(&events, is_earlier, set_place);
	for (int i = 0; i < NODES; i++)
	{
		int			own = chance_below(&chance, JOBS + 1);

		start_node(i, own);
		njobs += own;
	}
	for (int i = 0; i < NODES; i++)
		pump(i);
	while (ndone < njobs && go_on())
		;
	check_that(seed, slots, ndone == njobs);
	check_that(seed, slots, nmost == Min(slots, njobs));
	while (heap_first(&events) != NULL)
		(void) go_on();
	for (int i = 0; i < NODES; i++)
	{
		limit_release(nodes[i].leaf);
		type_limits_free(nodes[i].limits);
		limit_free(nodes[i].root);
		limits_free(nodes[i].all);
	}
	heap_clear(&events);
}

/* Four messages lie between the end of one job and the start of the next one. */
static void
test_slots_go_round(void **state)
{
	(void) state;
	delay_us = 300;
	lost_percent = 0;
	for (int seed = test_seed(); seed < test_seed() + 600; seed++)
	{
		job_us = seed % 2 == 0 ? 10000 : 100;
		play(seed, 1 + seed % 9);
		check_that(seed, (int) idle_us, idle_us < (int64) ndone * delay_us * 5 / 2);
	}
}

static void
test_offers_are_lost(void **state)
{
	(void) state;
	delay_us = 300;
	for (int seed = test_seed(); seed < test_seed() + 600; seed++)
	{
		job_us = seed % 2 == 0 ? 10000 : 100;
		lost_percent = 1 + seed % 100;
		play(seed, 1 + seed % 9);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_go_round),
		cmocka_unit_test(test_offers_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
