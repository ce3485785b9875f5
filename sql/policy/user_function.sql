/*
 * twtasks_internal.check_function(purpose text, function text, args regtype[], result regtype)
 *
 *		Raises an error unless the function can be called for the purpose: it has
 *		these types, and the caller may name it.  NULL passes.
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		22004			purpose, args or result is NULL
 *		42501			the caller may not execute the function
 *		22023			the function does not fix its search_path
 */
CREATE FUNCTION twtasks_internal.check_function(purpose text, function text, args regtype[], result regtype)
RETURNS void
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_check_function_of';

/*
 * twtasks_internal.call_function(purpose, function, result, as_role, args)
 *
 *		Calls the function that a user named: the one that takes just the types of
 *		the arguments, which may be NULL.  It runs with the rights of its owner, or of
 *		as_role.  It has no time limit of its own.
 *
 * Parameters
 *		purpose			for messages
 *		function		name with its schema
 *		result			type that the function must return
 *		as_role			role with whose rights it runs, without writing; NULL: its owner
 *		args			at least one; a literal needs a cast
 *
 * Returns
 *		the result as text; NULL: the function returned NULL, or is STRICT and an
 *		argument is NULL
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		22004			purpose, function or result is NULL
 *		25006			as_role is given and the function writes
 *		22023			as_role is given and the function is SECURITY DEFINER; all errors
 *						of the function
 */
CREATE FUNCTION twtasks_internal.call_function(purpose text, function text, result regtype, as_role regrole, VARIADIC args "any")
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_function';
