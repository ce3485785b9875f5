/*-------------------------------------------------------------------------
 *
 * loop.c
 *		The event loop, over libevent.
 *
 * libevent waits for descriptors only.  Its timers count CLOCK_MONOTONIC,
 * which stands still while the machine sleeps: a deadline would be late by the
 * length of the sleep.  Our timers are a heap over CLOCK_BOOTTIME.  One
 * timerfd of the same clock ends the wait when the earliest timer is due.
 *
 * libevent's handler of signals writes a byte into a socket and ignores a
 * failure.  A few hundred signals in one turn fill the socket, so a TERM after
 * them would be lost.  Our signals stay blocked, and the kernel keeps each of
 * them until the signalfd is read.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/program.h"

/* Pause before a descriptor is tried again that could not be watched. */
#define AGAIN_US SECONDS_TO_US(1)

typedef struct TurnFn
{
	dlist_node	node;
	LoopFn		fn;				/* NULL: removed during this turn */
	void	   *arg;
} TurnFn;

typedef struct SignalFn
{
	slist_node	node;
	int			signo;
	LoopFn		fn;
	void	   *arg;
} SignalFn;

struct Loop
{
	struct event_base *base;
	bool		stop;
	bool		again;			/* run the turn functions once more */

	dlist_head	turn_fns;		/* in order of registration */
	StringInfoData garbage;		/* pointers, freed at the end of the turn */
	dlist_head	ios;

	slist_head	signals;
	sigset_t	signal_set;		/* all of them */
	int			signalfd;		/* -1: there are none */
	struct event signal_event;

	Heap		timers;			/* running ones, the earliest first */
	int			timerfd;
	int64		armed_us;		/* time that timerfd is set to, 0: none */
	struct event timer_event;
};

struct LoopIo
{
	dlist_node	node;
	Loop	   *loop;
	LoopIoFn	fn;
	void	   *arg;
	int			want;
	int			has;			/* the part that the kernel watches */
	LoopTimer  *again;			/* NULL: it has always watched all */
	struct event readable;
	struct event writable;
};

struct LoopTimer
{
	Loop	   *loop;
	LoopFn		fn;
	void	   *arg;
	int64		due_us;
	int			place;			/* in the heap, HEAP_NOWHERE: not running */
};

int64
loop_now_us(Loop *loop)
{
	struct timespec now;

	(void) loop;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
}

/* ---- timers ---- */

static bool
timer_is_earlier(const void *a, const void *b)
{
	return ((const LoopTimer *) a)->due_us < ((const LoopTimer *) b)->due_us;
}

static void
set_timer_place(void *timer, int place)
{
	((LoopTimer *) timer)->place = place;
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
	Loop	   *loop = timer->loop;
	int64		now_us = loop_now_us(loop);

	loop_timer_stop(timer);
	if (delay_us < 0)
		delay_us = 0;
	if (delay_us > PG_INT64_MAX - now_us)
		delay_us = PG_INT64_MAX - now_us;
	timer->due_us = now_us + delay_us;

	heap_push(&loop->timers, timer);
}

void
loop_timer_stop(LoopTimer *timer)
{
	if (timer->place != HEAP_NOWHERE)
		heap_remove(&timer->loop->timers, timer->place);
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

static void
run_timers(Loop *loop)
{
	LoopTimer  *timer;
	int64		now_us;

	if (loop->timers.count == 0)
		return;

	/* Read the clock once: a timer restarted with 0 waits for the next turn. */
	now_us = loop_now_us(loop);
	while ((timer = heap_first(&loop->timers)) && timer->due_us <= now_us)
	{
		loop_timer_stop(timer);
		timer->fn(timer->arg);
	}
}

static void
on_timerfd(evutil_socket_t fd, short what, void *arg)
{
	Loop	   *loop = arg;
	uint64		expirations;

	(void) what;
	if (read(fd, &expirations, sizeof(expirations)) > 0)
		loop->armed_us = 0;
}

/* Sets timerfd for the earliest timer; returns true if that is already due. */
static bool
arm_timerfd(Loop *loop)
{
	const LoopTimer *timer = heap_first(&loop->timers);
	struct itimerspec when;
	int64		delay_us;

	if (timer == NULL)
		return false;			/* at worst an older setting ends the wait
								 * early */
	delay_us = timer->due_us - loop_now_us(loop);
	if (delay_us <= 0)
		return true;
	if (timer->due_us == loop->armed_us)
		return false;

	memset(&when, 0, sizeof(when));
	when.it_value.tv_sec = delay_us / 1000000;
	when.it_value.tv_nsec = delay_us % 1000000 * 1000;
	timerfd_settime(loop->timerfd, 0, &when, NULL);
	loop->armed_us = timer->due_us;
	return false;
}

/* ---- descriptors ---- */

static void
on_io(evutil_socket_t fd, short what, void *arg)
{
	LoopIo	   *io = arg;

	(void) fd;
	io->fn(io->arg, what & EV_READ ? LOOP_READ : LOOP_WRITE);
}

/*
 * A library may close a descriptor that we still watch, as libpq does when a write
 * fails.  Its number may soon be another file's, which the kernel would not watch
 * while libevent believes that it does.
 */
static void
forget_closed(Loop *loop, int fd)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loop->ios)
	{
		LoopIo	   *io = dlist_container(LoopIo, node, iter.cur);

		if (event_get_fd(&io->readable) == fd)
			loop_io_want(io, 0);
	}
}

LoopIo *
loop_io_new(Loop *loop, int fd, LoopIoFn fn, void *arg)
{
	LoopIo	   *io = palloc0(sizeof(LoopIo));

	forget_closed(loop, fd);
	dlist_push_tail(&loop->ios, &io->node);
	io->loop = loop;
	io->fn = fn;
	io->arg = arg;
	event_assign(&io->readable, loop->base, fd, EV_READ | EV_PERSIST,
				 on_io, io);
	event_assign(&io->writable, loop->base, fd, EV_WRITE | EV_PERSIST,
				 on_io, io);
	return io;
}

static bool
change(LoopIo *io, struct event *event, int direction)
{
	if (((io->want ^ io->has) & direction) == 0)
		return true;
	if (!(io->want & direction))
		event_del(event);
	else if (event_add(event, NULL) != 0)
		return false;
	io->has ^= direction;
	return true;
}

/* The kernel may be out of memory for it: then it is tried again. */
static void
watch(void *arg)
{
	LoopIo	   *io = arg;
	bool		is_watched = change(io, &io->readable, LOOP_READ);

	is_watched &= change(io, &io->writable, LOOP_WRITE);
	if (is_watched)
		return;
	log_line(TWT_LOG_ERROR, "loop", "could not watch a descriptor, will try again: %m");
	if (io->again == NULL)
		io->again = loop_timer_new(io->loop, watch, io);
	loop_timer_start(io->again, AGAIN_US);
}

void
loop_io_want(LoopIo *io, int want)
{
	io->want = want;
	if (io->has != want)
		watch(io);
}

void
loop_io_free(LoopIo *io)
{
	loop_io_want(io, 0);
	dlist_delete(&io->node);
	if (io->again != NULL)
		loop_timer_free(io->again);
	loop_defer_free(io->loop, io);
}

/* ---- signals, end of turn ---- */

/* The loop cannot go on. */
static void
fail(const char *what)
{
	log_line(TWT_LOG_FATAL, "loop", "%s: %m", what);
	program_exit(EXIT_FAILURE);
}

static void
call_signal(Loop *loop, int signo)
{
	slist_iter	iter;

	slist_foreach(iter, &loop->signals)
	{
		const SignalFn *handler = slist_container(SignalFn, node, iter.cur);

		if (handler->signo == signo)
			handler->fn(handler->arg);
	}
}

/* A signal that could not be read is there in the next turn. */
static void
on_signalfd(evutil_socket_t fd, short what, void *arg)
{
	struct signalfd_siginfo info;

	(void) what;
	while (read(fd, &info, sizeof(info)) == (ssize_t) sizeof(info))
		call_signal(arg, (int) info.ssi_signo);
}

static bool
open_signalfd(Loop *loop)
{
	loop->signalfd = signalfd(-1, &loop->signal_set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (loop->signalfd < 0)
		return false;
	event_assign(&loop->signal_event, loop->base, loop->signalfd,
				 EV_READ | EV_PERSIST, on_signalfd, loop);
	return event_add(&loop->signal_event, NULL) == 0;
}

static void
do_nothing(int signo)
{
	(void) signo;
}

/*
 * A process that ignores SIGCHLD gets none, and the kernel drops what waits when a
 * default is set.  So each signal has a handler, which no thread ever runs.
 */
static bool
hold_signal(const Loop *loop, int signo)
{
	return pthread_sigmask(SIG_BLOCK, &loop->signal_set, NULL) == 0 &&
		signal(signo, do_nothing) != SIG_ERR;
}

void
loop_on_signal(Loop *loop, int signo, LoopFn fn, void *arg)
{
	SignalFn   *handler = palloc0(sizeof(SignalFn));

	handler->signo = signo;
	handler->fn = fn;
	handler->arg = arg;
	slist_push_head(&loop->signals, &handler->node);
	sigaddset(&loop->signal_set, signo);
	if (loop->signalfd < 0 ? !open_signalfd(loop) : signalfd(loop->signalfd, &loop->signal_set, 0) < 0)
		fail("could not watch a signal");
	if (!hold_signal(loop, signo))
		fail("could not hold a signal");
}

void
loop_on_turn(Loop *loop, LoopFn fn, void *arg)
{
	TurnFn	   *turn_fn = palloc(sizeof(TurnFn));

	turn_fn->fn = fn;
	turn_fn->arg = arg;
	dlist_push_tail(&loop->turn_fns, &turn_fn->node);
}

void
loop_off_turn(Loop *loop, LoopFn fn, void *arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loop->turn_fns)
	{
		TurnFn	   *turn_fn = dlist_container(TurnFn, node, iter.cur);

		if (turn_fn->fn == fn && turn_fn->arg == arg)
			turn_fn->fn = NULL;
	}
}

static void
free_turn_fn(TurnFn *turn_fn)
{
	dlist_delete(&turn_fn->node);
	pfree(turn_fn);
}

void
loop_want_turn(Loop *loop)
{
	loop->again = true;
}

/*
 * A loop_want_turn() by a callback earlier in this turn is served here.  Only
 * a call by a turn function needs another turn.
 */
static void
run_turn_fns(Loop *loop)
{
	dlist_iter	iter;
	dlist_mutable_iter last;

	loop->again = false;
	dlist_foreach(iter, &loop->turn_fns)
	{
		const TurnFn *turn_fn = dlist_container(TurnFn, node, iter.cur);

		if (turn_fn->fn != NULL)
			turn_fn->fn(turn_fn->arg);
	}
	dlist_foreach_modify(last, &loop->turn_fns)
	{
		TurnFn	   *turn_fn = dlist_container(TurnFn, node, last.cur);

		if (turn_fn->fn == NULL)
			free_turn_fn(turn_fn);
	}
}

void
loop_defer_free(Loop *loop, void *pointer)
{
	appendBinaryStringInfo(&loop->garbage, (const char *) &pointer, sizeof(pointer));
}

static void
free_garbage(Loop *loop)
{
	void	  **pointers = (void **) loop->garbage.data;
	int			n = loop->garbage.len / sizeof(void *);

	for (int i = 0; i < n; i++)
		pfree(pointers[i]);
	resetStringInfo(&loop->garbage);
}

/* ---- the loop ---- */

static struct event_base *
new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config)
	{
		event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
		base = event_base_new_with_config(config);
		event_config_free(config);
	}
	return base;
}

/*
 * libevent warns about a descriptor that a library has closed itself.  Only a
 * developer needs this line.
 */
static void
log_libevent(int severity, const char *text)
{
	log_line(severity >= EVENT_LOG_ERR ? TWT_LOG_ERROR : TWT_LOG_DEBUG,
			 "loop", "%s", text);
}

Loop *
loop_new(void)
{
	Loop	   *loop = palloc0(sizeof(Loop));

	event_set_log_callback(log_libevent);
	loop->base = new_base();
	loop->timerfd = timerfd_create(CLOCK_BOOTTIME,
								   TFD_NONBLOCK | TFD_CLOEXEC);
	if (loop->base == NULL || loop->timerfd < 0)
	{
		if (loop->base)
			event_base_free(loop->base);
		pfree(loop);
		return NULL;
	}
	slist_init(&loop->signals);
	sigemptyset(&loop->signal_set);
	loop->signalfd = -1;
	dlist_init(&loop->turn_fns);
	dlist_init(&loop->ios);
	initStringInfo(&loop->garbage);
	heap_init(&loop->timers, timer_is_earlier, set_timer_place);
	event_assign(&loop->timer_event, loop->base, loop->timerfd,
				 EV_READ | EV_PERSIST, on_timerfd, loop);
	if (event_add(&loop->timer_event, NULL) != 0)
		fail("could not watch the timer");
	return loop;
}

static void
free_signals(Loop *loop)
{
	while (!slist_is_empty(&loop->signals))
		pfree(slist_container(SignalFn, node, slist_pop_head_node(&loop->signals)));
	if (loop->signalfd < 0)
		return;
	event_del(&loop->signal_event);
	close(loop->signalfd);
}

void
loop_free(Loop *loop)
{
	free_signals(loop);
	free_garbage(loop);
	event_del(&loop->timer_event);
	close(loop->timerfd);
	event_base_free(loop->base);
	heap_clear(&loop->timers);
	while (!dlist_is_empty(&loop->turn_fns))
		free_turn_fn(dlist_head_element(TurnFn, node, &loop->turn_fns));
	pfree(loop->garbage.data);
	pfree(loop);
}

static void
run_turn(Loop *loop)
{
	int			flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;

	if (loop->again || arm_timerfd(loop))
		flags |= EVLOOP_NONBLOCK;
	if (event_base_loop(loop->base, flags) < 0)
		fail("could not wait for events");
	run_timers(loop);
	run_turn_fns(loop);
	free_garbage(loop);
}

void
loop_run(Loop *loop)
{
	while (!loop->stop)
		run_turn(loop);
	loop->stop = false;
}

void
loop_stop(Loop *loop)
{
	loop->stop = true;
}
