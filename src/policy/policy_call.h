/*-------------------------------------------------------------------------
 *
 * policy_call.h
 *		Functions that policies name: found, checked and called.
 *
 *		from: sql/policy/configure_type.sql, policy.c		to: (functions of users)
 *
 * A policy names a function in place of a figure.  Whoever may configure
 * policies must not gain anything by that, nor lead others into a trap: the
 * function runs with the rights of its owner, whoever is the caller, like one
 * that is SECURITY DEFINER, and must fix its search_path as such a one should.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_CALL_H
#define TWT_POLICY_CALL_H

typedef enum PolicyHook
{
	HOOK_RETRY,					/* (task_input, text) returns timestamptz */
	HOOK_STUCK,					/* (task_input) returns stuck_rule */
	HOOK_INTERCEPT,				/* (new_task) returns new_task */
	HOOK_COUNT
} PolicyHook;

/*
 * Calls the function as its owner, with arguments that are not null; raises
 * what it raises, and an error when there is no such function any more.
 */
extern Datum policy_call(PolicyHook hook, const char *name, Datum *args,
						 bool *isnull);

/*
 * The same; raises an error when it takes longer than twtasks.function_timeout.
 */
extern Datum policy_call_in_time(PolicyHook hook, const char *name, Datum *args,
								 bool *isnull);

/*
 * The same in a subtransaction.  False: the function failed or took too long,
 * which a warning told.
 */
extern bool policy_try(PolicyHook hook, const char *name, Datum *args,
					   Datum *result, bool *isnull);

#endif							/* TWT_POLICY_CALL_H */
