/*-------------------------------------------------------------------------
 *
 * cancels.h
 *		Reads requests to cancel running tasks.
 *
 *		from: sql/run/request_cancel.sql			to: execute.h
 *
 * Any session can send a notification, so it only says that there may be
 * requests.  The sidecar reads them from the database after each notification
 * and each connect, and again, ever later, up to a second, while a requested task
 * cannot be stopped yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CANCELS_H
#define TWT_CANCELS_H

#include "base/loop.h"
#include "node/node.h"

typedef struct Cancels Cancels;

typedef struct CancelRequest
{
	const uint8 *id;
	int64		version;
	bool		is_ours;		/* this node grabbed it; otherwise only a SQL
								 * handler may run it */
	const char *why;
} CancelRequest;

/* Cancels a task.  Returns whether to look again soon. */
typedef bool (*CancelFn) (void *arg, const CancelRequest *request);

extern Cancels *cancels_open(Loop *loop, Node *node, CancelFn fn, void *arg);
extern void cancels_free(Cancels *cancels);

/* There may be requests.  The argument is the Cancels. */
extern void cancels_want(void *cancels);

/* Reads the requests, if there may be any.  Call it at the end of each turn. */
extern void cancels_pump(Cancels *cancels);

#endif							/* TWT_CANCELS_H */
