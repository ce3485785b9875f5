/*
 * twtasks.find_stuck(max_each)
 *
 *		Tasks that should have moved on, newest first.  Reads only a part of the
 *		tasks, as count_tasks() does with a cap of max_each, but at least 1000,
 *		and shows at most that many of the queue.  If more are late, each
 *		bucket, type and priority has an equal share, and at least one task.  A
 *		share begins with small ids, which have waited longest unless callers
 *		gave the ids.  Tasks outside the queue begin with the longest due.
 *
 * Parameters
 *		max_each		at most this many of each bucket, type and priority in the queue,
 *						and of each bucket, type and status outside it
 *
 * Returns
 *		id ... tries	of the task
 *		node			PROCESSING: the node that runs it
 *		why				the likely reason
 *		since			time at which it should have moved on
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
 *		The rows of the queue for find_stuck(): tasks without payloads, with the
 *		time from which the task is late as next_event_time.  Reads the same
 *		tasks as count_queued() with that cap.
 *
 * Returns
 *		place			number of late tasks of its bucket, type and priority up to
 *						this one
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
 *		As late_queued(), for tasks in the index of times: the longest due.
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
SET jit = off
AS $$
	SELECT r.id, r.version, r.type, r.sub_type, r.bucket, r.priority, r.status, r.created,
		   r.state_time, r.tries, r.incarnation,
		   CASE r.status WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time)
						 ELSE r.next_event_time END
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < late_not_queued.moment
		  ORDER BY t.next_event_time LIMIT late_not_queued.cap) r
	WHERE CASE r.status WHEN 'WAITING' THEN r.next_event_time < late_not_queued.moment - interval '1 minute'
						WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time) < late_not_queued.moment END
$$;
