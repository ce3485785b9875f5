/*-------------------------------------------------------------------------
 *
 * life.h
 *		Whether an incarnation lives, and whether its tasks may start now.
 *
 *		from: node.c
 *
 * Other nodes take the tasks of a node whose session has ended after a grace of
 * 3 s, and this node may not hear of that end.  So a task starts only while the
 * last proof that the session was in place is younger than that.  Each tick and
 * each grab is such a proof, by the time at which it was sent.  Hence a task
 * that starts as soon as its grab is answered needs no other proof.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIFE_H
#define TWT_LIFE_H

/* Shorter than the grace, see recover_tasks(). */
#define LIFE_PROOF_US MS_TO_US(2500)

typedef enum LifeState
{
	LIFE_UNKNOWN,				/* the database has given it no incarnation */
	LIFE_UNCONFIRMED,			/* not confirmed since the connection came up */
	LIFE_CONFIRMED,
	LIFE_ENDING					/* until the end */
} LifeState;

/* All zeros: not known to the database. */
typedef struct Life
{
	LifeState	state;
	bool		is_held;		/* the last tick found its lock with its
								 * session */
	int64		asked_us;		/* when the last tick or start was sent */
	int64		confirmed_us;	/* the same, of the last that was confirmed */
	int64		proved_us;		/* when the last proof was sent */
} Life;

/* Does nothing once it is ending. */
extern void life_set_state(Life *life, LifeState state);

/*
 * The tick or start that was sent last is confirmed.  Returns whether the
 * session is in place again after it was not.
 */
extern bool life_confirm(Life *life, bool is_held);

/* A grab that was sent then found the session in place. */
extern void life_prove(Life *life, int64 sent_us);

/* Whether it was confirmed since the connection came up, within its lease. */
extern bool life_is_confirmed(const Life *life, int64 now_us, int64 lease_us);

extern bool life_is_proved(const Life *life, int64 now_us);

/* Whether a tick now could be the proof that is missing. */
extern bool life_wants_tick(const Life *life, int64 now_us);

#endif							/* TWT_LIFE_H */
