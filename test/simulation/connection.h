/*-------------------------------------------------------------------------
 *
 * connection.h
 *		The connections of a simulated sidecar to the simulated server.
 *
 * They take the place of lib/pg/pg.c, and keep the promises of lib/pg/pg.h: a call is
 * done, refused or lost, and of a lost one nobody knows whether it happened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_CONNECTION_H
#define SIM_CONNECTION_H

#include "process.h"

/* The network between the machine and the server is cut for that time. */
extern void connection_cut(int machine, int64 us);
extern void connection_heal(int machine);

/* The client of a session at random hears that it is broken; the server does not. */
extern void connection_break(Process *process);

/* The process is killed: nothing more that it sends or gets arrives. */
extern void connection_drop(Process *process);

#endif							/* SIM_CONNECTION_H */
