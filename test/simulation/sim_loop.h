/*-------------------------------------------------------------------------
 *
 * sim_loop.h
 *		The event loop of a simulated sidecar, in virtual time.
 *
 * It takes the place of lib/base/loop.c.  A loop that is frozen runs no turn, and time
 * passes: a machine that swaps, a stopped process, a paused virtual machine.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_LOOP_H
#define SIM_LOOP_H

#include "process.h"

extern Loop *sim_loop_new(Process *process);
extern Process *sim_loop_process(const Loop *loop);
extern bool sim_loop_has_stopped(const Loop *loop);
extern void sim_loop_freeze(Loop *loop, int64 us);
extern void sim_loop_thaw(Loop *loop);
extern bool sim_loop_is_frozen(const Loop *loop);

/* As SIGHUP does. */
extern void sim_loop_signal(Loop *loop);

/* A descriptor may have become ready. */
extern void sim_loop_look(Loop *loop);

/* Calls fn in a turn of the loop.  Calls that were made first come first. */
extern void sim_loop_call(Loop *loop, LoopFn fn, void *arg);

/* Forgets the calls with that arg. */
extern void sim_loop_forget(Loop *loop, const void *arg);

#endif							/* SIM_LOOP_H */
