/*-------------------------------------------------------------------------
 *
 * minimize.h
 *		The shortest history that is found for a seed that fails.
 *
 *		from: simulate.c		to: run.h
 *
 * It leaves out acts, halves first and then ever fewer, and keeps what still fails by the
 * same claim.  In the end no act that is left can go alone, unless time is up.  The time
 * is the processor's, so that a busy machine finds the same history.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_MINIMIZE_H
#define SIM_MINIMIZE_H

#include "acts.h"

/* Prints the history that is left of the seed's, its verdict, and how to repeat it. */
extern void minimize(uint64 seed);

/* "1,5-7": all other acts are left out; "none".  False: it is not of that form. */
extern bool minimize_parse(const char *kept, Acts *acts) MUSTCHECK;

#endif							/* SIM_MINIMIZE_H */
