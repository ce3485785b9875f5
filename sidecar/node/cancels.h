/*-------------------------------------------------------------------------
 *
 * cancels.h
 *		Operators' wishes to cancel tasks that run.
 *
 *		from: sql/run/request_cancel.sql			to: execute.h, execute_sql.h
 *
 * A notification only says that there may be news: whoever may connect can
 * send one.  What is to be cancelled is asked of the database, once more
 * after each connect, and again soon while a task that it names is between
 * two places where it could be stopped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CANCELS_H
#define TWT_CANCELS_H

#include "base/loop.h"
#include "node/node.h"

typedef struct Cancels Cancels;

typedef struct CancelWish
{
	const uint8 *id;
	int64		version;
	bool		is_ours;		/* grabbed by this node; else, if at all, a
								 * SQL handler is at it */
	const char *why;
} CancelWish;

/* Returns whether to look again soon. */
typedef bool (*CancelFn) (void *arg, const CancelWish *wish);

extern Cancels *cancels_open(Loop *loop, Node *node, CancelFn fn, void *arg);
extern void cancels_free(Cancels *cancels);

/* There may be news. */
extern void cancels_want(Cancels *cancels);

/* Asks, if there may be; at the end of each turn. */
extern void cancels_pump(Cancels *cancels);

#endif							/* TWT_CANCELS_H */
