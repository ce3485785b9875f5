/*-------------------------------------------------------------------------
 *
 * door.h
 *		The pipes of the door, by which lone triggers come beside the queue.
 *
 * The product's own feed_door.c reads them: its open() of a pipe comes here.  No fault
 * of the network touches a pipe, since the sidecar is on the machine of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_DOOR_H
#define SIM_DOOR_H

#include "model.h"

/* As a sidecar's configuration names it. */
#define DOOR_DIRECTORY "/simulated/door"

/* Each session that takes triggers makes a pipe; it goes with the session. */
extern void door_make(int pid);
extern void door_remove(int pid);

/*
 * Sends the trigger through a pipe that a sidecar reads, if there is one.  It may be
 * lost, late, doubled, garbled or of an earlier version.
 */
extern void door_pass(const Row *row);

#endif							/* SIM_DOOR_H */
