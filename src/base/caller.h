/*-------------------------------------------------------------------------
 *
 * caller.h
 *		The role that called one of our functions.
 *
 *		from: execute_tasks.c, execute.c, user_function.c, sql/
 *
 * A function that lets its caller name a role or a function must know who
 * called.  A SECURITY DEFINER function cannot know: the current user is our
 * owner, and the session's user may be somebody else, whose ANALYZE or whose
 * call of a foreign function led here.  So such a function is SECURITY
 * INVOKER, in C, notes its caller, and then becomes the owner itself.
 *
 * The note counts for the owner alone.  Code that runs as another role
 * meanwhile, such as a handler or a policy function, is its own caller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CALLER_H
#define TWT_CALLER_H

#include "fmgr.h"

#include "base/contract.h"

/*
 * The role that called the current function; the current user when none is
 * noted.  A SQL function that asks for it must be PARALLEL RESTRICTED or
 * stricter.
 */
extern Oid	caller_role(void);

/*
 * Whether the current function was called by code that runs as our owner: by
 * ourselves, in whose name ever.
 */
extern bool caller_is_owner(void);

/*
 * Calls act with these arguments as the owner of the function that fcinfo is
 * for.  Raises 42501 within a security-restricted operation, such as ANALYZE:
 * there the author of an index expression would pass for the caller.
 */
extern Datum caller_act_as_owner(FunctionCallInfo fcinfo, PGFunction act);

/* A function that SQL calls, all of whose work act does as the owner. */
#define TWT_FUNCTION_AS_OWNER(name, act) \
	TWT_FUNCTION(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return caller_act_as_owner(fcinfo, act); \
	} \
	extern int	no_such_variable

#endif							/* TWT_CALLER_H */
