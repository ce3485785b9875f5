-- before:
/*
 * twtasks_internal.spread(elements, n)
 *
 *		An array with one element per task: a single element stands for all.
 *
 * Errors
 *		22023			it has neither n elements nor one
 */
CREATE FUNCTION twtasks_internal.spread(elements anyarray, n integer)
RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF cardinality(elements) = n THEN
		RETURN elements;
	ELSIF cardinality(elements) <> 1 THEN
		RAISE EXCEPTION 'arrays must have one length'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give one element for each of ids, or one for all.';
	END IF;
	RETURN array_fill(elements[array_lower(elements, 1)], ARRAY[n]);
END $$;

/*
 * twtasks_internal.check_places(places, n)
 *
 *		Raises an error unless there are n places, or none.  The twins find rows by id alone.
 */
CREATE FUNCTION twtasks_internal.check_places(places tid[], n integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF cardinality(places) NOT IN (0, n) THEN
		RAISE EXCEPTION 'places must have one element for each of ids, or none'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.runs_on(type, bucket, node)
 *
 *		Whether the node may start such a task: neither type nor bucket is paused, and the
 *		policy names no other nodes.
 */
CREATE FUNCTION twtasks_internal.runs_on(type text, bucket text, node text)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT NOT twtasks.is_paused(runs_on.type, runs_on.bucket)
		AND (p.nodes IS NULL OR EXISTS (SELECT FROM unnest(p.nodes) n WHERE twtasks_internal.fits(n, runs_on.node) IS NOT NULL))
	FROM twtasks.policy_of(runs_on.type) p
$$;

/*
 * twtasks_internal.grab_free(ids, versions, timeouts_ms, stuck, types, buckets, node, incarnation, token)
 *
 *		grab_tasks() without limits of the cluster.
 */
CREATE FUNCTION twtasks_internal.grab_free(
	ids uuid[], versions bigint[], timeouts_ms bigint[], stuck twtasks.stuck_rule[], types text[], buckets text[],
	node text, incarnation bigint, token bigint,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text, OUT priority smallint, OUT tries integer,
	OUT grabbed timestamptz, OUT data jsonb, OUT payload bytea, OUT context jsonb, OUT key text, OUT place tid, OUT runnable timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
	now timestamptz;
	is_any_type boolean;
	is_any_bucket boolean;
	runs_all boolean;
BEGIN
	SELECT twtasks.clock(), cardinality(types) = 0, cardinality(buckets) = 0,
		   NOT EXISTS (SELECT FROM twtasks.pause) AND NOT EXISTS (SELECT FROM twtasks.type_policy p WHERE p.options ? 'nodes')
	INTO now, is_any_type, is_any_bucket, runs_all;
	RETURN QUERY
	UPDATE twtasks.task t
	SET status = 'PROCESSING', version = t.version + 1, tries = t.tries + 1, state_time = now,
		-- 100 years
		deadline = now + least(w.timeout_ms, 3153600000000) * interval '1 millisecond',
		incarnation = grab_free.incarnation, token = grab_free.token, stuck = w.stuck
	FROM (SELECT u.timeout_ms, u.stuck, l.place, l.runnable
		  FROM unnest(ids, versions, timeouts_ms, grab_free.stuck, types) u(id, version, timeout_ms, stuck, type)
		  CROSS JOIN LATERAL (
				SELECT s.ctid AS place, s.state_time AS runnable FROM twtasks.task s
				WHERE s.id = u.id AND s.version = u.version AND s.status = 'SUBMITTED'
				  AND (s.expires IS NULL OR s.expires > now)
				  AND (is_any_type OR s.type = u.type)
				  AND (is_any_bucket OR s.bucket = ANY (buckets))
				  AND (runs_all OR twtasks_internal.runs_on(s.type, s.bucket, node))
				FOR UPDATE SKIP LOCKED) l
		  WHERE u.timeout_ms IS NOT NULL) w
	WHERE t.ctid = w.place
	RETURNING t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries, now, t.data, t.payload, t.context, t.key,
			  t.ctid, w.runnable;
END $$;

-- twin: twt_grab_tasks LANGUAGE plpgsql
DECLARE
	n CONSTANT integer := cardinality(ids);
	is_held boolean;
	node text;
	won bigint;
	is_limited boolean;
BEGIN
	-- A call of a function takes as long as a row, and most callers give all arrays in full.
	IF NOT (cardinality(places) IN (0, n) AND cardinality(versions) = n AND cardinality(timeouts_ms) = n AND cardinality(stuck) = n
		AND cardinality(types) IN (0, n)) IS TRUE THEN
		PERFORM twtasks_internal.check_places(places, n);
		versions := twtasks_internal.spread(versions, n);
		timeouts_ms := twtasks_internal.spread(timeouts_ms, n);
		stuck := twtasks_internal.spread(stuck, n);
		types := CASE WHEN cardinality(types) = 0 THEN types ELSE twtasks_internal.spread(types, n) END;
	END IF;
	IF array_position(stuck, NULL) IS NOT NULL THEN
		RAISE EXCEPTION 'a stuck rule must not be null' USING ERRCODE = 'not_null_violation';
	ELSIF 0 > ANY (timeouts_ms) THEN
		RAISE EXCEPTION 'timeouts must not be negative' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- The look at the node's lock comes before that at its row, as in node_may_grab() of src/node/node.c.  A node grabs in
	-- several sessions, of which one holds its lock.
	SELECT twtasks_internal.holder_of(twtasks_internal.node_lock(incarnation)) IS NOT NULL INTO is_held
	FROM twtasks_internal.settings('enabled') e(value)
	WHERE e.value::boolean AND twtasks_internal.adoption_fault() IS NULL;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	SELECT d.name, EXISTS (SELECT FROM twtasks.limit_rule r WHERE r.scope = 'cluster') AND twtasks_internal.are_limited(types)
	INTO node, is_limited
	FROM twtasks.node d
	WHERE d.incarnation = grab_tasks.incarnation AND d.ended IS NULL
	  AND (is_held AND d.missing_since IS NULL
		   -- This transaction has made it.
		   OR age(d.xmin) <= 0 AND pg_xact_status((pg_current_xact_id()::text::bigint - age(d.xmin))::text::xid8) = 'in progress');
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF is_limited THEN
		RETURN QUERY SELECT g.* FROM twtasks_internal.grab_limited(ids, versions, timeouts_ms, stuck, types, buckets, node, incarnation, token) g;
	ELSE
		RETURN QUERY SELECT g.* FROM twtasks_internal.grab_free(ids, versions, timeouts_ms, stuck, types, buckets, node, incarnation, token) g;
	END IF;
	GET DIAGNOSTICS won = ROW_COUNT;
	-- A crash of the server may lose this grab.  Slots must not be lost.
	IF NOT durable AND won > 0 AND NOT is_limited AND 'retry' = ANY (stuck) AND NOT twtasks_internal.must_last(ids, incarnation, token) THEN
		PERFORM set_config('synchronous_commit', 'off', true);
	END IF;
END

-- after:
/*
 * twtasks_internal.must_last(ids, incarnation, token)
 *
 *		Whether a crash must not lose this grab, since a task of it must not run again at
 *		once.
 */
CREATE FUNCTION twtasks_internal.must_last(ids uuid[], incarnation bigint, token bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
	RETURN EXISTS (
		SELECT FROM unnest(ids) u(id) JOIN twtasks.task t ON t.id = u.id
		WHERE t.status = 'PROCESSING' AND t.incarnation = must_last.incarnation AND t.token = must_last.token
		  AND (t.stuck <> 'retry' OR (SELECT p.takeover FROM twtasks.policy_of(t.type) p) = 'deadline'));
END $$;
