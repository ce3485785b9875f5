/*-------------------------------------------------------------------------
 *
 * blocking.h
 *		A call that blocks, on a thread of its own.
 *
 *		from: attempt.c, lookup.c, config_file.c, programs.c, log_look.c		to: the loop
 *
 * Some libraries have no other way to ask.  The thread cannot be stopped: the one
 * of a cancelled call ends by itself when the call returns.  One thread that is done
 * stays for the next call, which then works even if no thread can be started.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BLOCKING_H
#define TWT_BLOCKING_H

#include "base/loop.h"

typedef struct Blocking Blocking;

/*
 * The functions of a kind of call.  what has its question and its answer; until
 * answered() or release() it is the thread's.
 */
typedef struct BlockingCall
{
	void		(*ask) (void *what);	/* on the thread, all signals blocked */
	void		(*answered) (void *what);	/* on the loop, unless cancelled */
	void		(*release) (void *what);	/* frees it, on either */
} BlockingCall;

/*
 * Starts the call; takes what.  answered() is called once, later; then the call
 * is over.  Returns NULL, with errno, if no thread can be started; what is then
 * released.
 */
extern Blocking *blocking_start(Loop *loop, const BlockingCall *call, void *what) MUSTCHECK;

/* Cancels the call: answered() is not called. */
extern void blocking_cancel(Blocking *blocking);

#endif							/* TWT_BLOCKING_H */
