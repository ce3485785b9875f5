/*-------------------------------------------------------------------------
 *
 * finish.h
 *		Reports to the database what became of tasks.
 *
 *		from: execute.h, sql_batch.h			to: finish_session.h
 *
 * The database judges: a failure, a retry and a repeat go there as they are,
 * and the answer says when the next try is, or that there is none.
 *
 * A function that judges the failures of a type may be slow.  Such failures go
 * over a session of their own, so that no other finish waits for them.  When
 * the function takes too long, or ends its session, the figures of the policy
 * decide.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_H
#define TWT_FINISH_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Finish Finish;

extern Finish *finish_open(Loop *loop, const Config *config, Node *node);
extern void finish_free(Finish *finish);

/*
 * Copies what it needs of both, and takes over the shared part of the task's
 * slot.  Logs what a person may want to know; of what is judged, when it is.
 */
extern void finish_add(Finish *finish, const Task *task, const Verdict *verdict);

/* An outcome will come: opens the session, so that it need not wait for that. */
extern void finish_expect(Finish *finish);

/* Sends what has come together; at the end of each turn. */
extern void finish_pump(Finish *finish);

/* Outcomes not yet known to be stored. */
extern int	finish_pending(const Finish *finish);

/* The incarnation is gone: nothing of this is ours to report. */
extern void finish_forget(Finish *finish);

#endif							/* TWT_FINISH_H */
