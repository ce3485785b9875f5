/*-------------------------------------------------------------------------
 *
 * progress.h
 *		How far running tasks are, as their workers report.
 *
 *		from: worker_process.c		to: sql/run/note_progress.sql
 *
 * Reports are collected for a second, and then go to the database together; of a
 * task only the last one counts.  A report that is lost is not sent again, since
 * the next one says more.  A finish deletes no report in the database, so the
 * sidecar asks it each minute to delete old ones, while there are any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PROGRESS_H
#define TWT_PROGRESS_H

#include "base/loop.h"
#include "base/task.h"
#include "node/node.h"

typedef struct Progress Progress;

/* The node is freed before it, and outlives all calls of progress_note(). */
extern Progress *progress_open(Loop *loop, Node *node);
extern void progress_free(Progress *progress);

/* progress NULL: nobody asks.  message NULL: none. */
extern void progress_note(Progress *progress, const Task *task, int percent, const char *message);

#endif							/* TWT_PROGRESS_H */
