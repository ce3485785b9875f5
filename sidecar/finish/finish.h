/*-------------------------------------------------------------------------
 *
 * finish.h
 *		Reports the outcomes of tasks to the database.
 *
 *		from: execute.h, sql_batch.h			to: finish_session.h
 *
 * The database decides about retries: failures, retries and repeats go there
 * unchanged.  The answer says when the next attempt is, or that there is none.
 *
 * A policy function that judges the failures of a type may be slow.  These
 * failures use a session of their own, so that no other finish waits for them.
 * If the function takes too long or ends its session, the numbers of the
 * policy decide.
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

struct Metrics;

/*
 * Tasks of a handler come back without a try, for a reason that somebody must mend.
 * The callee logs it.
 */
typedef void (*FinishUnfit) (void *arg, const Task *task, const char *why);

extern Finish *finish_open(Loop *loop, const Config *config, Node *node);
extern void finish_on_unfit(Finish *finish, FinishUnfit unfit, void *arg);

/* Counts the time of its statements there. */
extern void finish_measure(Finish *finish, struct Metrics *metrics);
extern void finish_free(Finish *finish);

/*
 * Copies what it needs of task and verdict, and takes over the shared part of
 * the task's slot.  Logs the outcome; a failure or an error is logged when the
 * answer of the database comes, at the level of what became of the task.
 */
extern void finish_add(Finish *finish, const Task *task, const Verdict *verdict);

/*
 * An outcome will come: opens the session now, so that the outcome need not
 * wait.
 */
extern void finish_expect(Finish *finish);

/* Sends the collected outcomes.  Call it at the end of each turn. */
extern void finish_pump(Finish *finish);

/* The number of outcomes not yet known to be stored. */
extern int	finish_pending(const Finish *finish);

/*
 * Whether so many outcomes are not yet stored that no task should be grabbed
 * now: a crash loses them, and a row that is finished long after its grab has
 * left the server's memory.  Outcomes that a function judges do not count.
 *
 * Outcomes that the database would not store have a bound of their own, ten times
 * as high.  They may all be of one type, say because its trigger raises an error,
 * and outcomes of other types are stored meanwhile.  Their bound keeps memory and
 * the harm of a crash finite; the log tells when it is reached.
 */
extern bool finish_is_behind(const Finish *finish);

/*
 * The incarnation is gone.  Its outcomes are sent all the same, in the name of the
 * next one: the database refuses them, and can tell those who want to hear of it.
 */
extern void finish_gone(Finish *finish);

#endif							/* TWT_FINISH_H */
