/*-------------------------------------------------------------------------
 *
 * turns.h
 *		Whether this node may ask for slots of a shared limit, and with how many
 *		tasks.
 *
 *		from: limit.h (limit_book)		to: limit.h (limit_refuse, limit_offer)
 *
 * A limit is open until the database refuses a task.  Then it is closed: each
 * task that asks the database uses up a turn.  Offers bring turns.  An offer
 * may be lost, so a timer also grants turns, with growing delays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TURNS_H
#define TWT_TURNS_H

typedef enum TurnsState
{
	TURNS_OPEN,
	TURNS_CLOSED,				/* until an offer or a grant, or the next try */
	TURNS_PAUSED				/* until the time that the database gave */
} TurnsState;

/* How the offer of turns arrived. */
typedef enum TurnsSource
{
	TURNS_ANSWERED,				/* in the answer to our own call */
	TURNS_TOLD					/* by NOTIFY, since it had refused us before */
} TurnsSource;

typedef struct Turns
{
	TurnsState	state;
	int			left;			/* tasks that may ask although the limit is
								 * not open */
	int			told;			/* turns of these that NOTIFY brought */
	int			early;			/* turns kept for grabs under way */
	int			early_grabs;	/* grabs under way that these turns are kept
								 * for */
	TurnsSource early_source;
	int64		open_us;		/* when to ask again */
	int64		patience_us;
	int64		backoff_us;
} Turns;

/* The limit starts open. */
extern void turns_init(Turns *turns);

/*
 * turns_are_out(): no task may ask.  turns_tick() gives a turn when it is
 * time.
 */
extern bool turns_are_out(const Turns *turns);
extern void turns_tick(Turns *turns, int64 now_us);

/* A task asks the database: uses up a turn.  An open limit counts those alone that NOTIFY brought. */
extern void turns_use(Turns *turns);

/* Closes an open limit without a refusal by the database. */
extern void turns_close(Turns *turns, int64 now_us);

/*
 * See limit_refuse() and limit_grant().  turns_grant() returns whether the
 * limit was not open.
 */
extern void turns_refuse(Turns *turns, int64 again_us, int64 now_us);
extern bool turns_grant(Turns *turns);

typedef enum TurnsOffered
{
	TURNS_USELESS,				/* this node cannot use them */
	TURNS_KEPT,					/* for grabs under way, which may be refused */
	TURNS_TAKEN					/* given to waiters */
} TurnsOffered;

/*
 * See limit_offer().  waiters and grabs: how many wait here, and are under
 * way.
 */
extern TurnsOffered turns_offer(Turns *turns, int n, TurnsSource source, int waiters,
								int grabs);

/* Nobody here can use the turns that NOTIFY brought.  Returns their number, to hand on. */
extern int	turns_hand_on(Turns *turns);

/*
 * A grab ended without a refusal.  Returns the number of kept turns to hand
 * on.
 */
extern int	turns_end_grab(Turns *turns);

#endif							/* TWT_TURNS_H */
