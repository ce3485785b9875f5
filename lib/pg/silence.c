/*-------------------------------------------------------------------------
 *
 * silence.c
 *		How long a session has left its oldest call without an answer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/silence.h"

/* Parameters may take this long on their way. */
#define US_PER_BYTE 1

/*
 * A look that is later than this shows that our own process stood still.  Answers
 * may be on their way then, so it looks again after the same time.
 */
#define LATE_US SECONDS_TO_US(2)

/* A session that was not given up for so long is not slow any more. */
#define FORGET_US SECONDS_TO_US(60)

/* All sessions of the process. */
static dlist_head sessions = DLIST_STATIC_INIT(sessions);

/* ---- the oldest call ---- */

static int64
now_us(const Silence *silence)
{
	return loop_now_us(silence->loop);
}

/* NULL: no call is under way. */
static const Call *
oldest(const Silence *silence)
{
	const dlist_head *sent = &silence->pipeline->sent;

	return dlist_is_empty(unconstify(dlist_head *, sent)) ? NULL :
		dlist_head_element(Call, node, unconstify(dlist_head *, sent));
}

/* How long the oldest call has had nothing but silence. */
static int64
lasts(const Silence *silence, const Call *call)
{
	return now_us(silence) - Max(silence->heard_us, call->sent_us);
}

/* The silence that the call may have before it is odd. */
static int64
allowed(const Call *call)
{
	return call->waits_us + (int64) call->bytes * US_PER_BYTE;
}

/* ---- giving up ---- */

static void
look_after(Silence *silence, int64 us)
{
	silence->due_us = now_us(silence) + us;
	loop_timer_start(silence->timer, us);
}

static void
give_up(Silence *silence, const Call *call)
{
	char	   *why = psprintf("no answer to \"%s\" for %.1f s, its session is given up",
							   call->statement->name, lasts(silence, call) / 1e6);

	silence->slow = call->statement;
	silence->slow_us = now_us(silence);
	silence->limit_us = Min(silence->limit_us * 2, silence->most_us);
	silence->fn(silence->arg, why);
	pfree(why);
}

static void
look(void *arg)
{
	Silence    *silence = arg;
	const Call *call = oldest(silence);
	int64		left;

	if (call == NULL)
		return;
	left = silence->limit_us + allowed(call) - lasts(silence, call);
	if (now_us(silence) - silence->due_us > LATE_US)
		look_after(silence, Max(left, LATE_US));
	else if (left > 0)
		look_after(silence, left);
	else
		give_up(silence, call);
}

/* ---- what the session tells ---- */

void
silence_init(Silence *silence, Loop *loop, const Pipeline *pipeline, const char *role)
{
	silence->loop = loop;
	silence->pipeline = pipeline;
	silence->role = role;
	silence->timer = loop_timer_new(loop, look, silence);
	dlist_push_tail(&sessions, &silence->node);
}

void
silence_on_end(Silence *silence, SilenceFn fn, void *arg)
{
	silence->fn = fn;
	silence->arg = arg;
}

void
silence_limit(Silence *silence, int64 base_us, int64 most_us)
{
	silence->base_us = silence->limit_us = base_us;
	silence->most_us = most_us;
}

void
silence_clear(Silence *silence)
{
	loop_timer_free(silence->timer);
	dlist_delete(&silence->node);
}

void
silence_down(Silence *silence)
{
	loop_timer_stop(silence->timer);
	if (silence->down_us == 0)
		silence->down_us = now_us(silence);
}

void
silence_up(Silence *silence)
{
	silence->down_us = 0;
}

void
silence_rest(Silence *silence)
{
	loop_timer_stop(silence->timer);
	silence->down_us = 0;
}

void
silence_sent(Silence *silence)
{
	if (!loop_timer_active(silence->timer))
		look_after(silence, silence->limit_us);
}

void
silence_heard(Silence *silence)
{
	silence->heard_us = now_us(silence);
}

void
silence_answered(Silence *silence, const Call *call)
{
	bool		is_quick = now_us(silence) - call->sent_us <= allowed(call) + silence->base_us / 2;

	if (silence->limit_us == silence->base_us || !is_quick ||
		(call->statement != silence->slow && now_us(silence) - silence->slow_us < FORGET_US))
		return;
	silence->limit_us = silence->base_us;
	look_after(silence, silence->limit_us);
}

/* ---- for the health of the process ---- */

/* The time beyond the one that is allowed; 0: nothing is odd. */
static int64
odd_us(const Silence *silence)
{
	const Call *call = oldest(silence);

	if (silence->down_us != 0)
		return now_us(silence) - silence->down_us;
	return call == NULL ? 0 : Max(0, lasts(silence, call) - allowed(call));
}

static char *
describe(const Silence *silence)
{
	const Call *call = oldest(silence);

	if (silence->down_us != 0)
		return psprintf("session \"%s\" is not there for %d s", silence->role,
						(int) (odd_us(silence) / 1000000));
	return psprintf("session \"%s\" has not answered \"%s\" for %d s", silence->role,
					call->statement->name, (int) (lasts(silence, call) / 1000000));
}

char *
silence_worst(void)
{
	const Silence *worst = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		const Silence *silence = dlist_container(Silence, node, iter.cur);

		if (odd_us(silence) >= silence->base_us / 2 &&
			(worst == NULL || odd_us(silence) > odd_us(worst)))
			worst = silence;
	}
	return worst == NULL ? NULL : describe(worst);
}
