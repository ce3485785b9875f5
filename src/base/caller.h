/*-------------------------------------------------------------------------
 *
 * caller.h
 *		In whose name one of our functions acts.
 *
 *		from: execute_tasks.c, execute.c, policy_call.c, sql/
 *
 * A function that lets its caller name a role or a function must know who
 * called.  In one that is SECURITY DEFINER nobody does any more: the user is
 * our owner, and the session's user may be somebody else, whose ANALYZE or
 * whose call of a foreign function led here.  So such a function is SECURITY
 * INVOKER, in C, and becomes the owner itself, once the caller is noted.
 *
 * What is noted counts for the owner alone: whatever runs as another role
 * meanwhile, a handler or the function of a policy, is its own caller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CALLER_H
#define TWT_CALLER_H

#include "fmgr.h"

/*
 * The role that called what now runs; the current user when none is noted.
 * What asks for it is PARALLEL RESTRICTED at the most.
 */
extern Oid	caller_role(void);

/*
 * Calls act with these arguments as the owner of the function that fcinfo is
 * for.  42501 within a security-restricted operation, such as ANALYZE, where
 * the caller is whoever wrote an expression of an index.
 */
extern Datum caller_act_as_owner(FunctionCallInfo fcinfo, PGFunction act);

#endif							/* TWT_CALLER_H */
