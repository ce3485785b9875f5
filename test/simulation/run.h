/*-------------------------------------------------------------------------
 *
 * run.h
 *		One run of the simulation, from start to end.
 *
 *		from: simulate.c, minimize.c		to: machines.h, faults.h, judge.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "acts.h"

/* Nothing takes a run so long, of its own processor time. */
#define RUN_SECONDS 60

/* Once in a process, since the sidecars leave something behind.  acts->done is filled. */
extern void run(uint64 seed, bool is_told, Acts *acts);

#endif							/* SIM_RUN_H */
