/*-------------------------------------------------------------------------
 *
 * path.h
 *		The search_path of code that we let run.
 *
 *		from: plan.c, target.c, indexes.c, user_function.c
 *
 * Most of our functions pin search_path by a SET clause.  That costs a call
 * more than the rest of an add, so add_task() has none, and pins the path only
 * when a statement or a function of a user may run: for a policy, a trigger
 * or its WHEN clause, or an index, also while an index is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PATH_H
#define TWT_PATH_H

/*
 * Sets search_path to pg_catalog and pg_temp until path_unpin(), which gets the
 * result.  Costs nothing when it is pinned already.  After an error, the end of
 * the (sub)transaction restores it.
 */
extern int	path_pin(void);
extern void path_unpin(int pinned);

#endif							/* TWT_PATH_H */
