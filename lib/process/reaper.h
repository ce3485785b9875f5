/*-------------------------------------------------------------------------
 *
 * reaper.h
 *		Reaps the processes that the kernel gives to this one.
 *
 * The first process of a container, and a subreaper, gets each process below it
 * whose parent has died.  Once such a process has exited, it counts against the
 * limit of processes until it is reaped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_REAPER_H
#define TWT_REAPER_H

#include "base/loop.h"

/* Reaps them from now on, if there can be any.  Call it before the first child. */
extern void reaper_open(Loop *loop);

#endif							/* TWT_REAPER_H */
