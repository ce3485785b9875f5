/*-------------------------------------------------------------------------
 *
 * turns.h
 *		Whether this node may ask for slots of a shared limit, and with how many
 *		tasks.
 *
 *		from: limit.h (limit_book)		to: limit.h (limit_refuse, limit_offer)
 *
 * A limit is open until the database refuses a task.  From then on it is
 * closed: as many tasks may ask as there are turns.  Offers bring turns.  Time
 * brings one too, ever less often, in case an offer was lost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TURNS_H
#define TWT_TURNS_H

typedef enum TurnsState
{
	TURNS_OPEN,
	TURNS_CLOSED,				/* until an offer, or until it is time to try */
	TURNS_PAUSED				/* until the time that the database named */
} TurnsState;

/* How the database came to offer turns. */
typedef enum TurnsSource
{
	TURNS_ANSWERED,				/* it answered our own call */
	TURNS_TOLD					/* it told us, because it had refused us */
} TurnsSource;

typedef struct Turns
{
	TurnsState	state;
	int			left;			/* tasks that may ask although it is not open */
	int			early;			/* turns kept for grabs under way */
	int			early_grabs;	/* grabs that keep them and have not ended */
	TurnsSource early_source;
	int64		open_us;		/* when to ask again */
	int64		patience_us;
	int64		backoff_us;
} Turns;

/* The limit starts open. */
extern void turns_init(Turns *turns);

/*
 * turns_are_out() is true while no turn is left; turns_tick() gives one by
 * time.
 */
extern bool turns_are_out(const Turns *turns);
extern void turns_tick(Turns *turns, int64 now_us);

/* Uses a turn: a task asks. */
extern void turns_use(Turns *turns);

/* Closes the limit for now, whatever the database thinks. */
extern void turns_close(Turns *turns, int64 now_us);

/*
 * See limit_refuse() and limit_grant(); returns whether the limit was closed.
 */
extern void turns_refuse(Turns *turns, int64 again_us, int64 now_us);
extern bool turns_grant(Turns *turns);

typedef enum TurnsOffered
{
	TURNS_USELESS,				/* this node cannot use them */
	TURNS_KEPT,					/* for grabs under way, which may be refused */
	TURNS_TAKEN					/* given to waiters */
} TurnsOffered;

/* See limit_offer(); so many wait here, and so many grabs are under way. */
extern TurnsOffered turns_offer(Turns *turns, int n, TurnsSource source, int waiters,
								int grabs);

/* A grab ended without a refusal.  Returns how many turns to hand on. */
extern int	turns_end_grab(Turns *turns);

#endif							/* TWT_TURNS_H */
