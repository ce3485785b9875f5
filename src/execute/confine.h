/*-------------------------------------------------------------------------
 *
 * confine.h
 *		A SQL handler leaves its session as it found it.
 *
 *		from: execute.c
 *
 * Many tasks, whose data may be anybody's, run one after the other in the
 * same session, and the sidecar's own statements between them.  So whatever
 * lives longer than a task is refused while a handler runs, or undone when it
 * ends, whichever way it ends:
 *
 *	 deferred triggers, also of each other	fired as the handler's role
 *	 prepared statements, LISTEN, DISCARD, LOAD, cursors WITH HOLD	refused
 *	 cursors left open					closed
 *	 temporary objects of any kind		dropped
 *	 advisory locks of the session		released
 *	 setseed()							seeded anew
 *	 role and settings					see execute.c
 *
 * Closed are only cursors of a handler whose caller has none open, released
 * only locks in a session that no node's life is tied to: both is so in a
 * sidecar.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONFINE_H
#define TWT_CONFINE_H

/*
 * A handler begins.  It ends by confine_end(), called as the same role, or by
 * the abort of the subtransaction that it began in.  Raises an error inside of
 * a handler.
 */
extern void confine_begin(void);

/* Undoes what it left behind; may raise an error, which then is its own. */
extern void confine_end(void);

#endif							/* TWT_CONFINE_H */
