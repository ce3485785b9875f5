/*-------------------------------------------------------------------------
 *
 * grab.h
 *		Grabs tasks for this node: SUBMITTED -> PROCESSING.
 *
 *		from: table.h (table_pop)			to: execute.h (execute_task)
 *
 * All triggers that are ready when a connection has room go in one statement.
 * So a lone task costs one round trip, and a burst one per hundreds of tasks.
 * We hand a task on only after its grab has committed.  Losing a race to
 * another node is normal: we free the slot and forget the trigger.
 *
 * The grab connections are closed while there is nothing to grab.  Until one
 * is open again, grabs use the control connection while it is idle.  A grab
 * never waits for a row lock, so it does not delay the heartbeat.  If no grab
 * connection can be opened, we grab nothing, since we could not report an
 * outcome.
 *
 * When a connection breaks, the outcome of its grab is unknown.  The next
 * connection asks for it by the grab's token; until then the slots stay
 * booked.  If even that stays unanswered, since the backend of the lost grab
 * stands still with the rows locked, lost_grabs.h takes the grab over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GRAB_H
#define TWT_GRAB_H

#include "execute/execute.h"
#include "grab/lost_grabs.h"

typedef struct Grab Grab;

/* The parts of the sidecar that grab.c uses; they outlive it. */
typedef struct GrabParts
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Offers	   *offers;			/* told about refusals by cluster-wide limits */
	const Finish *finish;		/* no grabs while it is behind */
	LostGrabs  *lost;			/* takes grabs whose outcome stays unknown */
	Execute    *execute;		/* takes over grabbed tasks and their slots */
	Metrics    *metrics;

	/*
	 * next() returns the next trigger of any bucket, with a booked slot, and
	 * its table.  is_ready() tells whether there may be one.
	 */
	TableEntry *(*next) (void *source, Table **table);
	bool		(*is_ready) (void *source);
	void	   *source;

	/* called when triggers were dropped whose tasks may still wait */
	LoopFn		on_doubt;
	void	   *doubt_arg;
} GrabParts;

/* Copies the parts. */
extern Grab *grab_open(const GrabParts *parts);
extern void grab_free(Grab *grab);

/* Sends what is ready.  Call it at the end of each turn. */
extern void grab_pump(Grab *grab);

/* A drain begins: makes no new grabs.  Sent grabs still finish. */
extern void grab_stop(Grab *grab);

/* Number of grabs whose outcome is not known yet. */
extern int	grab_under_way(const Grab *grab);

/* The incarnation is gone: forgets all grabs. */
extern void grab_forget(Grab *grab);

#endif							/* TWT_GRAB_H */
