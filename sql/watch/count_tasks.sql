/*
 * twtasks.count_tasks(cap)
 *
 *		Live tasks counted by bucket, type and status.  Reads a part of them only,
 *		so that it may be asked at any time, however many there are.
 *
 * Parameters
 *		cap				so many are counted, at the most, of each bucket, type and
 *						priority in the queue, and three times as many of all of
 *						these together; so many of those that wait for a time, and
 *						so many of those in ERROR or HELD; and so many buckets,
 *						types and priorities are seen.  NULL: count all, which
 *						reads the whole live table
 *
 * Returns
 *		bucket, type, status
 *		tasks			how many
 *		capped			there are at least so many; and tasks of other states may not
 *						have been reached
 *		oldest			state_time of the oldest of those that were counted: in the
 *						queue those of small ids, which are the oldest unless callers
 *						gave the ids
 *		most_tries		of any of them
 *		newest			state_time of the newest of them
 *
 * Errors
 *		22023			cap is less than 1
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.count_tasks(NULL) WHERE type = 'PAYOUT';
 */
CREATE FUNCTION twtasks.count_tasks(
	cap integer DEFAULT 10000,
	OUT bucket text,
	OUT type text,
	OUT status twtasks.task_status,
	OUT tasks bigint,
	OUT capped boolean,
	OUT oldest timestamptz,
	OUT most_tries integer,
	OUT newest timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	IF cap < 1 THEN
		RAISE EXCEPTION 'cap must be at least 1, not %', cap
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'NULL counts all tasks, however many there are.';
	END IF;
	IF cap IS NULL THEN
		RETURN QUERY
		SELECT t.bucket, t.type, t.status, count(*), false, min(t.state_time), max(t.tries),
			   max(t.state_time)
		FROM twtasks.task t GROUP BY t.bucket, t.type, t.status;
	ELSE
		RETURN QUERY
		SELECT c.bucket, c.type, c.status, sum(c.tasks)::bigint, bool_or(c.capped),
			   min(c.oldest), max(c.most_tries), max(c.newest)
		FROM (SELECT q.bucket, q.type, q.status, q.tasks, q.capped, q.oldest, q.most_tries, q.newest
			  FROM twtasks_internal.count_queued(cap, twtasks.clock()) q
			  UNION ALL
			  SELECT n.* FROM twtasks_internal.count_not_queued(cap) n) c
		GROUP BY c.bucket, c.type, c.status;
	END IF;
END $$;

/*
 * twtasks_internal.count_queued(cap, moment)
 *
 *		count_tasks() for those in the index of the queue: SUBMITTED, or PROCESSING
 *		and not accepted.  A row for each bucket, type, priority and status.
 *
 * Returns
 *		as count_tasks(), and
 *		late			how many of those should have moved on before that moment
 *		newest_late		when the last of those should have
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.count_queued(
	cap integer, moment timestamptz,
	OUT bucket text, OUT type text, OUT status twtasks.task_status,
	OUT tasks bigint, OUT capped boolean, OUT oldest timestamptz, OUT most_tries integer,
	OUT newest timestamptz, OUT late bigint, OUT newest_late timestamptz)
RETURNS SETOF record
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_count_queued';

/*
 * twtasks_internal.count_not_queued(cap)
 *
 *		count_tasks() for those in the index of times: first those that have one,
 *		then those that wait for a person.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.count_not_queued(cap integer)
RETURNS TABLE (bucket text, type text, status twtasks.task_status, tasks bigint,
			   capped boolean, oldest timestamptz, most_tries integer,
			   newest timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < 'infinity'
		  ORDER BY t.next_event_time LIMIT cap) r
	GROUP BY r.bucket, r.type, r.status
	UNION ALL
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity'
		  ORDER BY t.next_event_time LIMIT cap) r
	GROUP BY r.bucket, r.type, r.status
$$;

/*
 * twtasks_internal.count_errors(cap)
 *
 *		Tasks in ERROR, which many that are HELD hide from count_tasks(): the index
 *		does not tell them apart.  Reads what is HELD until it has found cap of them,
 *		so all of it when there are less.
 *
 * Returns
 *		tasks			how many; cap at the most
 *		newest			state_time of the newest of them
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.count_errors(cap integer, OUT tasks bigint, OUT newest timestamptz)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT count(*), max(r.state_time)
	FROM (SELECT t.state_time FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity' AND t.status = 'ERROR'
		  ORDER BY t.next_event_time LIMIT cap) r
$$;
