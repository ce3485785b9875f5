/*
 * twtasks_internal.quantile(tries, share)
 *
 *		The time within which that share of tries stayed, from the counts of
 *		twtasks.flow.wait or run.  Tries count as spread evenly between two bounds,
 *		and those above an hour as an hour.
 *
 * Returns
 *		seconds; NULL: there are no tries
 */
CREATE FUNCTION twtasks_internal.quantile(tries bigint[], share double precision)
RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	bounds CONSTANT double precision[] := '{0,0.00025,0.0005,0.001,0.0025,0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10,30,60,300,900,3600,3600}';
	above double precision := 0;
BEGIN
	FOR n IN 1 .. 21 LOOP
		above := above + tries[n];
	END LOOP;
	above := above * share;
	FOR n IN 1 .. 21 LOOP
		IF tries[n] > 0 AND above <= tries[n] THEN
			RETURN round((bounds[n] + (bounds[n + 1] - bounds[n]) * above / tries[n])::numeric, 6);
		END IF;
		above := above - tries[n];
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.recent_adds(most)
 *
 *		The newest tasks that were added in the last hour, live
 *		and finished.  Ids that callers gave are not in the order of time, so most of
 *		these tasks are left out.
 *
 * Parameters
 *		most			at most this many
 *
 * Returns
 *		looked_back_to	the call saw all tasks that were added since then; the same in
 *						all rows
 */
CREATE FUNCTION twtasks_internal.recent_adds(most integer, OUT type text, OUT created timestamptz, OUT looked_back_to timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_incremental_sort = off
SET jit = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	-- Ids begin with the time in milliseconds, unless callers gave them.
	first CONSTANT uuid := rpad(lpad(to_hex((extract(epoch FROM moment - interval '1 hour') * 1000)::bigint), 12, '0'), 32, '0');
	last CONSTANT uuid := rpad(lpad(to_hex((extract(epoch FROM moment + interval '1 second') * 1000)::bigint), 12, '0'), 32, '0');
BEGIN
	RETURN QUERY
	SELECT r.type, r.created, max(CASE WHEN r.n = most THEN r.created ELSE moment - interval '1 hour' END) OVER ()
	FROM (SELECT u.type, u.created, row_number() OVER (ORDER BY u.id DESC) AS n
		  FROM ((SELECT t.id, t.type, t.created FROM twtasks.task t
				 WHERE t.id >= first AND t.id < last ORDER BY t.id DESC LIMIT most)
				UNION ALL
				(SELECT f.id, f.type, f.created FROM twtasks.finished_task f
				 WHERE f.id >= first AND f.id < last AND f.state_time >= moment - interval '2 hours' ORDER BY f.id DESC LIMIT most)) u
		  ORDER BY u.id DESC LIMIT most) r;
END $$;

/*
 * twtasks_internal.type_tries(pattern)
 *
 *		The tries of the last ten minutes and their ends, by type, from the newest
 *		20,000 rows of twtasks.flow.
 *
 * Returns
 *		type			NULL: all types of the pattern together
 *		waits, runs		sums of twtasks.flow.wait and run
 */
CREATE FUNCTION twtasks_internal.type_tries(
	pattern text, OUT type text, OUT started bigint, OUT done bigint, OUT failed bigint, OUT errors bigint, OUT retried bigint,
	OUT waits bigint[], OUT runs bigint[])
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 200
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
	SELECT f.type, sum(f.started::integer), sum(f.done::integer), sum(f.failed::integer), sum(f.errors::integer), sum(f.retried::integer),
		   CASE WHEN count(f.wait) > 0 THEN ARRAY[
				sum(f.wait[1]::integer), sum(f.wait[2]::integer), sum(f.wait[3]::integer), sum(f.wait[4]::integer), sum(f.wait[5]::integer),
				sum(f.wait[6]::integer), sum(f.wait[7]::integer), sum(f.wait[8]::integer), sum(f.wait[9]::integer), sum(f.wait[10]::integer),
				sum(f.wait[11]::integer), sum(f.wait[12]::integer), sum(f.wait[13]::integer), sum(f.wait[14]::integer), sum(f.wait[15]::integer),
				sum(f.wait[16]::integer), sum(f.wait[17]::integer), sum(f.wait[18]::integer), sum(f.wait[19]::integer), sum(f.wait[20]::integer),
				sum(f.wait[21]::integer)] END,
		   CASE WHEN count(f.run) > 0 THEN ARRAY[
				sum(f.run[1]::integer), sum(f.run[2]::integer), sum(f.run[3]::integer), sum(f.run[4]::integer), sum(f.run[5]::integer),
				sum(f.run[6]::integer), sum(f.run[7]::integer), sum(f.run[8]::integer), sum(f.run[9]::integer), sum(f.run[10]::integer),
				sum(f.run[11]::integer), sum(f.run[12]::integer), sum(f.run[13]::integer), sum(f.run[14]::integer), sum(f.run[15]::integer),
				sum(f.run[16]::integer), sum(f.run[17]::integer), sum(f.run[18]::integer), sum(f.run[19]::integer), sum(f.run[20]::integer),
				sum(f.run[21]::integer)] END
	FROM (SELECT w.* FROM twtasks.flow w
		  WHERE w.at >= (SELECT twtasks.clock() - interval '10 minutes') AND w.at <= (SELECT twtasks.clock()) AND w.step < interval '1 hour'
		  ORDER BY w.at DESC LIMIT 20000) f
	WHERE twtasks_internal.fits(type_tries.pattern, f.type) IS NOT NULL
	GROUP BY GROUPING SETS ((f.type), ())
$$;

/*
 * twtasks_internal.worst_types(most)
 *
 *		Types whose oldest tasks have waited for long, or that have many tasks in
 *		ERROR, retried or waiting tasks, at the last count: some times as many as asked
 *		for.  Reads the count once for each, and sorts only the first ones.
 */
CREATE FUNCTION twtasks_internal.worst_types(most integer)
RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	(SELECT m.type FROM twtasks.monitor_type m WHERE m.status = 'SUBMITTED' ORDER BY m.oldest, m.type LIMIT worst_types.most)
	UNION
	(SELECT m.type FROM twtasks.monitor_type m WHERE m.status = 'ERROR' ORDER BY m.tasks DESC, m.type LIMIT worst_types.most)
	UNION
	(SELECT m.type FROM twtasks.monitor_type m ORDER BY m.retrying DESC, m.tasks DESC, m.type LIMIT worst_types.most)
$$;

/*
 * twtasks_internal.type_counts(types)
 *
 *		The last count of the leader, by type.
 *
 * Returns
 *		columns of type_loads()
 */
CREATE FUNCTION twtasks_internal.type_counts(
	types text[], OUT type text, OUT bucket text, OUT submitted bigint, OUT waiting bigint, OUT processing bigint, OUT errors bigint,
	OUT held bigint, OUT retrying bigint, OUT capped boolean, OUT oldest timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 200
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT m.type, CASE WHEN min(m.bucket) = max(m.bucket) THEN min(m.bucket) END,
		   coalesce(sum(m.tasks) FILTER (WHERE m.status = 'SUBMITTED'), 0)::bigint, coalesce(sum(m.tasks) FILTER (WHERE m.status = 'WAITING'), 0)::bigint,
		   coalesce(sum(m.tasks) FILTER (WHERE m.status = 'PROCESSING'), 0)::bigint, coalesce(sum(m.tasks) FILTER (WHERE m.status = 'ERROR'), 0)::bigint,
		   coalesce(sum(m.tasks) FILTER (WHERE m.status = 'HELD'), 0)::bigint, sum(m.retrying)::bigint,
		   bool_or(m.capped), min(m.oldest) FILTER (WHERE m.status = 'SUBMITTED')
	FROM twtasks.monitor_type m
	WHERE m.type IN (SELECT t.type COLLATE "C" FROM unnest(type_counts.types) t(type))
	GROUP BY m.type
$$;

/*
 * twtasks_internal.fullest_limit(type, limits)
 *
 *		The one of some limits that counts a type and has the fewest free slots.
 *
 * Parameters
 *		limits			arrays of limits: pattern, name, slots, used
 */
CREATE FUNCTION twtasks_internal.fullest_limit(
	type text, patterns text[], names text[], slots integer[], used bigint[],
	OUT slots_limit text, OUT all_slots integer, OUT used_slots bigint)
RETURNS record
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT l.name, l.slots, l.used
	FROM unnest(patterns, names, slots, used) l(pattern, name, slots, used)
	WHERE starts_with(fullest_limit.type, rtrim(l.name, '*')) AND twtasks.limit_name(l.pattern, fullest_limit.type) = l.name
	ORDER BY l.used::double precision / greatest(l.slots, 1) DESC, l.slots, l.name LIMIT 1
$$;

/*
 * twtasks.type_loads(pattern, after, max_types, worst_first)
 *
 *		Types with live tasks or tries in the last ten minutes: the last count of the
 *		leading sidecar, rates and times.  Reads a bounded number of rows, and no
 *		task but the newest 1,000.
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *
 *		after			only types whose names are behind this one; NULL: all
 *		max_types		at most this many, 1 to 1000
 *		worst_first		true: in the order of how long their oldest task has waited, as if
 *						it was five minutes more for a type with tasks in ERROR; false: in
 *						the order of their names
 *
 * Returns
 *		type			NULL: all types together, in the first row, if the pattern is *
 *		bucket			NULL: several, or no live task
 *		submitted ... held	live tasks by status
 *		retrying		tasks that have been tried and will be tried again
 *		capped			true: there may be more than that
 *		oldest			time since when the oldest task could run
 *		in_per_min		tasks added per minute, from the newest 1,000 tasks of all types
 *						within ten minutes; without most tasks whose ids callers gave.
 *						NULL: none of these is of the type
 *		started_per_min ... retried_per_min	tries per minute, from the newest 20,000 rows
 *						of twtasks.flow within ten minutes
 *		retry_percent	tries that are repeated, of all that ended
 *		p95_wait, p95_run	seconds within which 95 % of the tries waited, and ran; NULL:
 *						none was measured
 *		slots, slots_used, slots_limit	of the fullest limit of the cluster, by its name; NULL:
 *						none has slots in use
 *		is_paused		whether the type or its bucket is paused
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			max_types is out of range
 *
 * Locks		none
 * Example		SELECT type, submitted, oldest, p95_run FROM twtasks.type_loads(worst_first => true);
 */
CREATE FUNCTION twtasks.type_loads(
	pattern text DEFAULT '*', after text DEFAULT NULL, max_types integer DEFAULT 200, worst_first boolean DEFAULT false,
	OUT type text, OUT bucket text, OUT submitted bigint, OUT waiting bigint, OUT processing bigint, OUT errors bigint, OUT held bigint,
	OUT retrying bigint, OUT capped boolean, OUT oldest timestamptz, OUT in_per_min numeric, OUT started_per_min numeric, OUT done_per_min numeric,
	OUT failed_per_min numeric, OUT errors_per_min numeric, OUT retried_per_min numeric, OUT retry_percent numeric,
	OUT p95_wait numeric, OUT p95_run numeric, OUT slots integer, OUT slots_used bigint, OUT slots_limit text, OUT is_paused boolean)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	-- type_tries() reads no more rows than that.
	minutes CONSTANT numeric := coalesce((
		SELECT greatest(extract(epoch FROM moment - f.at) / 60, 1)
		FROM (SELECT w.at FROM twtasks.flow w
			  WHERE w.at >= moment - interval '10 minutes' AND w.at <= moment AND w.step < interval '1 hour'
			  ORDER BY w.at DESC OFFSET 19999 LIMIT 1) f), 10);
	is_any CONSTANT boolean := pattern = '*';
	-- The limits of most use, since each is compared with each type.
	l record;
BEGIN
	IF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, or the beginning of types and a *; "*" means all.';
	ELSIF max_types IS NULL OR max_types NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'max_types must be between 1 and 1000, not %', coalesce(max_types::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give the last type as "after" for the next ones.';
	END IF;
	SELECT array_agg(f.pattern) AS patterns, array_agg(f.name) AS names, array_agg(f.concurrency) AS slots, array_agg(f.used) AS used
	INTO l FROM (SELECT * FROM twtasks.limits v WHERE v.used > 0 AND v.concurrency IS NOT NULL ORDER BY v.used DESC, v.name LIMIT 200) f;
	RETURN QUERY
	WITH added AS MATERIALIZED (
		SELECT a.type AS type, count(*) * 60
			/ greatest(extract(epoch FROM moment - greatest(min(a.looked_back_to), moment - interval '10 minutes')), 1) AS per_min
		FROM twtasks_internal.recent_adds(1000) a
		WHERE a.created >= moment - interval '10 minutes' AND twtasks_internal.fits(type_loads.pattern, a.type) IS NOT NULL
		GROUP BY GROUPING SETS ((a.type), ())),
	tries AS MATERIALIZED (SELECT r.* FROM twtasks_internal.type_tries(type_loads.pattern) r),
	named AS MATERIALIZED (
		SELECT w.type FROM twtasks_internal.worst_types(max_types) w(type) WHERE worst_first AND is_any
		UNION
		SELECT m.type FROM twtasks.monitor_type m
		WHERE NOT (worst_first AND is_any) AND NOT coalesce(m.type <= type_loads.after, false)
		  AND (is_any OR twtasks_internal.fits(type_loads.pattern, m.type) IS NOT NULL)
		UNION
		SELECT r.type FROM tries r WHERE r.type IS NOT NULL AND NOT coalesce(r.type <= type_loads.after, false)
		ORDER BY 1 LIMIT CASE WHEN NOT worst_first THEN max_types END),
	chosen AS MATERIALIZED (
		SELECT NULL AS type, NULL AS bucket, m.submitted, m.waiting, m.processing, m.errors, m.held, m.retrying, m.capped, m.oldest_submitted AS oldest, 0::bigint AS place
		FROM (VALUES (1)) one LEFT JOIN twtasks.monitor_look m ON true WHERE is_any
		UNION ALL
		(SELECT n.type, c.bucket, c.submitted, c.waiting, c.processing, c.errors, c.held, c.retrying, c.capped, c.oldest, row_number() OVER (ORDER BY
			CASE WHEN worst_first THEN coalesce(extract(epoch FROM moment - c.oldest), 0) + CASE WHEN c.errors > 0 THEN 300 ELSE 0 END END DESC,
			CASE WHEN worst_first THEN coalesce(c.errors, 0) END DESC, n.type)
		 FROM named n LEFT JOIN twtasks_internal.type_counts(ARRAY(SELECT a.type FROM named a)) c ON c.type = n.type
		 ORDER BY 11 LIMIT max_types))
	SELECT h.type, h.bucket, coalesce(h.submitted, 0), coalesce(h.waiting, 0), coalesce(h.processing, 0), coalesce(h.errors, 0), coalesce(h.held, 0), coalesce(h.retrying, 0), coalesce(h.capped, false), h.oldest,
		   round(a.per_min, 1), round(coalesce(t.started, 0) / minutes, 1), round(coalesce(t.done, 0) / minutes, 1),
		   round(coalesce(t.failed, 0) / minutes, 1), round(coalesce(t.errors, 0) / minutes, 1), round(coalesce(t.retried, 0) / minutes, 1),
		   round(100.0 * t.retried / nullif(t.done + t.failed + t.errors + t.retried, 0), 1),
		   twtasks_internal.quantile(t.waits, 0.95), twtasks_internal.quantile(t.runs, 0.95),
		   m.all_slots, m.used_slots, m.slots_limit,
		   CASE WHEN h.type IS NOT NULL THEN twtasks.is_paused(h.type, coalesce(h.bucket, 'default')) END
	FROM chosen h
	LEFT JOIN added a ON coalesce(a.type, '') = coalesce(h.type, '')
	LEFT JOIN tries t ON coalesce(t.type, '') = coalesce(h.type, '')
	LEFT JOIN LATERAL twtasks_internal.fullest_limit(h.type, l.patterns, l.names, l.slots, l.used) m ON h.type IS NOT NULL
	ORDER BY h.place;
END $$;

/*
 * twtasks.recent_minutes(type)
 *
 *		The last hour, a row for each minute of which a sidecar told something, from
 *		the newest 50,000 rows of twtasks.flow.  A minute that has further rows is left out.
 *
 * Parameters
 *		type			NULL: all types
 *
 * Returns
 *		at				begin of the minute
 *		added			tasks that were added; NULL: not known, since 1,000 were added after
 *						it.  Without most tasks whose ids callers gave
 *		started ... retried	as in twtasks.flow
 *
 * Locks		none
 * Example		SELECT at, added, done, errors FROM twtasks.recent_minutes('PAYOUT');
 */
CREATE FUNCTION twtasks.recent_minutes(
	type text DEFAULT NULL, OUT at timestamptz, OUT added bigint, OUT started bigint, OUT done bigint, OUT failed bigint,
	OUT errors bigint, OUT retried bigint)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 60
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
	WITH recent AS MATERIALIZED (SELECT a.* FROM twtasks_internal.recent_adds(1000) a),
	seen AS MATERIALIZED (SELECT coalesce(min(r.looked_back_to), '-infinity') AS back_to FROM recent r),
	adds AS MATERIALIZED (
		SELECT date_trunc('minute', r.created) AS at, count(*) AS added
		FROM recent r CROSS JOIN seen s
		WHERE date_trunc('minute', r.created) >= s.back_to AND (recent_minutes.type IS NULL OR r.type = recent_minutes.type)
		GROUP BY 1),
	tries AS MATERIALIZED (
		SELECT date_trunc('minute', g.at) AS at, sum(g.started) FILTER (WHERE g.fits)::bigint AS started, sum(g.done) FILTER (WHERE g.fits)::bigint AS done,
			   sum(g.failed) FILTER (WHERE g.fits)::bigint AS failed, sum(g.errors) FILTER (WHERE g.fits)::bigint AS errors,
			   sum(g.retried) FILTER (WHERE g.fits)::bigint AS retried, bool_or(g.fits) AS fits,
			   sum(sum(g.rows)) OVER (ORDER BY date_trunc('minute', g.at) DESC) > 50000 AS is_cut
		FROM (SELECT f.at, recent_minutes.type IS NULL OR f.type = recent_minutes.type AS fits, count(*) AS rows,
					 sum(f.started::integer) AS started, sum(f.done::integer) AS done, sum(f.failed::integer) AS failed,
					 sum(f.errors::integer) AS errors, sum(f.retried::integer) AS retried
			  FROM (SELECT w.at, w.type, w.started, w.done, w.failed, w.errors, w.retried FROM twtasks.flow w
					WHERE w.at >= (SELECT date_trunc('minute', twtasks.clock()) - interval '59 minutes') AND w.at <= (SELECT twtasks.clock())
					  AND w.step < interval '1 hour'
					ORDER BY w.at DESC LIMIT 50001) f
			  GROUP BY f.at, 2) g
		GROUP BY 1)
	SELECT coalesce(t.at, a.at), CASE WHEN coalesce(t.at, a.at) >= s.back_to THEN coalesce(a.added, 0) END,
		   coalesce(t.started, 0), coalesce(t.done, 0), coalesce(t.failed, 0), coalesce(t.errors, 0), coalesce(t.retried, 0)
	FROM (SELECT y.* FROM tries y WHERE y.fits AND NOT y.is_cut) t FULL JOIN adds a ON a.at = t.at CROSS JOIN seen s
	ORDER BY 1 DESC LIMIT 60
$$;
