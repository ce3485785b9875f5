/*-------------------------------------------------------------------------
 *
 * take.h
 *		The calls that store the tasks of messages and move the offset.
 *
 *		from: listener.c			to: sql/add/take_messages.sql
 *
 * The server makes tasks of messages, and judges those of which it cannot make
 * any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TAKE_H
#define TWT_TAKE_H

#include "pg/pg.h"
#include "workers/kafka/listen_settings.h"

typedef struct TakeCall
{
	Pg		   *pg;
	const ListenerSettings *listener;
	const Partition *partition;
	PgResultFn	fn;
	void	   *arg;
} TakeCall;

/*
 * Moves the offset without a task.  Where it does not stand at from_offset, it
 * stays; a listener that never moved begins at to_offset.
 */
extern void take_none(const TakeCall *call, int64 from_offset, int64 to_offset);

/* Stores the tasks of the run, whose messages may be freed afterwards. */
extern void take_run(const TakeCall *call, const Run *run);

/* Returns where the listener stands, by the answer to either call. */
extern int64 take_answer(const PGresult *result);

#endif							/* TWT_TAKE_H */
