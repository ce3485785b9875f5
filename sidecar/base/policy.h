/*-------------------------------------------------------------------------
 *
 * policy.h
 *		The options that apply to a task of one type.
 *
 *		from: node/policies.h		to: grab.h, execute.h, finish.h
 *
 * A policy never changes.  A task keeps the policy with which it was grabbed
 * for as long as it runs.  Policies are counted: each user takes a reference.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_H
#define TWT_POLICY_H

typedef enum StuckRule
{
	STUCK_ERROR,
	STUCK_RETRY,
	STUCK_FAIL,
	STUCK_IGNORE
} StuckRule;

typedef struct Policy
{
	int			refs;
	char	   *type;
	int64		timeout_us;		/* deadline after the grab */
	StuckRule	stuck;			/* told to the database with the grab */
	int			max_tries;		/* in all; 0: a function says */
	char	   *retry;			/* the handler's, for the database to judge by
								 * where it has none: JSON */
	bool		is_taken;		/* not paused, and for this node to run */
	int64		aging_us;		/* after so long in the queue a task rises; 0:
								 * never */
} Policy;

extern Policy *policy_ref(Policy *policy);

/* Frees it with its last reference; NULL is none. */
extern void policy_unref(Policy *policy);

#endif							/* TWT_POLICY_H */
