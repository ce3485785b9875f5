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
	StuckRule	stuck;			/* sent to the database with the grab */
	int			max_tries;		/* attempts in all; 0: a function decides */
	char	   *retry;			/* the handler's retry options, JSON; for a
								 * type without a retry policy */
	bool		is_taken;		/* not paused, and this node may run it */
	int64		aging_us;		/* wait after which a task rises; 0: never */
} Policy;

extern Policy *policy_ref(Policy *policy);

/* Drops a reference; the last one frees the policy.  NULL is allowed. */
extern void policy_unref(Policy *policy);

#endif							/* TWT_POLICY_H */
