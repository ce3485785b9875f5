/*-------------------------------------------------------------------------
 *
 * type_policy.h
 *		The policies of a type, merged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TYPE_POLICY_H
#define TWT_TYPE_POLICY_H

#include "utils/jsonb.h"

/* The part of a DONE task that the history keeps; the labels of twtasks.done_rule. */
typedef enum DoneRule
{
	DONE_KEEP,
	DONE_CLEAR,					/* all but data and payload */
	DONE_DELETE					/* nothing */
} DoneRule;

/* Valid until the next call of policy.h. */
typedef struct TypePolicy
{
	const char *bucket;			/* NULL: not set */
	int			priority;		/* -1: not set */
	int64		queue_time_us;	/* 30 minutes when not set */
	int64		expires_after_us;	/* 0: not set */
	int			when_done;		/* a DoneRule; DONE_KEEP when not set */
	const char *intercept;		/* a function; NULL: none */
	char	  **nodes;			/* patterns, NULL-terminated; NULL: all */
	int64		aging_us;		/* wait after which a task rises by one; 0:
								 * never */
	int64		timeout_us;		/* -1: not set */
	const char *stuck;			/* a label of stuck_rule; NULL: not set */
	const char *stuck_function; /* NULL: none */
	Jsonb	   *retry;			/* NULL: not set */
	const char *retry_function; /* NULL: none */
	int			resets_tries;	/* true when not set */
	const char *on_end;			/* a function; NULL: none */
	int			waits_for_deadline; /* takeover; false when not set */
} TypePolicy;

#endif							/* TWT_TYPE_POLICY_H */
