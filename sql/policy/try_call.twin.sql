-- before:
/*
 * PL/pgSQL has no parameters of any type, so there is a function for each list of
 * types that callers give.  None has a time limit: SQL cannot limit a part of a
 * statement.
 */

/*
 * twtasks_internal.make_try_call(types)
 *
 *		Makes try_call() and try_call_without_limit() for arguments of these types.
 */
CREATE FUNCTION twtasks_internal.make_try_call(VARIADIC types text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
	arguments CONSTANT text := (SELECT string_agg(format('a%s %s', u.n, u.type), ', ') FROM unnest(types) WITH ORDINALITY u(type, n));
	places CONSTANT text := (SELECT string_agg(format('$%s', n), ', ') FROM generate_series(1, cardinality(types)) n);
	names CONSTANT text := (SELECT string_agg(format('a%s', n), ', ') FROM generate_series(1, cardinality(types)) n);
	name text;
BEGIN
	FOREACH name IN ARRAY '{try_call,try_call_without_limit}'::text[] LOOP
		EXECUTE format($declaration$
			CREATE OR REPLACE FUNCTION twtasks_internal.%I(function text, %s,
				OUT result text, OUT state text, OUT error text, OUT detail text, OUT hint text)
			RETURNS record
			LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
			SET search_path = pg_catalog, pg_temp
			AS $body$
			BEGIN
				EXECUTE 'SELECT CASE WHEN pg_typeof(s.r) <> ''void''::regtype THEN s.r::text END FROM (SELECT ' || function || '(%s) AS r OFFSET 0) s'
					INTO result USING %s;
			EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
				GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, error = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
				detail := nullif(detail, '');
				hint := nullif(hint, '');
			END $body$ $declaration$, name, arguments, places, names);
		EXECUTE format('REVOKE ALL ON FUNCTION twtasks_internal.%I(text, %s) FROM PUBLIC', name, array_to_string(make_try_call.types, ', '));
	END LOOP;
END $make$;

-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('text');
SELECT twtasks_internal.make_try_call('uuid');
SELECT twtasks_internal.make_try_call('integer');
SELECT twtasks_internal.make_try_call('timestamptz');
-- end: in each update

-- instead of twt_try_call:

-- instead of twt_try_call_without_limit:

-- twin: twt_time_is_over LANGUAGE sql INLINE
	SELECT false
