/*-------------------------------------------------------------------------
 *
 * lost_grabs.h
 *		Grabs that the database may still commit, long after their session was
 *		given up.
 *
 *		from: grab.h, sql_session.h			to: finish.h
 *
 * The backend of a lost grab may stand still and hold its rows, so that nobody
 * can tell the outcome.  The slots of these tasks must not wait for it.  So the
 * tasks are forgotten here, and the outcome is asked for until it is known.  Tasks
 * that were grabbed in the end are given back to the database, and no try counts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOST_GRABS_H
#define TWT_LOST_GRABS_H

#include "finish/finish.h"
#include "grab/batch.h"

typedef struct LostGrabs LostGrabs;

extern LostGrabs *lost_grabs_open(Loop *loop, const Config *config, Node *node, Finish *finish);
extern void lost_grabs_free(LostGrabs *lost);

/* Takes over the batch, whose items were not taken out, and drops it. */
extern void lost_grabs_add(LostGrabs *lost, Batch *batch);

/* The number of grabs without a known outcome. */
extern int	lost_grabs_count(const LostGrabs *lost);

/* The incarnation is gone: forgets all. */
extern void lost_grabs_forget(LostGrabs *lost);

#endif							/* TWT_LOST_GRABS_H */
