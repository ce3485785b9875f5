/*
 * Tasks whose error says that they were lost with their node or their deadline.  All
 * unknown outcomes are among them, and few others: see unknown_outcomes.
 */
CREATE VIEW twtasks_internal.lost_tasks AS
	SELECT t.id, t.version, t.type, t.bucket, t.status, t.key, t.tries, t.state_time, t.error
	FROM twtasks.task t
	WHERE NOT t.queued AND t.next_event_time = 'infinity'
	  AND (t.status = 'ERROR' OR t.status = 'HELD' AND t.planned = 'infinity')
	  AND t.error ^@ ANY ('{the node that ran it is gone,its deadline passed without a result}'::text[]);

/*
 * A stuck rule leaves its reason as the error, and notes an attempt "unknown".  The
 * error alone decides if no attempt is kept: before an update from version 1.0, after
 * twtasks.keep_attempts, or without a partition.  A later try that ended has an attempt
 * of its own, so an error that it kept does not count.
 */
CREATE VIEW twtasks.unknown_outcomes AS
	SELECT t.id, t.version, t.type, t.bucket, t.status, t.key, t.tries, a.node,
		   coalesce(a.ended, t.state_time) AS lost_at, t.error AS why,
		   l.error AS late_result, l.ended AS late_at,
		   format(CASE t.status WHEN 'HELD' THEN 'SELECT * FROM twtasks.release_task(%L, %s, now(), ''...'')'
				  ELSE 'SELECT * FROM twtasks.resume_task(%L, %s, ''...'')' END, t.id, t.version) AS if_not_done,
		   format('SELECT * FROM twtasks.confirm_task(%L, %s, ''...'')', t.id, t.version) AS if_done
	FROM twtasks_internal.lost_tasks t
	LEFT JOIN LATERAL (
		SELECT b.version, b.result, b.node, b.ended FROM twtasks.task_attempt b
		WHERE b.task_id = t.id AND b.result <> 'late' ORDER BY b.version DESC LIMIT 1) a ON true
	LEFT JOIN LATERAL (
		SELECT c.error, c.ended FROM twtasks.task_attempt c
		WHERE c.task_id = t.id AND c.version = a.version AND c.result = 'late' LIMIT 1) l ON true
	WHERE coalesce(a.result, 'unknown') = 'unknown';
COMMENT ON VIEW twtasks.unknown_outcomes IS 'Tasks that may have had their effect, although nobody reported it, and that wait for a person to decide';

/*
 * twtasks.list_unknown(pattern, after, max_tasks)
 *
 *		A page of twtasks.unknown_outcomes.  The tasks that entered ERROR or HELD last
 *		come first.  It reads all tasks in ERROR or HELD, but the attempts of those on
 *		the page alone.
 *
 * Parameters
 *		pattern		a type, or the beginning of types and a *
 *		after		the cursor of the page before; NULL: the first page
 *		max_tasks	at most this many, 1 to 1000
 *
 * Returns
 *		id ... if_done	as in twtasks.unknown_outcomes
 *
 *		The last row is not a task.  Its id is NULL, and only there these columns have
 *		values:
 *		cursor		where the next page goes on; NULL: there are no more tasks
 *		tasks		the number of tasks on all pages, at most 5,001.  It may be too high:
 *					on other pages only the error of a task tells that it was lost
 *
 * Errors
 *		22004		pattern is NULL
 *		22023		max_tasks is out of range, or after is not a cursor
 *
 * Locks		none
 * Example		SELECT id, key, lost_at, why FROM twtasks.list_unknown('PAYOUT|*') WHERE id IS NOT NULL;
 */
CREATE FUNCTION twtasks.list_unknown(
	pattern text DEFAULT '*',
	after text DEFAULT NULL,
	max_tasks integer DEFAULT 50)
RETURNS TABLE (
	id uuid,
	version bigint,
	type text,
	bucket text,
	status twtasks.task_status,
	key text,
	tries integer,
	node text,
	lost_at timestamptz,
	why text,
	late_result text,
	late_at timestamptz,
	if_not_done text,
	if_done text,
	cursor text,
	tasks bigint)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
	most_counted CONSTANT integer := 5001;
	from_time timestamptz := 'infinity';
	from_id uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
BEGIN
	IF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, or the beginning of types and a *; "*" means all.';
	ELSIF max_tasks IS NULL OR max_tasks NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'max_tasks must be between 1 and 1000, not %', coalesce(max_tasks::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The cursor of the last row leads to the next page.';
	ELSIF after !~ '^[0-9]{4,6}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}[.][0-9]{6}Z/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
		RAISE EXCEPTION 'after is not a cursor'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give the cursor of the last row of the page before.';
	ELSIF after IS NOT NULL THEN
		from_time := split_part(after, '/', 1);
		from_id := split_part(after, '/', 2);
	END IF;
	RETURN QUERY
	-- Tasks of the pages before count too, and come last.
	WITH lost AS MATERIALIZED (
		SELECT t.id, t.state_time, (t.state_time, t.id) < (from_time, from_id) AS is_left
		FROM twtasks_internal.lost_tasks t
		WHERE pattern = '*' OR CASE WHEN right(pattern, 1) = '*' THEN starts_with(t.type, left(pattern, -1)) ELSE t.type = pattern END
		ORDER BY is_left DESC, t.state_time DESC, t.id DESC LIMIT most_counted),
	-- OFFSET makes it look for one task after the other, until the page is full.
	seen AS MATERIALIZED (
		SELECT u.*, l.state_time
		FROM (SELECT n.id, n.state_time FROM lost n WHERE n.is_left ORDER BY n.state_time DESC, n.id DESC) l
		CROSS JOIN LATERAL (SELECT v.* FROM twtasks.unknown_outcomes v WHERE v.id = l.id OFFSET 0) u
		ORDER BY l.state_time DESC, l.id DESC LIMIT max_tasks + 1),
	-- Beyond a full page there are more, and beyond a cut there may be; else all of the lost ones were looked at.
	ended AS (
		SELECT f.is_full, n.is_cut, n.found - CASE WHEN f.is_full OR n.is_cut THEN 0 ELSE n.remaining - f.found END AS tasks
		FROM (SELECT count(*) > max_tasks AS is_full, count(*) AS found FROM seen) f,
			 (SELECT count(*) AS found, count(*) FILTER (WHERE l.is_left) AS remaining,
					 count(*) FILTER (WHERE l.is_left) = most_counted AS is_cut FROM lost l) n),
	page AS (SELECT s.* FROM seen s ORDER BY s.state_time DESC, s.id DESC LIMIT max_tasks)
	SELECT r.id, r.version, r.type, r.bucket, r.status, r.key, r.tries, r.node, r.lost_at, r.why, r.late_result, r.late_at,
		   r.if_not_done, r.if_done, r.cursor, r.tasks
	FROM (SELECT p.*, NULL::text AS cursor, NULL::bigint AS tasks FROM page p
		  UNION ALL
		  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
				 CASE WHEN e.is_full OR e.is_cut THEN (
					SELECT to_char(b.state_time, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '/' || b.id
					FROM (SELECT p.state_time, p.id FROM page p WHERE e.is_full
						  UNION ALL
						  SELECT l.state_time, l.id FROM lost l WHERE NOT e.is_full) b
					ORDER BY b.state_time, b.id LIMIT 1) END,
				 e.tasks
		  FROM ended e) r
	ORDER BY r.state_time DESC NULLS LAST, r.id DESC NULLS LAST;
END $$;
