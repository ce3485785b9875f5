/*-------------------------------------------------------------------------
 *
 * process.h
 *		One start of a sidecar in the simulation.
 *
 * A machine runs one sidecar after the other.  A process that is killed is gone at
 * once; the server still has its sessions, and hears of their end later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_PROCESS_H
#define SIM_PROCESS_H

#include "base/loop.h"
#include "model.h"

#define MACHINES 3

/* How many tasks may run at once, by a configuration. */
typedef struct Room
{
	int			most;			/* 0: any number */
	int64		lowered_us;		/* by a reload, at this time; below 0: never */
} Room;

typedef struct Process
{
	int			machine;
	char		name[24];
	Loop	   *loop;
	struct Sidecar *sidecar;
	dlist_head	connections;	/* see connection.c */
	bool		is_draining;
	int64		ambush_us;		/* it freezes for so long when it has sent its
								 * next grab */
	dlist_head	children;		/* see children.c */
	bool		has_written;	/* into a pipe, or closed one, since its last
								 * turn */
	int			running;		/* tasks whose handler runs */
	Room		room;
	int			running_of[MODEL_TYPES];
	Room		room_of[MODEL_TYPES];
	struct Reload *reload;
} Process;

/* The process whose code runs; NULL: the world's. */
extern Process *process_current(void);

/* Makes the process the current one, and returns the one before. */
extern Process *process_enter(Process *process);

/* The process that runs on the machine; NULL: none. */
extern Process *process_on(int machine);

/* Starts a sidecar with the file of its configuration. */
extern void process_start(int machine, const char *path);

extern void process_drain(Process *process);
extern void process_reload(Process *process);
extern void process_kill(Process *process);

/* Takes away a process whose loop has stopped.  True: it was there. */
extern bool process_reap(int machine);

#endif							/* SIM_PROCESS_H */
