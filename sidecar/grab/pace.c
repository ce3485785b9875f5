/*-------------------------------------------------------------------------
 *
 * pace.c
 *		Lets grabs of few tasks take only a part of the time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "grab/pace.h"

/*
 * Each grab costs TIMES its time, but at most COST_MAX_US: a busy server or disk
 * makes a grab long, but not expensive.  OWED_US is what lone tasks may owe.
 */
#define TIMES 8
#define COST_MAX_US MS_TO_US(20)
#define OWED_US MS_TO_US(40)

struct Pace
{
	Loop	   *loop;
	LoopTimer  *timer;
	bool		is_on;
	int64		paid_us;		/* when the grabs until now are paid for */
};

static void
on_time(void *loop)
{
	loop_want_turn(loop);
}

Pace *
pace_new(Loop *loop)
{
	Pace	   *pace = palloc0(sizeof(Pace));

	pace->loop = loop;
	pace->timer = loop_timer_new(loop, on_time, loop);
	return pace;
}

void
pace_free(Pace *pace)
{
	loop_timer_free(pace->timer);
	pfree(pace);
}

void
pace_set(Pace *pace, bool is_on)
{
	pace->is_on = is_on;
}

void
pace_spend(Pace *pace, int64 took_us)
{
	int64		now_us = loop_now_us(pace->loop);
	int64		paid_us = Max(pace->paid_us, now_us) + Min(took_us * TIMES, COST_MAX_US);

	/* Grabs that did not wait pay no more than the last one. */
	pace->paid_us = Min(paid_us, now_us + OWED_US + COST_MAX_US);
}

bool
pace_must_wait(Pace *pace)
{
	int64		wait_us = pace->is_on ? pace->paid_us - OWED_US - loop_now_us(pace->loop) : 0;

	if (wait_us > 0)
		loop_timer_start(pace->timer, wait_us);
	return wait_us > 0;
}
