/*
 * twtasks_internal.try_call(function, args)
 *
 *		Calls a function of this schema that works for one item of several, so that an
 *		item which fails stops no other: in a subtransaction, and for at most
 *		twtasks.function_timeout.  A call within such a call shares its time.
 *
 *		EXCEPTION WHEN OTHERS would let a failed ASSERT pass, and a cancel that a
 *		function of a user raises.
 *
 * Parameters
 *		function		name with its schema
 *		args			at least one, of just the types of its parameters; a literal needs a
 *						cast
 *
 * Returns
 *		result			the function's result as text; NULL: it is void
 *		state			SQLSTATE of the error; NULL: the function succeeded
 *		error			its message
 *		detail, hint	of the error, or NULL
 *
 * Errors
 *		57014			an operator, the client or statement_timeout cancels the statement
 */
CREATE FUNCTION twtasks_internal.try_call(
	function text,
	VARIADIC args "any",
	OUT result text,
	OUT state text,
	OUT error text,
	OUT detail text,
	OUT hint text)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_try_call';

/*
 * twtasks_internal.try_call_without_limit(function, args)
 *
 *		The same without a time limit of its own.
 *
 * Parameters, returns, errors: as try_call()
 */
CREATE FUNCTION twtasks_internal.try_call_without_limit(
	function text,
	VARIADIC args "any",
	OUT result text,
	OUT state text,
	OUT error text,
	OUT detail text,
	OUT hint text)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_try_call_without_limit';

/*
 * twtasks_internal.time_is_over()
 *
 *		Whether twtasks.function_timeout has caused the cancel that a caller has just
 *		caught.  Any other cancel is for the whole statement.
 */
CREATE FUNCTION twtasks_internal.time_is_over()
RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_time_is_over';

/*
 * twtasks_internal.brought_functions(prefix, argument, result)
 *
 *		Functions of this schema that other extensions bring: their names begin with the
 *		prefix, they take one such argument, and have that result.
 *
 * Returns
 *		names, for try_call(), in order
 */
CREATE FUNCTION twtasks_internal.brought_functions(prefix text, argument regtype, result regtype)
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'twtasks_internal.' || quote_ident(p.proname) FROM pg_proc p
	WHERE p.proname ^@ prefix AND p.pronamespace = 'twtasks_internal'::regnamespace
	  AND p.pronargs = 1 AND p.proargtypes[0] = argument AND p.prorettype = result
	ORDER BY p.proname
$$;
