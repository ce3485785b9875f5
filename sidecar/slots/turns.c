/*-------------------------------------------------------------------------
 *
 * turns.c
 *		Whether this node may ask for slots of a shared limit, and with how many
 *		tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "slots/turns.h"

/*
 * How long we wait for an offer, which may be lost, before we try by
 * ourselves.  The time doubles with each try.
 */
#define PATIENCE_MIN_US MS_TO_US(125)
#define PATIENCE_MAX_US SECONDS_TO_US(8)

/* Back-off: after repeated refusals we wait longer than the database says. */
#define BACKOFF_MIN_US MS_TO_US(1)
#define BACKOFF_MAX_US MS_TO_US(256)

void
turns_init(Turns *turns)
{
	memset(turns, 0, sizeof(*turns));
	turns->patience_us = PATIENCE_MIN_US;
}

static void
set_state(Turns *turns, TurnsState state, int64 open_us)
{
	turns->state = state;
	turns->open_us = open_us;
}

bool
turns_are_out(const Turns *turns)
{
	return turns->state != TURNS_OPEN && turns->left == 0;
}

/* Opens a paused limit when its time has come; lets one task try a closed one. */
void
turns_tick(Turns *turns, int64 now_us)
{
	if (!turns_are_out(turns) || turns->open_us > now_us)
		return;
	if (turns->state == TURNS_PAUSED)
	{
		set_state(turns, TURNS_OPEN, 0);
		return;
	}
	turns->left = 1;
	set_state(turns, TURNS_CLOSED, now_us + turns->patience_us);
	turns->patience_us = Min(turns->patience_us * 2, PATIENCE_MAX_US);
}

void
turns_use(Turns *turns)
{
	turns->told = Max(turns->told - 1, 0);
	if (turns->state != TURNS_OPEN)
		turns->left--;
}

void
turns_close(Turns *turns, int64 now_us)
{
	if (turns->state != TURNS_OPEN)
		return;
	turns->left = turns->told = 0;
	set_state(turns, TURNS_CLOSED, now_us + turns->patience_us);
}

static void
pause_for(Turns *turns, int64 again_us, int64 now_us)
{
	turns->backoff_us = Min(Max(turns->backoff_us * 2, BACKOFF_MIN_US), BACKOFF_MAX_US);
	turns->left = turns->told = 0;
	set_state(turns, TURNS_PAUSED, now_us + Max(again_us, turns->backoff_us));
}

/* A refusal does not take back turns that were offered before it came. */
void
turns_refuse(Turns *turns, int64 again_us, int64 now_us)
{
	if (again_us > 0)
		pause_for(turns, again_us, now_us);
	else
	{
		if (turns->state != TURNS_CLOSED)
			turns->left = turns->told = 0;
		if (turns->early > 0)
			turns->left += turns->early + 1;
		if (turns->early_source == TURNS_TOLD)
			turns->told += turns->early;
		set_state(turns, TURNS_CLOSED, now_us + turns->patience_us);
	}
	turns->early = 0;
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
	bool		was_open = turns->state == TURNS_OPEN;

	forget_refusals(turns);
	set_state(turns, TURNS_OPEN, 0);
	return !was_open;
}

TurnsOffered
turns_offer(Turns *turns, int n, TurnsSource source, int waiters, int grabs)
{
	if (n <= 0 || turns->state == TURNS_PAUSED)
		return TURNS_USELESS;
	if (turns->state == TURNS_CLOSED && (waiters > 0 || source == TURNS_ANSWERED))
	{
		forget_refusals(turns);
		turns->left = Max(turns->left, 1) + n;
		if (source == TURNS_TOLD)
			turns->told += n;
		return TURNS_TAKEN;
	}
	if (grabs == 0)
		return TURNS_USELESS;
	if (turns->early == 0 || source == TURNS_TOLD)
		turns->early_source = source;
	turns->early += n;
	turns->early_grabs = grabs;
	return TURNS_KEPT;
}

int
turns_hand_on(Turns *turns)
{
	int			n = Min(turns->told, turns->left);

	turns->told -= n;
	turns->left -= n;
	return n;
}

int
turns_end_grab(Turns *turns)
{
	int			n = turns->early;

	if (n == 0 || --turns->early_grabs > 0)
		return 0;
	turns->early = 0;
	return turns->early_source == TURNS_TOLD ? n : 0;
}
