/*
 * twtasks.compare_data(one, other)
 *
 *		Compares two JSON values member by member, at any depth, such as the data of two
 *		tasks by read_payload().
 *
 * Returns
 *		path					names of members, and numbers of elements from 0, as the
 *								operator #> takes them; empty: the whole
 *		value, other_value		the values there; NULL: there is none
 *
 *		No row: they are equal.
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.compare_data('{"sum": 7, "to": {"iban": "a"}}', '{"sum": 8, "to": {"iban": "a"}}');
 */
CREATE FUNCTION twtasks.compare_data(
	one jsonb, other jsonb, OUT path text[], OUT value jsonb, OUT other_value jsonb)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE pair(path, value, other_value, is_inner) AS (
		SELECT '{}'::text[], one, other,
			   jsonb_typeof(one) = jsonb_typeof(other) AND jsonb_typeof(one) IN ('object', 'array')
		WHERE one IS DISTINCT FROM other
		UNION ALL
		SELECT p.path || m.name, m.value, m.other_value,
			   jsonb_typeof(m.value) = jsonb_typeof(m.other_value) AND jsonb_typeof(m.value) IN ('object', 'array')
		FROM pair p
		CROSS JOIN LATERAL (
			SELECT coalesce(a.key, b.key), a.value, b.value
			FROM jsonb_each(CASE jsonb_typeof(p.value) WHEN 'object' THEN p.value END) a
			FULL JOIN jsonb_each(CASE jsonb_typeof(p.value) WHEN 'object' THEN p.other_value END) b ON b.key = a.key
			UNION ALL
			SELECT (coalesce(c.n, d.n) - 1)::text, c.value, d.value
			FROM jsonb_array_elements(CASE jsonb_typeof(p.value) WHEN 'array' THEN p.value END) WITH ORDINALITY c(value, n)
			FULL JOIN jsonb_array_elements(CASE jsonb_typeof(p.value) WHEN 'array' THEN p.other_value END) WITH ORDINALITY d(value, n) ON d.n = c.n
			) m(name, value, other_value)
		WHERE p.is_inner AND m.value IS DISTINCT FROM m.other_value)
	SELECT p.path, p.value, p.other_value FROM pair p WHERE p.is_inner IS NOT TRUE ORDER BY p.path
$$;

/*
 * twtasks.compare_attempts(id, version, other)
 *
 *		Compares two attempts of a task, column by column.
 *
 * Parameters
 *		version, other			of the attempts, as in twtasks.task_attempts
 *
 * Returns
 *		field					a column of twtasks.task_attempts, or wait_seconds: from
 *								runnable to started, run_seconds: from started to ended
 *		value, other_value		of both attempts; NULL: there is none
 *
 *		A row for each field that differs.  The late result of an attempt does not count.
 *
 * Errors
 *		22004			id, version or other is NULL
 *		42704			nothing is kept of one of these attempts
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.compare_attempts('0193b0a0-0000-7000-8000-000000000001', 1, 4);
 */
CREATE FUNCTION twtasks.compare_attempts(
	id uuid, version bigint, other bigint, OUT field text, OUT value jsonb, OUT other_value jsonb)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	wanted bigint;
	facts jsonb;
	sides jsonb[];
BEGIN
	IF num_nulls(compare_attempts.id, compare_attempts.version, compare_attempts.other) > 0 THEN
		RAISE EXCEPTION 'id, version and other must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOREACH wanted IN ARRAY ARRAY[compare_attempts.version, compare_attempts.other] LOOP
		SELECT jsonb_strip_nulls(to_jsonb(a) - '{task_id,version}'::text[]
			|| jsonb_build_object('wait_seconds', extract(epoch FROM a.started - a.runnable), 'run_seconds', extract(epoch FROM a.ended - a.started)))
		INTO facts
		FROM twtasks.task_attempts a
		WHERE a.task_id = compare_attempts.id AND a.version = wanted AND a.result <> 'late';
		IF NOT FOUND THEN
			RAISE EXCEPTION 'task "%" has no attempt of version %', compare_attempts.id, wanted
				USING ERRCODE = 'undefined_object', HINT = 'The view twtasks.task_attempts has those that are kept.';
		END IF;
		sides := sides || facts;
	END LOOP;
	RETURN QUERY SELECT c.path[1], c.value, c.other_value FROM twtasks.compare_data(sides[1], sides[2]) c;
END $$;
