/*-------------------------------------------------------------------------
 *
 * adopted.h
 *		Kills what a killed supervisor leaves.
 *
 * We are the next subreaper, so the kernel gives us the processes below a
 * supervisor that somebody has killed.  A child of ours is such a process if we
 * did not start it as a child and it has left our session: each supervised program
 * begins a session, unlike programs that we run ourselves.
 *
 * The first process of a container also gets the orphans of other programs in it.
 * It kills those too, but only after a supervisor was killed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADOPTED_H
#define TWT_ADOPTED_H

#include "base/loop.h"

/*
 * Kills these processes now and those that follow when they die, until none is
 * left.  is_child() tells whether we started a process as a child.
 */
extern void adopted_kill(Loop *loop, bool (*is_child) (pid_t pid));

/* Whether none is left that adopted_kill() has found. */
extern bool adopted_are_gone(void) MUSTCHECK;

#endif							/* TWT_ADOPTED_H */
