/*-------------------------------------------------------------------------
 *
 * change_verb.h
 *		Changes of tasks by hand: of one, or of all that match a filter.
 *
 * A filter is tried first: the preview counts the tasks, and then no other task is
 * changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHANGE_VERB_H
#define TWT_CHANGE_VERB_H

struct Ctl;

/* Returns CTL_DONE if all tasks were changed, or asked to stop. */
extern int	change_run(struct Ctl *ctl);

#endif							/* TWT_CHANGE_VERB_H */
