/*-------------------------------------------------------------------------
 *
 * postponed.h
 *		Outcomes that the database would not store, until they are sent again.
 *
 *		from: finish_session.h
 *
 * The database refuses an outcome when a user's trigger raises an error, say.  It
 * leaves an outcome when another transaction claims a key.  Either may last for
 * hours and concern thousands of tasks of one type.  Outcomes of other types must
 * not wait meanwhile.
 *
 * A postponed outcome goes again after a second, in a statement of its own.  Ten
 * of them go in each second.  Each one that the database takes lets ten more go,
 * until it refuses one.  An outcome that is sent again still counts as postponed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POSTPONED_H
#define TWT_POSTPONED_H

#include "base/loop.h"
#include "finish/finish_item.h"

typedef struct Postponed Postponed;

/* fn is called when some outcomes are due; it calls postponed_take(). */
extern Postponed *postponed_new(Loop *loop, LoopFn fn, void *arg);

/* The list of items must be empty. */
extern void postponed_free(Postponed *postponed);

extern void postponed_add(Postponed *postponed, FinishItem *item);

/* Moves the items that are due to the end of the list.  Returns their number. */
extern int	postponed_take(Postponed *postponed, dlist_head *list);

/* The item, in no list now, leaves the session; is_stored: its statement succeeded. */
extern void postponed_forget(Postponed *postponed, FinishItem *item, bool is_stored);

/* The items that wait.  The caller may change them, and empty the list at the end. */
extern dlist_head *postponed_items(Postponed *postponed);

/* The number of postponed items, also of those that are sent again. */
extern int	postponed_count(const Postponed *postponed);

#endif							/* TWT_POSTPONED_H */
