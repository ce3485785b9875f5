/*-------------------------------------------------------------------------
 *
 * take.h
 *		The calls that store the tasks of messages and move the offset.
 *
 *		from: listener.c			to: sql/add/take_messages.sql
 *
 * The server makes tasks of messages, and judges the messages of which it
 * cannot make any.
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
 * Belongs before the first call of each session.  A call that waits for a lock fails
 * after 3 seconds, since the calls of other partitions wait behind it.  The session
 * hears of offsets that are set by hand: see reset_listener().
 */
extern void take_set_up(Pg *pg);

/*
 * Asks where the listener stands.  A listener without an offset begins at start, and
 * in a partition that came after the listener met the topic, at its first message.
 */
extern void take_place(const TakeCall *call, const LogEnds *ends, int64 start);

/*
 * Lets the listener stand still at the offset, since the log does not have it.  The
 * answer is the problem that is stored.
 */
extern void take_stop(const TakeCall *call, int64 offset, const LogEnds *ends, const char *problem);

/* Moves the offset without a task.  An offset that is not from_offset stays. */
extern void take_none(const TakeCall *call, int64 from_offset, int64 to_offset);

/* Stores the tasks of the run, whose messages may be freed afterwards. */
extern void take_run(const TakeCall *call, const Run *run);

/*
 * Stores a task CORRUPTED_KAFKA_MESSAGE in place of the task of the one message of
 * the run, which the database refused with this error.  It lacks headers with
 * characters that the encoding of the database lacks.
 */
extern void take_corrupted(const TakeCall *call, const Run *run, const PGresult *refusal);

/* Returns where the listener stands, by the answer to any call. */
extern int64 take_answer(const PGresult *result);

/* Why the listener stands still, by the answer of take_place(), after the offset, or of
 * take_stop(); NULL: it does not. */
extern const char *take_problem(const PGresult *result);

#endif							/* TWT_TAKE_H */
