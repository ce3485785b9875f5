/*-------------------------------------------------------------------------
 *
 * machines.h
 *		The machines: each starts its sidecar again, with a file of its configuration.
 *
 * A start may bring other handlers: other kinds, and not for each type.  A reload keeps
 * what needs a restart and changes the rest; now and then it changes what needs a
 * restart, or breaks the file, and then the old configuration stays in force.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_MACHINES_H
#define SIM_MACHINES_H

#include "process.h"

/* The retries of each handler: seconds, tries, and the part of a delay that may be left out. */
#define MACHINES_DELAY_S 1
#define MACHINES_MAX_DELAY_S 5
#define MACHINES_TRIES 5
#define MACHINES_JITTER 10

extern void machines_begin(bool is_ring, int64 lease_s);

/* Removes the processes that have stopped, and starts new ones. */
extern void machines_look(void);

/* From now on each file has all types; a process that lacks one drains. */
extern void machines_complete(void);

/* Drains all processes but that of the machine, and starts none any more. */
extern void machines_leave(int machine);

/* Drains all processes, and starts none any more. */
extern void machines_stop(void);

/*
 * Whether its sidecar has room for all tasks of the type, and asks for a task as soon as it
 * chooses it: sessions of SQL handlers ask later.
 */
extern bool machines_keeps_order(int machine, int type);

/* Their sweeps find a lost trigger late. */
extern bool machines_sweep_rarely(void);

/* Writes the file of the process anew, and lets it be read. */
extern void machines_reload(Process *process);

extern void machines_end(void);

#endif							/* SIM_MACHINES_H */
