/*-------------------------------------------------------------------------
 *
 * prepared.h
 *		COMMIT PREPARED wakes sidecars.
 *
 *		from: twtasks.c			to: commit.h, queue.h
 *
 * The triggers of a prepared transaction are forgotten: it may be committed by
 * any session, after any time.  So its COMMIT PREPARED asks all buckets of the
 * database for a sweep, and for the duties of other extensions, if the
 * transaction had triggers.  Without preload the sweep finds the tasks in time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PREPARED_H
#define TWT_PREPARED_H

/* Watches such statements; once per process, from _PG_init(). */
extern void prepared_init(void);

#endif							/* TWT_PREPARED_H */
