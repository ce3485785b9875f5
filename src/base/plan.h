/*-------------------------------------------------------------------------
 *
 * plan.h
 *		Statements of the extension, prepared once per session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PLAN_H
#define TWT_PLAN_H

#include "executor/spi.h"

typedef enum PlanId
{
	PLAN_CLAIM_KEY,				/* task_id uuid, key text */
	PLAN_FIND_KEY,				/* task_id uuid, key text -> task_id, key */
	PLAN_PUT_KEY,				/* task_id uuid, key text */
	PLAN_FIND_PUT,				/* task_id uuid, key text -> put_version */
	PLAN_TAKE_KEY,				/* task_id uuid, key text, its holder uuid,
								 * the holder's put_version int8 */
	PLAN_REPLACE_TASK,			/* see plan.c -> version, when it runs; NULL:
								 * it is held.  No row: it has started, or is
								 * not live */
	PLAN_FIND_LIVE,				/* task_id uuid -> version, type */
	PLAN_FIND_VERSION,			/* task_id uuid -> version of a live task */
	PLAN_FIND_ANYWHERE,			/* task_id uuid -> version of a finished one */
	PLAN_FIND_FINISHED,			/* task_id uuid, since and until timestamptz
								 * -> version, status */
	PLAN_DELETE_TASK,			/* task_id uuid */
	PLAN_INSERT_NAMED_TASK,		/* see plan.c; an id that exists inserts
								 * nothing */
	PLAN_TELL_LATE,				/* ids uuid[], versions int8[], results
								 * text[], messages text[], outcomes jsonb[] */
	PLAN_ANY_CANCEL,			/* -> a row if any task is to be cancelled */
	PLAN_FIND_CANCEL,			/* task_id uuid -> why it is to be cancelled,
								 * its facts */
	PLAN_NOTE_CANCEL,			/* task_id uuid, its facts before, when it was
								 * cancelled timestamptz */
	PLAN_NOTE_CANCEL_OF_1_0,	/* the same, without the person */
	PLAN_FREE_KEYS,				/* task_ids uuid[] */
	PLAN_FREE_ORPHAN,			/* task_id uuid; one statement, so it sees a
								 * task on its way into the history */
	PLAN_BEGIN_HISTORY,
	PLAN_BEGIN_ATTEMPTS,
	PLAN_IS_KNOWN_TYPE,			/* type text -> a row if it is known */
	PLAN_KNOWN_TYPES,			/* -> pattern */
	PLAN_LOCK_SLOTS,			/* name text -> see slots.c */
	PLAN_FIND_SLOTS,			/* name text -> a row if there is one */
	PLAN_MAKE_SLOTS,			/* name text */
	PLAN_STORE_SLOTS,			/* name text, epoch int8, now timestamptz, ids
								 * uuid[], versions int8[], incarnations
								 * int8[], waiting int8[], tokens float8 */
	PLAN_KEEP_IDS_NEW,			/* timeline int8, id int8: below it, ids are
								 * old */
	PLAN_RAISE_IDS,				/* above int8 */
	PLAN_FIND_OBJECT,			/* stream text, object text -> see
								 * give_events.c */
	PLAN_TAKE_EVENT,			/* stream text, object text -> seq, event,
								 * size */
	PLAN_TAKE_EVENTS,			/* stream text, object text, most int4, bytes
								 * int8 -> seq, event, size */
	PLAN_SET_HEAD,				/* stream text, object text, head uuid,
								 * last_id int8, sent_id int8 */
	PLAN_LIST_OBJECT,			/* stream text, object text */
	PLAN_LIST_GOES_ON,			/* stream text, object text, bucket text */
	PLAN_COUNT
} PlanId;

/* Connects to SPI, and pins search_path, until plan_end() with the result. */
extern int	plan_begin(void);
extern void plan_end(int pinned);

/*
 * Executes a statement; between plan_begin() and plan_end().  Returns the
 * number of rows; a query's rows are in SPI_tuptable.  Raises the statement's
 * errors.
 */
extern uint64 plan_execute(PlanId id, Datum *values, const char *nulls);

/* The same for a query, which sees all that has committed at any isolation level. */
extern uint64 plan_query_latest(PlanId id, Datum *values);

#endif							/* TWT_PLAN_H */
