/*-------------------------------------------------------------------------
 *
 * policy_call.h
 *		Functions that policies and listeners name: found, checked and called.
 *
 *		from: sql/policy/configure_type.sql, policy.c, sql/add/message_tasks.sql
 *		to: user_function.h
 *
 * A policy may name a function in place of a figure, and a listener one that
 * makes tasks of messages.  The function runs with the rights of its owner, like
 * one that is SECURITY DEFINER, and must fix its search_path.  So a role that
 * configures policies gains no rights by naming a function, and the function
 * gains none from its callers.
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
	HOOK_DUTY,					/* () returns bigint; see run_duties() */
	HOOK_MESSAGE,				/* (message) returns new_task */
	HOOK_ON_END,				/* (ended_task[]) returns void */
	HOOK_LATE,					/* (late_result[]) returns void; see
								 * tell_late() */
	HOOK_COUNT
} PolicyHook;

/*
 * Calls the function as its owner, with arguments that are not null.  Raises the
 * function's errors, and an error when the function no longer exists.
 */
extern Datum policy_call(PolicyHook hook, const char *name, Datum *args,
						 bool *isnull);

/*
 * The same with a time limit: raises an error after twtasks.function_timeout.
 */
extern Datum policy_call_in_time(PolicyHook hook, const char *name, Datum *args,
								 bool *isnull);

/*
 * The same with that time limit, in a subtransaction.  Returns false, after a
 * warning, when the function failed or took too long.
 */
extern bool policy_try(PolicyHook hook, const char *name, Datum *args,
					   Datum *result, bool *isnull);

#endif							/* TWT_POLICY_CALL_H */
