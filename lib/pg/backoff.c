/*-------------------------------------------------------------------------
 *
 * backoff.c
 *		When a connection that is down tries again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "pg/backoff.h"

#define BACKOFF_MIN_US MS_TO_US(50)

/* Connections that wait for a server that is away. */
static Backoff *waiting;

void
backoff_init(Backoff *backoff, LoopTimer *timer, const char *conninfo)
{
	*backoff = (Backoff)
	{
		.timer = timer, .conninfo = conninfo, .us = BACKOFF_MIN_US
	};
}

void
backoff_wait(Backoff *backoff, bool is_away)
{
	backoff_end(backoff);
	backoff->is_away = is_away;
	backoff->waits = is_away;
	if (is_away)
	{
		backoff->next = waiting;
		waiting = backoff;
	}
	loop_timer_start(backoff->timer, chance_delay(backoff->us));
	backoff->us = Min(backoff->us * 2, BACKOFF_MAX_US);
}

void
backoff_end(Backoff *backoff)
{
	Backoff   **place = &waiting;

	if (!backoff->waits)
		return;
	while (*place != backoff)
		place = &(*place)->next;
	*place = backoff->next;
	backoff->waits = false;
}

void
backoff_connected(Backoff *backoff)
{
	if (!backoff->is_away)
		return;
	backoff->is_away = false;
	for (const Backoff *other = waiting; other != NULL; other = other->next)
		if (strcmp(other->conninfo, backoff->conninfo) == 0)
			loop_timer_start(other->timer, 0);
}

void
backoff_reset(Backoff *backoff)
{
	backoff->us = BACKOFF_MIN_US;
}
