/*
 * twtasks.find_stuck(max_each)
 *
 *		Tasks that should have moved on, newest first.  Reads a part of the tasks
 *		only, as count_tasks() does with max_each or 1000 as cap, and shows no more
 *		than that cap of the queue.  Where more are late, each bucket, type and
 *		priority has an equal share of the cap, and one task at least.  A share
 *		begins with small ids, which have waited the longest unless callers gave the
 *		ids; tasks that are not in the queue begin with those due for the longest.
 *
 * Parameters
 *		max_each		at most so many of each bucket, type and priority in the
 *						queue, and so many of each bucket, type and status beside it
 *
 * Returns
 *		id ... tries	of the task
 *		node			PROCESSING: who runs it
 *		why				the likely reason
 *		since			when it should have moved on
 *
 * Errors
 *		22023			max_each is NULL or less than 1
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.find_stuck(20);
 */
CREATE FUNCTION twtasks.find_stuck(
	max_each integer DEFAULT 10000,
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT sub_type text,
	OUT bucket text,
	OUT priority smallint,
	OUT status twtasks.task_status,
	OUT created timestamptz,
	OUT state_time timestamptz,
	OUT tries integer,
	OUT node text,
	OUT why text,
	OUT since timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET enable_mergejoin = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	cap CONSTANT integer := greatest(max_each, 1000);
BEGIN
	IF max_each IS NULL OR max_each < 1 THEN
		RAISE EXCEPTION 'max_each must be at least 1, not %', coalesce(max_each::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY
	WITH late AS MATERIALIZED (
		SELECT q.* FROM twtasks_internal.late_queued(cap, twtasks.clock(), max_each) q
		UNION ALL
		SELECT k.* FROM (
			SELECT n.*, row_number() OVER (PARTITION BY n.bucket, n.type, n.status
										   ORDER BY n.next_event_time) AS place
			FROM twtasks_internal.late_not_queued(cap, twtasks.clock()) n) k
		WHERE k.place <= max_each),
	reason AS (
		SELECT w.type, w.bucket, w.why
		FROM (SELECT array_agg(d.type) AS types, array_agg(d.bucket) AS buckets
			  FROM (SELECT DISTINCT l.type, l.bucket FROM late l WHERE l.status = 'SUBMITTED') d) k
		CROSS JOIN LATERAL twtasks_internal.why_queued(k.types, k.buckets) w)
	SELECT l.id, l.version, l.type, l.sub_type, l.bucket, l.priority, l.status,
		   l.created, l.state_time, l.tries, n.name,
		   CASE WHEN l.status = 'SUBMITTED' THEN r.why
				WHEN l.status = 'WAITING' THEN 'it is due and nobody promotes it: is a node running?'
				WHEN n.ended IS NOT NULL OR n.incarnation IS NULL THEN 'the node that ran it is gone'
				ELSE 'its deadline passed without a result' END,
		   l.next_event_time
	FROM late l
	LEFT JOIN reason r ON r.type = l.type AND r.bucket = l.bucket
	LEFT JOIN twtasks.node n ON n.incarnation = l.incarnation AND l.status = 'PROCESSING'
	ORDER BY l.state_time DESC, l.id DESC;
END $$;

/*
 * twtasks_internal.late_queued(cap, moment, max_each)
 *
 *		The rows of the queue that find_stuck() shows: tasks without payloads, and
 *		as next_event_time the time of which the task is late.  It looks at the same
 *		tasks as count_queued() with that cap.  Thousands of types are not shown in
 *		depth: sorting three tasks of each took longer than finding them.
 *
 * Returns
 *		place			how many late tasks of its bucket, type and priority were found
 *						up to this one
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.late_queued(
	cap integer, moment timestamptz, max_each integer,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text,
	OUT priority smallint, OUT status twtasks.task_status, OUT created timestamptz,
	OUT state_time timestamptz, OUT tries integer, OUT incarnation bigint,
	OUT next_event_time timestamptz, OUT place bigint)
RETURNS SETOF record
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 1000
AS 'MODULE_PATHNAME', 'twt_late_queued';

/*
 * twtasks_internal.late_not_queued(cap, moment)
 *
 *		late_queued() for those in the index of times: those due for the longest.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.late_not_queued(
	cap integer, moment timestamptz,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text,
	OUT priority smallint, OUT status twtasks.task_status, OUT created timestamptz,
	OUT state_time timestamptz, OUT tries integer, OUT incarnation bigint,
	OUT next_event_time timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT r.id, r.version, r.type, r.sub_type, r.bucket, r.priority, r.status, r.created,
		   r.state_time, r.tries, r.incarnation,
		   CASE r.status WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time)
						 ELSE r.next_event_time END
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < moment
		  ORDER BY t.next_event_time LIMIT cap) r
	WHERE CASE r.status WHEN 'WAITING' THEN r.next_event_time < moment - interval '1 minute'
						WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time) < moment END
$$;
