/*-------------------------------------------------------------------------
 *
 * sim_loop.c
 *		The event loop of a simulated sidecar, in virtual time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>

#include "base/heap.h"
#include "children.h"
#include "sim_loop.h"
#include "world.h"

/* A sidecar that works has a few hundred turns in a second. */
#define MOST_TURNS 20000

/* A sidecar seldom has more descriptors. */
#define IOS_MOST 100

/* A function to call in a turn, or at the end of each. */
typedef struct LoopCall
{
	dlist_node	node;
	LoopFn		fn;				/* NULL: no more */
	void	   *arg;
} LoopCall;

struct Loop
{
	Process    *process;
	int64		ahead_us;		/* each machine has its own clock */
	bool		is_stopped;
	bool		is_in_turn;
	bool		wants_turn;
	int64		idle_us;		/* when it can have its next turn */
	int64		thaw_us;
	Event	   *wake;
	Heap		timers;
	dlist_head	calls;
	dlist_head	turn_ends;
	dlist_head	ios;
	LoopFn		on_signal;
	void	   *signal_arg;
	bool		is_signalled;
	bool		looks;			/* a descriptor may be ready */
	StringInfoData garbage;		/* pointers, freed at the end of the turn */
	int64		second;			/* turns of this one are counted */
	int			nturns;
};

struct LoopIo
{
	dlist_node	node;
	Loop	   *loop;
	int			fd;
	int			want;			/* 0: not watched, or no more */
	LoopIoFn	fn;
	void	   *arg;
};

struct LoopTimer
{
	Loop	   *loop;
	LoopFn		fn;
	void	   *arg;
	int64		due_us;			/* by the world's clock */
	uint64		rank;
	int			place;
};

/* Timers of one moment fire in the order of their starts. */
static uint64 last_rank;

static bool
is_earlier(const void *a, const void *b)
{
	const LoopTimer *one = a;
	const LoopTimer *two = b;

	return one->due_us != two->due_us ? one->due_us < two->due_us : one->rank < two->rank;
}

static void
set_place(void *timer, int place)
{
	((LoopTimer *) timer)->place = place;
}

static void turn(void *arg);

/* Sets the time of the next turn. */
static void
arm(Loop *loop)
{
	const LoopTimer *timer = heap_first(&loop->timers);
	int64		at_us = timer == NULL ? PG_INT64_MAX : timer->due_us;

	if (loop->is_in_turn)
		return;
	if (loop->wake != NULL)
		world_cancel(loop->wake);
	loop->wake = NULL;
	if (loop->wants_turn || loop->looks || loop->is_signalled || !dlist_is_empty(&loop->calls))
		at_us = 0;
	if (at_us == PG_INT64_MAX || loop->is_stopped)
		return;
	at_us = Max(at_us, Max(loop->idle_us, loop->thaw_us));
	loop->wake = world_after(at_us - world_now_us(), turn, loop);
}

static void
run_signal(Loop *loop)
{
	if (loop->is_signalled)
		loop->on_signal(loop->signal_arg);
	loop->is_signalled = false;
}

static void
run_calls(Loop *loop)
{
	while (!dlist_is_empty(&loop->calls))
	{
		LoopCall   *call = dlist_container(LoopCall, node, dlist_pop_head_node(&loop->calls));
		LoopFn		fn = call->fn;
		void	   *arg = call->arg;

		pfree(call);
		fn(arg);
	}
}

static void
run_timers(Loop *loop)
{
	LoopTimer  *timer;

	while (!loop->is_stopped && (timer = heap_first(&loop->timers)) != NULL && timer->due_us <= world_now_us())
	{
		loop_timer_stop(timer);
		timer->fn(timer->arg);
	}
}

static struct pollfd
poll_of(const LoopIo *io)
{
	return (struct pollfd)
	{
		io->fd, (io->want & LOOP_READ ? POLLIN : 0) | (io->want & LOOP_WRITE ? POLLOUT : 0), 0
	};
}

static int
ready(const LoopIo *io)
{
	struct pollfd poll_fd = poll_of(io);

	if (io->want == 0 || poll(&poll_fd, 1, 0) <= 0)
		return 0;
	return io->want & (poll_fd.revents & (POLLIN | POLLHUP) ? LOOP_READ : LOOP_WRITE);
}

/* One question for all descriptors, since most looks find none. */
static bool
any_ready(const Loop *loop)
{
	struct pollfd fds[IOS_MOST];
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, (dlist_head *) &loop->ios)
	{
		const LoopIo *io = dlist_container(LoopIo, node, iter.cur);

		if (io->want == 0)
			continue;
		if (n == IOS_MOST)
			return true;
		fds[n++] = poll_of(io);
	}
	return n > 0 && poll(fds, n, 0) > 0;
}

/* A descriptor that is still ready is looked at again in the next turn. */
static void
run_ios(Loop *loop)
{
	dlist_iter	iter;
	bool		any = false;

	if (!loop->looks)
		return;
	loop->looks = any_ready(loop);
	if (!loop->looks)
		return;
	dlist_foreach(iter, &loop->ios)
	{
		LoopIo	   *io = dlist_container(LoopIo, node, iter.cur);
		int			which = ready(io);

		any |= which != 0;
		if (which != 0)
			io->fn(io->arg, which);
	}
	loop->looks = any;
}

/* Frees those that have been taken back. */
static void
drop_turn_ends(Loop *loop)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &loop->turn_ends)
	{
		LoopCall   *end = dlist_container(LoopCall, node, iter.cur);

		if (end->fn != NULL)
			continue;
		dlist_delete(&end->node);
		pfree(end);
	}
}

static void
drop_ios(Loop *loop)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &loop->ios)
	{
		LoopIo	   *io = dlist_container(LoopIo, node, iter.cur);

		if (io->fd >= 0)
			continue;
		dlist_delete(&io->node);
		pfree(io);
	}
}

static void
free_garbage(Loop *loop)
{
	void	  **pointers = (void **) loop->garbage.data;

	for (int i = 0; i < loop->garbage.len / (int) sizeof(void *); i++)
		pfree(pointers[i]);
	resetStringInfo(&loop->garbage);
}

static void
run_turn_ends(Loop *loop)
{
	dlist_iter	iter;

	loop->wants_turn = false;
	dlist_foreach(iter, &loop->turn_ends)
	{
		const LoopCall *end = dlist_container(LoopCall, node, iter.cur);

		if (end->fn != NULL)
			end->fn(end->arg);
	}
	drop_turn_ends(loop);
}

static void
count_turn(Loop *loop)
{
	int64		second = world_now_us() / SECONDS_TO_US(1);

	if (loop->second != second)
		loop->nturns = 0;
	loop->second = second;
	if (++loop->nturns > MOST_TURNS)
		world_fail("%s spins: more than %d turns in a second", loop->process->name, MOST_TURNS);
}

static void
turn(void *arg)
{
	Loop	   *loop = arg;
	Process    *before = process_enter(loop->process);

	loop->wake = NULL;
	count_turn(loop);
	loop->is_in_turn = true;
	/* libevent promises no order between descriptors and timers. */
	if (world_happens(300))
		run_timers(loop);
	run_signal(loop);
	run_calls(loop);
	run_ios(loop);
	run_timers(loop);
	run_turn_ends(loop);
	children_look(loop->process);
	free_garbage(loop);
	drop_ios(loop);
	loop->is_in_turn = false;
	loop->idle_us = world_now_us() + world_between(2, 60);
	(void) process_enter(before);
	arm(loop);
}

/* ---- sim_loop.h ---- */

Loop *
sim_loop_new(Process *process)
{
	Loop	   *loop = palloc0(sizeof(Loop));

	loop->process = process;
	loop->ahead_us = world_between(SECONDS_TO_US(100), SECONDS_TO_US(100000));
	heap_init(&loop->timers, is_earlier, set_place);
	dlist_init(&loop->calls);
	dlist_init(&loop->turn_ends);
	dlist_init(&loop->ios);
	initStringInfo(&loop->garbage);
	return loop;
}

Process *
sim_loop_process(const Loop *loop)
{
	return loop->process;
}

bool
sim_loop_has_stopped(const Loop *loop)
{
	return loop->is_stopped;
}

void
sim_loop_freeze(Loop *loop, int64 us)
{
	loop->thaw_us = Max(loop->thaw_us, world_now_us() + us);
	arm(loop);
}

void
sim_loop_thaw(Loop *loop)
{
	loop->thaw_us = 0;
	arm(loop);
}

bool
sim_loop_is_frozen(const Loop *loop)
{
	return loop->thaw_us > world_now_us();
}

void
sim_loop_signal(Loop *loop)
{
	loop->is_signalled = true;
	arm(loop);
}

void
sim_loop_look(Loop *loop)
{
	loop->looks = true;
	arm(loop);
}

static LoopCall *
new_call(LoopFn fn, void *arg)
{
	LoopCall   *call = palloc(sizeof(LoopCall));

	call->fn = fn;
	call->arg = arg;
	return call;
}

void
sim_loop_call(Loop *loop, LoopFn fn, void *arg)
{
	dlist_push_tail(&loop->calls, &new_call(fn, arg)->node);
	arm(loop);
}

void
sim_loop_forget(Loop *loop, const void *arg)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &loop->calls)
	{
		LoopCall   *call = dlist_container(LoopCall, node, iter.cur);

		if (call->arg != arg)
			continue;
		dlist_delete(&call->node);
		pfree(call);
	}
}

/* ---- loop.h ---- */

void
loop_free(Loop *loop)
{
	if (loop->wake != NULL)
		world_cancel(loop->wake);
	if (loop->timers.count != 0)
		world_fail("%s leaves %d timers", loop->process->name, loop->timers.count);
	if (!dlist_is_empty(&loop->calls))
		world_fail("%s leaves calls", loop->process->name);
	drop_ios(loop);
	if (!dlist_is_empty(&loop->ios))
		world_fail("%s watches a descriptor", loop->process->name);
	drop_turn_ends(loop);
	if (!dlist_is_empty(&loop->turn_ends))
		world_fail("%s leaves work for the end of each turn", loop->process->name);
	free_garbage(loop);
	pfree(loop->garbage.data);
	heap_clear(&loop->timers);
	pfree(loop);
}

void
loop_stop(Loop *loop)
{
	loop->is_stopped = true;
}

int64
loop_now_us(Loop *loop)
{
	return world_now_us() + (loop == NULL ? 0 : loop->ahead_us);
}

LoopTimer *
loop_timer_new(Loop *loop, LoopFn fn, void *arg)
{
	LoopTimer  *timer = palloc0(sizeof(LoopTimer));

	timer->loop = loop;
	timer->fn = fn;
	timer->arg = arg;
	timer->place = HEAP_NOWHERE;
	return timer;
}

void
loop_timer_start(LoopTimer *timer, int64 delay_us)
{
	int64		now_us = world_now_us();

	loop_timer_stop(timer);
	timer->due_us = now_us + Min(Max(delay_us, 0), PG_INT64_MAX - 1 - now_us);
	timer->rank = ++last_rank;
	heap_push(&timer->loop->timers, timer);
	arm(timer->loop);
}

void
loop_timer_stop(LoopTimer *timer)
{
	if (timer->place != HEAP_NOWHERE)
		(void) heap_remove(&timer->loop->timers, timer->place);
}

bool
loop_timer_active(const LoopTimer *timer)
{
	return timer->place != HEAP_NOWHERE;
}

void
loop_timer_free(LoopTimer *timer)
{
	loop_timer_stop(timer);
	loop_defer_free(timer->loop, timer);
}

void
loop_on_turn(Loop *loop, LoopFn fn, void *arg)
{
	dlist_push_tail(&loop->turn_ends, &new_call(fn, arg)->node);
}

void
loop_off_turn(Loop *loop, LoopFn fn, void *arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loop->turn_ends)
	{
		LoopCall   *end = dlist_container(LoopCall, node, iter.cur);

		if (end->fn == fn && end->arg == arg)
			end->fn = NULL;
	}
}

void
loop_want_turn(Loop *loop)
{
	loop->wants_turn = true;
	arm(loop);
}

void
loop_defer_free(Loop *loop, void *pointer)
{
	appendBinaryStringInfo(&loop->garbage, (const char *) &pointer, sizeof(pointer));
}

Loop *
loop_new(void)
{
	world_fail("a loop beside the simulated one");
}

void
loop_run(Loop *loop)
{
	world_fail("%s runs its loop itself", loop->process->name);
}

LoopIo *
loop_io_new(Loop *loop, int fd, LoopIoFn fn, void *arg)
{
	LoopIo	   *io = palloc0(sizeof(LoopIo));

	io->loop = loop;
	io->fd = fd;
	io->fn = fn;
	io->arg = arg;
	dlist_push_tail(&loop->ios, &io->node);
	return io;
}

void
loop_io_want(LoopIo *io, int want)
{
	if (io->want == want)
		return;
	io->want = want;
	sim_loop_look(io->loop);
}

void
loop_io_free(LoopIo *io)
{
	io->want = 0;
	io->fd = -1;
}

void
loop_on_signal(Loop *loop, int signo, LoopFn fn, void *arg)
{
	loop->on_signal = fn;
	loop->signal_arg = arg;
}
