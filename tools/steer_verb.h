/*-------------------------------------------------------------------------
 *
 * steer_verb.h
 *		Limits, policies, buckets and schedules: shown, set, removed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STEER_VERB_H
#define TWT_STEER_VERB_H

struct Ctl;

/* Changes what the options say, and then shows it. */
extern int	steer_run(struct Ctl *ctl);

#endif							/* TWT_STEER_VERB_H */
