/*-------------------------------------------------------------------------
 *
 * confine.h
 *		A SQL handler leaves its session as it found it.
 *
 *		from: execute.c
 *
 * Many tasks, with data from anybody, run one after the other in the same
 * session, between the sidecar's own statements.  So we refuse each effect that
 * would outlive a task, or undo it when the handler ends, however it ends:
 *
 *	 deferred triggers, also of each other	fired as the handler's role
 *	 prepared statements, LISTEN, DISCARD, LOAD, cursors WITH HOLD	refused
 *	 cursors left open					closed
 *	 temporary objects of any kind		dropped
 *	 advisory locks of the session		released
 *	 setseed()							seeded anew
 *	 role and settings					see execute.c
 *
 * We close cursors only if the handler's caller has none open, and release
 * locks only in a session to which no node's life is tied.  Both hold in a
 * sidecar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFINE_H
#define TWT_CONFINE_H

/*
 * A handler begins.  The handler ends by confine_end(), called as the same
 * role, or by the abort of the subtransaction in which it began.  Raises an
 * error inside a handler.
 */
extern void confine_begin(void);

/*
 * Undoes what the handler left behind.  May raise an error, which then counts
 * as the handler's own.
 */
extern void confine_end(void);

#endif							/* TWT_CONFINE_H */
