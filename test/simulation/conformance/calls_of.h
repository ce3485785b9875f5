/*-------------------------------------------------------------------------
 *
 * calls_of.h
 *		Calls of a sidecar with random parameters, on both sides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONFORM_CALLS_OF_H
#define CONFORM_CALLS_OF_H

extern void calls_begin(void);

/* Returns the model's incarnation. */
extern int64 calls_start_node(int session);

/* Returns whether the node lives. */
extern bool calls_tick(int session, int64 incarnation);
extern void calls_end_node(int session, int64 incarnation);
extern void calls_grab(int session, int64 incarnation);
extern void calls_resolve_grab(int session, int64 incarnation);
extern void calls_finish(int session, int64 incarnation);
extern void calls_resolve_finish(int session, int64 incarnation);
extern void calls_sweep(int session, int64 incarnation);
extern void calls_policies(int session, int64 incarnation);
extern void calls_promote(int session, int64 incarnation);
extern void calls_expire(int session, int64 incarnation);
extern void calls_schedules(int session, int64 incarnation);
extern void calls_recover(int session, int64 incarnation);
extern void calls_take_cancels(int session, int64 incarnation);

#endif							/* CONFORM_CALLS_OF_H */
