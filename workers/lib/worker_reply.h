/*-------------------------------------------------------------------------
 *
 * worker_reply.h
 *		The reply of a bundled worker to a task.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_REPLY_H
#define TWT_WORKER_REPLY_H

#include "base/task.h"

/* Appends the line.  A failure is a retry whose time the policy decides. */
extern void worker_reply(StringInfo out, const Task *task, const Verdict *verdict);

#endif							/* TWT_WORKER_REPLY_H */
