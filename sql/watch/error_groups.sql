/*
 * twtasks_internal.error_shapes(errors)
 *
 *		Errors without what differs from task to task: "<text>" stands for a quoted
 *		text, <address> for an e-mail address, and # for a number, a time, an IP
 *		address, a UUID or hexadecimal digits.  For many errors at once, since a call
 *		costs more than a shape.
 *
 * Returns
 *		a row for each error, in order
 */
CREATE FUNCTION twtasks_internal.error_shapes(errors text[])
RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT regexp_replace(
		CASE WHEN strpos(q.error, '@') = 0 THEN q.error
			 ELSE regexp_replace(q.error, '[[:alnum:]._%+-]+@[[:alnum:]-]+([.][[:alnum:]-]+)*', '<address>', 'g') END,
		'[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[xX][0-9a-fA-F]+|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}'
		'|[[:<:]](?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{8,}[[:>:]]|[0-9]+([.:,][0-9]+)*', '#', 'g')
	FROM (SELECT left(coalesce(u.error, ''), 500), u.n FROM unnest(errors) WITH ORDINALITY u(error, n)) g(error, n)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN translate(g.error, '"''', '') = g.error THEN g.error
					-- not the apostrophes of words
					ELSE regexp_replace(regexp_replace(g.error, '"[^"]*"', '"<text>"', 'g'),
										'(^|[^[:alnum:]])''[^'']*''(?![[:alnum:]])', concat(chr(92), '1''<text>'''), 'g') END) q(error)
	ORDER BY g.n
$$;

/*
 * twtasks.error_groups(pattern, max_groups)
 *
 *		Tasks in ERROR, grouped by the shape of their errors: numbers, times, UUIDs,
 *		hexadecimal digits, addresses and quoted texts do not count.  The largest group
 *		comes first.  Reads at most 20,000 tasks in ERROR, and 100,000 of those in
 *		ERROR or HELD.
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *
 *		max_groups		at most this many
 *
 * Returns
 *		shape			of the first 500 characters, with placeholders such as #
 *		tasks			their number
 *		capped			true: there may be more tasks, also in other groups
 *		types			their types, at most 20
 *		first_seen		when the first of them entered ERROR
 *		last_seen		when the last of them did
 *		example			the last one
 *		example_error	its error
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			max_groups is NULL or less than 1
 *
 * Locks		none
 * Example		SELECT tasks, shape, types FROM twtasks.error_groups('PAYOUT|*');
 */
CREATE FUNCTION twtasks.error_groups(
	pattern text DEFAULT '*',
	max_groups integer DEFAULT 50,
	OUT shape text,
	OUT tasks bigint,
	OUT capped boolean,
	OUT types text[],
	OUT first_seen timestamptz,
	OUT last_seen timestamptz,
	OUT example uuid,
	OUT example_error text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	most_read CONSTANT integer := 100000;
	most_errors CONSTANT integer := 20000;
BEGIN
	IF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, or the beginning of types and a *; "*" means all.';
	ELSIF max_groups IS NULL OR max_groups < 1 THEN
		RAISE EXCEPTION 'max_groups must be at least 1, not %', coalesce(max_groups::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY
	WITH failed AS MATERIALIZED (
		SELECT r.id, r.type, r.state_time, r.error
		FROM (SELECT t.id, t.type, t.status, t.state_time, t.error
			  FROM twtasks.task t WHERE NOT t.queued AND t.next_event_time >= 'infinity'
			  LIMIT most_read) r
		WHERE r.status = 'ERROR' AND twtasks_internal.fits(error_groups.pattern, r.type) IS NOT NULL
		LIMIT most_errors),
	-- Equal errors are common, and their shape costs most.
	message AS MATERIALIZED (
		SELECT f.error, count(*) AS tasks, array_agg(DISTINCT f.type) AS types, min(f.state_time) AS first,
			   max(f.state_time) AS last, (array_agg(f.id ORDER BY f.state_time DESC))[1] AS id,
			   row_number() OVER () AS n
		FROM failed f GROUP BY f.error),
	shaped AS MATERIALIZED (
		SELECT e.shape, m.*
		FROM message m
		JOIN twtasks_internal.error_shapes(ARRAY(SELECT o.error FROM message o ORDER BY o.n)) WITH ORDINALITY e(shape, n)
			ON e.n = m.n),
	kind AS (
		SELECT o.shape, (array_agg(DISTINCT y.type))[1:20] AS types FROM shaped o, unnest(o.types) y(type) GROUP BY o.shape)
	SELECT s.shape, sum(s.tasks)::bigint,
		   (SELECT count(*) >= most_errors FROM failed)
		   OR (SELECT count(*) >= most_read FROM (
				SELECT FROM twtasks.task t WHERE NOT t.queued AND t.next_event_time >= 'infinity' LIMIT most_read) a),
		   k.types,
		   min(s.first), max(s.last), (array_agg(s.id ORDER BY s.last DESC))[1], (array_agg(s.error ORDER BY s.last DESC))[1]
	FROM shaped s JOIN kind k ON k.shape = s.shape
	GROUP BY s.shape, k.types
	ORDER BY sum(s.tasks) DESC, s.shape
	LIMIT max_groups;
END $$;
