/*-------------------------------------------------------------------------
 *
 * silence.h
 *		How long a session has left its oldest call without an answer.
 *
 *		from: pg.h
 *
 * Private to pg.c.
 *
 * A frozen backend, or a network that acknowledges and never delivers, looks
 * like a server that is slow.  So a session is given up when calls are under
 * way and no byte has come for PG_GIVE_UP_US, for the time that the oldest call
 * waits on purpose, and for the time that its parameters take on a slow
 * network.
 *
 * The limit is longer than most stalls of a disk, and it is shorter than a
 * lease.  If it hits a server that is only slow, its calls are sent again, and
 * their tokens tell whether the first ones were executed.  To get on with such
 * a server, the limit doubles each time, until the call that was given up is
 * answered quickly, or other calls are for a minute.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SILENCE_H
#define TWT_SILENCE_H

#include "base/loop.h"
#include "pg/pipeline.h"

/* The session is to be given up; why names the call. */
typedef void (*SilenceFn) (void *arg, const char *why);

typedef struct Silence
{
	dlist_node	node;			/* among all sessions of the process */
	Loop	   *loop;
	const char *role;
	const Pipeline *pipeline;
	SilenceFn	fn;
	void	   *arg;
	LoopTimer  *timer;			/* the next look, while calls are under way */
	int64		due_us;			/* the time of that look */
	int64		base_us;		/* the shortest limit */
	int64		most_us;		/* the longest one */
	int64		limit_us;		/* the limit now */
	const PgStatement *slow;	/* the call that was given up last ... */
	int64		slow_us;		/* ... and when */
	int64		heard_us;		/* when the last bytes came */
	int64		down_us;		/* wanted and not up since then; 0: up, or at
								 * rest */
} Silence;

extern void silence_init(Silence *silence, Loop *loop, const Pipeline *pipeline,
						 const char *role);
extern void silence_on_end(Silence *silence, SilenceFn fn, void *arg);

/* Call it before the first call is sent. */
extern void silence_limit(Silence *silence, int64 base_us, int64 most_us);
extern void silence_clear(Silence *silence);

/* The session is wanted and not up; it is up; it rests. */
extern void silence_down(Silence *silence);
extern void silence_up(Silence *silence);
extern void silence_rest(Silence *silence);

/* A call was sent; bytes have come; a call was answered without an error. */
extern void silence_sent(Silence *silence);
extern void silence_heard(Silence *silence);
extern void silence_answered(Silence *silence, const Call *call);

/* See pg_silent(). */
extern char *silence_worst(void);

#endif							/* TWT_SILENCE_H */
