/*
 * PL/pgSQL has no parameters of any type, so there is a function for each list of types
 * that callers give.
 */

/*
 * twtasks_internal.make_call_function(types)
 *
 *		Makes call_function() for arguments of these types.  For each purpose there is a
 *		function that make_call() has made.
 */
CREATE FUNCTION twtasks_internal.make_call_function(VARIADIC types text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
	arguments CONSTANT text := (SELECT string_agg(format('a%s %s', u.n, u.type), ', ') FROM unnest(types) WITH ORDINALITY u(type, n));
	places CONSTANT text := (SELECT string_agg(format('$%s', n + 1), ', ') FROM generate_series(1, cardinality(types)) n);
	names CONSTANT text := (SELECT string_agg(format('a%s', n), ', ') FROM generate_series(1, cardinality(types)) n);
BEGIN
	EXECUTE format($declaration$
		CREATE OR REPLACE FUNCTION twtasks_internal.call_function(purpose text, function text, result regtype, as_role regrole, %s)
		RETURNS text
		LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
		SET search_path = pg_catalog, pg_temp
		AS $body$
		DECLARE
			answer text;
		BEGIN
			EXECUTE format('SELECT twtasks_internal.%%I($1, %s)', 'call_for_' || purpose) INTO answer USING function, %s;
			RETURN answer;
		END $body$ $declaration$, arguments, places, names);
END $make$;

-- begin: in each update
SELECT twtasks_internal.make_call_function('jsonb');
SELECT twtasks_internal.make_call_function('jsonb', 'text');
SELECT twtasks_internal.make_call_function('jsonb', 'text', 'text');
SELECT twtasks_internal.make_call_function('jsonb', 'text', 'jsonb');
SELECT twtasks_internal.make_call_function('jsonb', 'text', 'timestamptz');
SELECT twtasks_internal.make_call_function('jsonb', 'text', 'integer', 'text');
-- end: in each update
