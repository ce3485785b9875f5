/*
 * twtasks_internal.caller()
 *
 *		The role that called the function which now runs as our owner.  The
 *		current user, if no caller is noted.
 */
CREATE FUNCTION twtasks_internal.caller()
RETURNS oid
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_caller';

/*
 * twtasks_internal.actor()
 *
 *		The role that logged in; audits name it as the actor.  A SECURITY
 *		DEFINER function that it calls acts in its name.
 *
 * Errors
 *		42501			within a security-restricted operation, such as ANALYZE, where
 *						nobody asked for the call
 */
CREATE FUNCTION twtasks_internal.actor()
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_actor';
