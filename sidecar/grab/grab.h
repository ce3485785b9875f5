/*-------------------------------------------------------------------------
 *
 * grab.h
 *		Asks the database for tasks: SUBMITTED -> PROCESSING, for us.
 *
 *		from: table.h (table_pop)			to: execute.h (execute_task)
 *
 * All triggers that are ready when a connection has room go in one statement:
 * a lone task pays one round trip, a burst one per hundreds.  We hand a task
 * on only after its grab has committed.  A lost race is normal: we free the
 * slot and forget the trigger.
 *
 * The connections rest while there is nothing to grab.  The first grabs after
 * a rest go over the control connection, while it has nothing else to do,
 * until one of ours is open.  A grab waits for no row, so the heartbeat behind
 * it is on time.  When ours fail to open, we grab nothing, since we could not
 * report an outcome.
 *
 * When the connection breaks, it is not known whether the grab happened.  The
 * next connection asks for it by its token; the slots stay booked until then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GRAB_H
#define TWT_GRAB_H

#include "execute/execute.h"

typedef struct Grab Grab;

/* The parts of the sidecar that it works with; they outlive it. */
typedef struct GrabParts
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Offers	   *offers;			/* hears what cluster-wide limits refuse */
	Execute    *execute;		/* takes grabbed tasks and their slots */

	/*
	 * The next trigger of any bucket whose slot was booked, and its table;
	 * and whether there may be one.
	 */
	TableEntry *(*next) (void *source, Table **table);
	bool		(*is_ready) (void *source);
	void	   *source;

	/* some triggers were dropped without a look at their tasks */
	LoopFn		on_doubt;
	void	   *doubt_arg;
} GrabParts;

/* Copies the parts. */
extern Grab *grab_open(const GrabParts *parts);
extern void grab_free(Grab *grab);

/* Sends what is ready; at the end of each turn. */
extern void grab_pump(Grab *grab);

/* Makes no new grabs (a drain); grabs under way still finish. */
extern void grab_stop(Grab *grab);

/* Number of grabs whose outcome is not known yet. */
extern int	grab_under_way(const Grab *grab);

/* The incarnation is gone: grabs under way are not ours. */
extern void grab_forget(Grab *grab);

#endif							/* TWT_GRAB_H */
