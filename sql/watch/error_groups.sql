/*
 * twtasks_internal.error_shape(error)
 *
 *		An error without what differs from task to task: "<text>" stands for a quoted
 *		text, <address> for an e-mail address, and # for a number, a time, an IP
 *		address, a UUID or hexadecimal digits.  Only its first 500 characters count.
 */
CREATE FUNCTION twtasks_internal.error_shape(error text)
RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_error_shape';

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
 *		step			length of time of each of counts: one minute if the first of them
 *						entered ERROR in the last hour, else one hour
 *		counts			how many entered ERROR in each of the last 60 minutes, or of the
 *						last 48 hours: the oldest step first, the last one ends now
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
	OUT example_error text,
	OUT step interval,
	OUT counts integer[])
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
	most_read CONSTANT integer := 100000;
	most_errors CONSTANT integer := 20000;
	moment CONSTANT timestamptz := twtasks.clock();
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
	WITH shaped AS MATERIALIZED (
		SELECT twtasks_internal.error_shape(coalesce(r.error, '')) AS shape, r.id, r.type, r.state_time
		FROM (SELECT t.id, t.type, t.status, t.state_time, t.error
			  FROM twtasks.task t WHERE NOT t.queued AND t.next_event_time >= 'infinity'
			  LIMIT most_read) r
		WHERE r.status = 'ERROR' AND twtasks_internal.fits(error_groups.pattern, r.type) IS NOT NULL
		LIMIT most_errors),
	largest AS (
		SELECT t.shape, sum(t.tasks)::bigint AS tasks, (array_agg(t.type ORDER BY t.type))[1:20] AS types,
			   min(t.first) AS first, max(t.last) AS last, CASE WHEN min(t.first) > moment - interval '1 h' THEN interval '1 min' ELSE interval '1 h' END AS step
		FROM (SELECT s.shape, s.type, count(*) AS tasks, min(s.state_time) AS first, max(s.state_time) AS last
			  FROM shaped s GROUP BY s.shape, s.type) t
		GROUP BY t.shape ORDER BY sum(t.tasks) DESC, t.shape LIMIT max_groups),
	newest AS (
		SELECT DISTINCT ON (l.tasks, l.shape) l.*, e.id
		FROM largest l JOIN shaped e ON e.shape = l.shape AND e.state_time = l.last
		ORDER BY l.tasks DESC, l.shape, e.id DESC),
	-- Steps are counted back from now, and only those with tasks have a row.
	stepped AS (
		SELECT c.shape, c.n, count(*)::integer AS tasks
		FROM (SELECT l.shape, greatest(0, floor(extract(epoch FROM moment - s.state_time) / extract(epoch FROM l.step)))::integer AS n
			  FROM largest l JOIN shaped s ON s.shape = l.shape WHERE s.state_time > moment - interval '48 h') c
		GROUP BY c.shape, c.n)
	SELECT n.shape, n.tasks,
		   (SELECT count(*) >= most_errors FROM shaped)
		   OR (SELECT count(*) >= most_read FROM (
				SELECT FROM twtasks.task t WHERE NOT t.queued AND t.next_event_time >= 'infinity' LIMIT most_read) a),
		   n.types, n.first, n.last, n.id, (SELECT t.error FROM twtasks.task t WHERE t.id = n.id), n.step,
		   ARRAY(SELECT coalesce(c.tasks, 0)
				 FROM generate_series(CASE n.step WHEN '1 min' THEN 59 ELSE 47 END, 0, -1) s(n) LEFT JOIN stepped c ON c.shape = n.shape AND c.n = s.n
				 ORDER BY s.n DESC)
	FROM newest n ORDER BY n.tasks DESC, n.shape;
END $$;
