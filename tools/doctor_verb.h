/*-------------------------------------------------------------------------
 *
 * doctor_verb.h
 *		Checks of an installation, each with a remedy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DOCTOR_VERB_H
#define TWT_DOCTOR_VERB_H

struct Ctl;

/* Returns CTL_WRONG if a check found something. */
extern int	doctor_run(struct Ctl *ctl);

#endif							/* TWT_DOCTOR_VERB_H */
