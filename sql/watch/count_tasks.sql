/*
 * twtasks.count_tasks(cap integer, groups integer)
 *
 *		Counts live tasks by bucket, type and status.  Reads only a part of the
 *		tasks, so that it is quick however many there are.
 *
 * Parameters
 *		cap				the most tasks that are counted of each group of bucket,
 *						type and priority in the queue; also of tasks that wait for
 *						a time, and of tasks in ERROR or HELD.  Three times cap is
 *						the limit for the whole queue, but three tasks of each
 *						group are counted in any case.  NULL: count all, which
 *						reads the whole live table
 *		groups			the most groups that are looked at, 1 to 1000000; each costs
 *						one descent of an index.  NULL: 10,000, or cap if it is
 *						larger
 *
 * Returns
 *		bucket, type, status
 *		tasks			their number
 *		capped			true: there may be more, also in other statuses, and also
 *						groups that follow the last one
 *		oldest			state_time of the oldest counted task.  The queue is counted
 *						from small ids, which are the oldest unless callers gave
 *						the ids
 *		most_tries		the most tries of a counted task
 *		newest			state_time of the newest counted task
 *
 * Errors
 *		22023			cap is less than 1, or groups is out of range
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.count_tasks(100, groups => 100000);
 */
CREATE FUNCTION twtasks.count_tasks(
	cap integer,
	groups integer,
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
SET jit = off
AS $$
BEGIN
	IF cap < 1 THEN
		RAISE EXCEPTION 'cap must be at least 1, not %', cap
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'NULL counts all tasks, however many there are.';
	ELSIF groups NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'groups must be between 1 and 1000000, not %', groups
			USING ERRCODE = 'invalid_parameter_value';
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
			  FROM twtasks_internal.count_queued(cap, twtasks.clock(), coalesce(groups, greatest(cap, 10000))) q
			  UNION ALL
			  SELECT n.* FROM twtasks_internal.count_not_queued(cap) n) c
		GROUP BY c.bucket, c.type, c.status;
	END IF;
END $$;

/*
 * twtasks.count_tasks(cap integer)
 *
 *		As count_tasks(cap, groups), with the usual bound of groups.
 *
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
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$ SELECT c.* FROM twtasks.count_tasks(cap, NULL) c $$;

/*
 * twtasks_internal.count_queued(cap, moment, groups)
 *
 *		As count_tasks(), for tasks in the index of the queue: SUBMITTED, or
 *		PROCESSING and not accepted.  A row for each bucket, type, priority and
 *		status.
 *
 * Returns
 *		as count_tasks(), and
 *		late			number of tasks that should have moved on before that moment
 *		newest_late		the last time at which one of them should have
 */
CREATE FUNCTION twtasks_internal.count_queued(
	cap integer, moment timestamptz, groups integer DEFAULT 10000,
	OUT bucket text, OUT type text, OUT status twtasks.task_status,
	OUT tasks bigint, OUT capped boolean, OUT oldest timestamptz, OUT most_tries integer,
	OUT newest timestamptz, OUT late bigint, OUT newest_late timestamptz)
RETURNS SETOF record
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_count_queued';

/*
 * twtasks_internal.count_not_queued(cap)
 *
 *		As count_tasks(), for tasks in the index of times: first those with a
 *		time, then those that wait for a person.
 */
CREATE FUNCTION twtasks_internal.count_not_queued(cap integer)
RETURNS TABLE (bucket text, type text, status twtasks.task_status, tasks bigint,
			   capped boolean, oldest timestamptz, most_tries integer,
			   newest timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET jit = off
AS $$
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= count_not_queued.cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < 'infinity'
		  ORDER BY t.next_event_time LIMIT count_not_queued.cap) r
	GROUP BY r.bucket, r.type, r.status
	UNION ALL
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= count_not_queued.cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity'
		  ORDER BY t.next_event_time LIMIT count_not_queued.cap) r
	GROUP BY r.bucket, r.type, r.status
$$;

/*
 * twtasks_internal.count_errors(cap)
 *
 *		Counts tasks in ERROR when many HELD tasks hide them from count_tasks():
 *		both have the same place in the index.  Reads HELD tasks until cap tasks
 *		in ERROR are found, and so all of them if there are fewer.
 *
 * Returns
 *		tasks			their number, at most cap
 *		newest			state_time of the newest
 */
CREATE FUNCTION twtasks_internal.count_errors(cap integer, OUT tasks bigint, OUT newest timestamptz)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET jit = off
AS $$
	SELECT count(*), max(r.state_time)
	FROM (SELECT t.state_time FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity' AND t.status = 'ERROR'
		  ORDER BY t.next_event_time LIMIT count_errors.cap) r
$$;
