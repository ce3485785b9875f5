/*-------------------------------------------------------------------------
 *
 * pace.h
 *		Lets grabs of few tasks take only a part of the time.
 *
 *		from, to: grab.h
 *
 * A stream of tasks, each with news of its own, would make as many grabs as the
 * server can execute, each with few tasks.  But a grab and its finish cost the
 * server about as much as dozens of tasks.  So after a grab that was not full,
 * time has to pass, in proportion to what it took.  Meanwhile more tasks come.
 *
 * Some of that time can be owed, so a lone task, or a few, start at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PACE_H
#define TWT_PACE_H

#include "base/loop.h"

typedef struct Pace Pace;

/* It is off at first, so nothing waits. */
extern Pace *pace_new(Loop *loop);
extern void pace_free(Pace *pace);
extern void pace_set(Pace *pace, bool is_on);

/* A grab has ended that was not full. */
extern void pace_spend(Pace *pace, int64 took_us);

/* Whether a grab that is not full has to wait.  A turn of the loop follows when it is over. */
extern bool pace_must_wait(Pace *pace);

#endif							/* TWT_PACE_H */
