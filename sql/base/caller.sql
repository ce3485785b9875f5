/*
 * twtasks_internal.caller()
 *
 *		The role that called the function of ours that runs as the owner now; the
 *		current user, where that is not noted.
 *
 * Returns
 *		oid
 */
CREATE FUNCTION twtasks_internal.caller()
RETURNS oid
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_caller';

/*
 * twtasks_internal.actor()
 *
 *		Who does something by hand, for what is kept of it: the role that logged
 *		in.  A function with other rights that it calls acts in its name.
 *
 * Returns
 *		text
 *
 * Errors
 *		42501			within a security-restricted operation, such as ANALYZE: what
 *						an index calls there nobody has asked for
 */
CREATE FUNCTION twtasks_internal.actor()
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_actor';
