/*-------------------------------------------------------------------------
 *
 * steps.h
 *		Random steps of a history: what sidecars call, what people do, what fails.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONFORM_STEPS_H
#define CONFORM_STEPS_H

extern void steps_begin(void);

/* One step on both sides.  It compares them afterwards. */
extern void steps_next(void);

#endif							/* CONFORM_STEPS_H */
