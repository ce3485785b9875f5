/*-------------------------------------------------------------------------
 *
 * status_verb.h
 *		What is wrong, since when, and what to do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STATUS_VERB_H
#define TWT_STATUS_VERB_H

struct Ctl;

/* Returns CTL_WRONG if anything is wrong. */
extern int	status_run(struct Ctl *ctl);

#endif							/* TWT_STATUS_VERB_H */
