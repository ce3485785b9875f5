/*-------------------------------------------------------------------------
 *
 * children.h
 *		The processes of workers in the simulation, which take the place of lib/process/spawn.c.
 *
 * The pipes are real, so the product's modules write, read and take back real bytes.
 * The program behind them is program.c, in this process.  A child dies with its
 * sidecar, as twtasks-run promises, and goes on while the sidecar is frozen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_CHILDREN_H
#define SIM_CHILDREN_H

#include "process.h"

/* The programs read what their sidecar has written, soon.  Call it after each turn. */
extern void children_look(Process *process);

#endif							/* SIM_CHILDREN_H */
