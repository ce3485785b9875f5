/*-------------------------------------------------------------------------
 *
 * turns.c
 *		What a node knows of a limit that others count too: whether it may ask
 *		for a slot, and with how many tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "slots/turns.h"

/* After this time we try a closed limit again, and then less often. */
#define PATIENCE_MIN_US SECONDS_TO_US(1)
#define PATIENCE_MAX_US SECONDS_TO_US(8)

/* After repeated refusals we wait longer than the database says. */
#define BACKOFF_MIN_US MS_TO_US(1)
#define BACKOFF_MAX_US MS_TO_US(256)

void
turns_init(Turns *turns)
{
	memset(turns, 0, sizeof(*turns));
	turns->patience_us = PATIENCE_MIN_US;
}

bool
turns_are_out(const Turns *turns)
{
	return turns->is_closed && turns->left == 0;
}

/*
 * A limit whose refusal named a time is asked again as before.  Other limits
 * are asked with one task, less and less often.
 */
void
turns_tick(Turns *turns, int64 now_us)
{
	if (!turns_are_out(turns) || turns->open_us > now_us)
		return;
	if (turns->is_timed)
	{
		turns->is_closed = false;
		return;
	}
	turns->left = 1;
	turns->open_us = now_us + turns->patience_us;
	turns->patience_us = Min(turns->patience_us * 2, PATIENCE_MAX_US);
}

void
turns_use(Turns *turns)
{
	if (turns->is_closed)
		turns->left--;
}

void
turns_close(Turns *turns, int64 now_us)
{
	if (turns->is_closed)
		return;
	turns->is_closed = true;
	turns->is_timed = false;
	turns->left = 0;
	turns->open_us = now_us + turns->patience_us;
}

/* A refusal does not take back turns that were offered before it came. */
void
turns_refuse(Turns *turns, int64 again_us, int64 now_us)
{
	if (again_us > 0)
	{
		turns->backoff_us = Min(Max(turns->backoff_us * 2, BACKOFF_MIN_US),
								BACKOFF_MAX_US);
		again_us = Max(again_us, turns->backoff_us);
	}
	if (again_us > 0 || !turns->is_closed || turns->is_timed)
		turns->left = 0;
	if (again_us == 0 && turns->early > 0)
		turns->left += turns->early + 1;
	turns->early = 0;
	turns->is_closed = true;
	turns->is_timed = again_us > 0;
	turns->open_us = now_us + (again_us > 0 ? again_us : turns->patience_us);
}

static void
forget_refusals(Turns *turns)
{
	turns->patience_us = PATIENCE_MIN_US;
	turns->backoff_us = 0;
}

bool
turns_grant(Turns *turns)
{
	bool		was_closed = turns->is_closed;

	forget_refusals(turns);
	turns->is_closed = false;
	return was_closed;
}

TurnsOffered
turns_offer(Turns *turns, int n, bool is_told, bool has_waiters, int grabs)
{
	if (n <= 0 || (turns->is_closed && turns->is_timed))
		return TURNS_USELESS;
	if (turns->is_closed && (has_waiters || !is_told))
	{
		forget_refusals(turns);
		turns->left = Max(turns->left, 1) + n;
		return TURNS_TAKEN;
	}
	if (grabs == 0)
		return TURNS_USELESS;
	turns->is_early_told = is_told || (turns->early > 0 && turns->is_early_told);
	turns->early += n;
	turns->early_grabs = grabs;
	return TURNS_KEPT;
}

int
turns_end_grab(Turns *turns)
{
	int			n = turns->early;

	if (n == 0 || --turns->early_grabs > 0)
		return 0;
	turns->early = 0;
	return turns->is_early_told ? n : 0;
}
