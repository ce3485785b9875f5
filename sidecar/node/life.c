/*-------------------------------------------------------------------------
 *
 * life.c
 *		Whether an incarnation lives, and whether its tasks may start now.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "node/life.h"

void
life_set_state(Life *life, LifeState state)
{
	if (life->state != LIFE_ENDING)
		life->state = state;
}

void
life_prove(Life *life, int64 sent_us)
{
	life->proved_us = Max(life->proved_us, sent_us);
}

bool
life_confirm(Life *life, bool is_held)
{
	bool		was_away = life->state == LIFE_UNCONFIRMED || !life->is_held;

	life->confirmed_us = life->asked_us;
	life_prove(life, life->asked_us);
	life_set_state(life, LIFE_CONFIRMED);
	life->is_held = is_held;
	return was_away && is_held;
}

bool
life_is_confirmed(const Life *life, int64 now_us, int64 lease_us)
{
	return life->state == LIFE_CONFIRMED && now_us < life->confirmed_us + lease_us;
}

bool
life_is_proved(const Life *life, int64 now_us)
{
	return now_us < life->proved_us + LIFE_PROOF_US;
}

/* The last tick may have failed just now, and then keeps its pace. */
bool
life_wants_tick(const Life *life, int64 now_us)
{
	return now_us >= life->asked_us + LIFE_PROOF_US;
}
