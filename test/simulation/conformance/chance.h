/*-------------------------------------------------------------------------
 *
 * chance.h
 *		What is random in one step of a history.
 *
 * Each step has a seed of its own.  So a step stays the same when steps before it are
 * left out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONFORM_CHANCE_H
#define CONFORM_CHANCE_H

extern void chance_begin(uint64 seed, int step);

/* From one to the other, both included. */
extern int64 chance_between(int64 from, int64 to);

/* True in so many of a thousand cases. */
extern bool chance_happens(int permille);

#endif							/* CONFORM_CHANCE_H */
