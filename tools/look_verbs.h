/*-------------------------------------------------------------------------
 *
 * look_verbs.h
 *		Verbs that look at tasks, and are more than a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOOK_VERBS_H
#define TWT_LOOK_VERBS_H

struct Ctl;

/* A page of tasks, and how far the look for them went. */
extern int	list_run(struct Ctl *ctl);

/* Why a task does not run, and what would change that. */
extern int	why_run(struct Ctl *ctl);

/* Tasks of unknown outcome, and the verbs that decide on each. */
extern int	unknown_run(struct Ctl *ctl);

/* Waits until a task is over; done if it is DONE. */
extern int	wait_run(struct Ctl *ctl);

#endif							/* TWT_LOOK_VERBS_H */
