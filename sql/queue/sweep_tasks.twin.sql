-- before:
/*
 * twtasks_internal.next_queued_type(bucket, type)
 *
 *		The type after that one, in order, of which the bucket has tasks in the queue;
 *		NULL: there is none.
 */
CREATE FUNCTION twtasks_internal.next_queued_type(bucket text, type text)
RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
	RETURN (
		SELECT t.type FROM twtasks.task t
		WHERE t.bucket = next_queued_type.bucket AND t.queued AND t.type > next_queued_type.type
		ORDER BY t.type LIMIT 1);
END $$;

/*
 * twtasks_internal.sweep_aging(bucket, kind, aging, wanted, share, shares)
 *
 *		As sweep_tasks(), for a type whose tasks rise as they wait.  In each priority those
 *		with the smallest ids, which mostly have waited longest, are the first to rise.
 */
CREATE FUNCTION twtasks_internal.sweep_aging(bucket text, kind text, aging interval, wanted bigint, share integer, shares integer)
RETURNS TABLE (id uuid, version bigint, type text, priority smallint, size integer, place tid)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $$
DECLARE
	now CONSTANT timestamptz := twtasks.clock();
	length CONSTANT double precision := extract(epoch FROM aging);
BEGIN
	RETURN QUERY
	SELECT r.id, r.version, r.type, r.risen, r.size, r.ctid
	FROM (
		-- A task comes after those before it in its priority, even if it has risen higher.
		SELECT l.*, max(l.risen * 100000000000000000 + floor(extract(epoch FROM l.state_time) * 1000000)) OVER (PARTITION BY n ORDER BY l.id) AS turn
		FROM generate_series(0, 9) n
		CROSS JOIN LATERAL (
			SELECT t.id, t.version, t.type, t.size, t.ctid, t.state_time,
				   least(t.priority, greatest(1, t.priority - floor(greatest(extract(epoch FROM now - t.state_time), 0) / length)))::smallint AS risen
			FROM twtasks.task t
			WHERE t.bucket = sweep_aging.bucket AND t.type = kind AND t.priority BETWEEN n::smallint AND n::smallint AND t.queued
			  AND t.status = 'SUBMITTED' AND (t.expires IS NULL OR t.expires > now)
			  AND (shares <= 1 OR abs(uuid_hash(t.id)::bigint) % shares = share)
			ORDER BY t.priority, t.id LIMIT wanted) l) r
	ORDER BY r.turn, r.id LIMIT wanted;
END $$;

/*
 * twtasks_internal.sweep_type(bucket, kind, after_priority, after_id, wanted, share, shares)
 *
 *		As sweep_tasks(), for one type: the most urgent tasks after that one.
 */
CREATE FUNCTION twtasks_internal.sweep_type(
	bucket text, kind text, after_priority smallint, after_id uuid, wanted bigint, share integer, shares integer)
RETURNS TABLE (id uuid, version bigint, type text, priority smallint, size integer, place tid)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
DECLARE
	now CONSTANT timestamptz := twtasks.clock();
BEGIN
	RETURN QUERY
	SELECT t.id, t.version, t.type, t.priority, t.size, t.ctid FROM twtasks.task t
	WHERE t.bucket = sweep_type.bucket AND t.type = kind AND t.queued AND (t.priority, t.id) > (after_priority, after_id)
	  AND t.status = 'SUBMITTED' AND (t.expires IS NULL OR t.expires > now)
	  AND (shares <= 1 OR abs(uuid_hash(t.id)::bigint) % shares = share)
	ORDER BY t.priority, t.id LIMIT wanted;
END $$;

-- twin: twt_sweep_tasks LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	-- The index leads from type to type, so that a large backlog of one holds up no other.
	kind text := '';
	-- A list may have hundreds of thousands of types; keys of an object are searched.
	skipped jsonb;
	rest bigint := most;
	wanted bigint;
	aging interval;
	mark_priority smallint;
	mark_id uuid;
	got bigint;
	with_pauses boolean;
	with_aging boolean;
BEGIN
	SELECT (SELECT jsonb_object_agg(s, true) FROM unnest(skip) s WHERE s IS NOT NULL),
		   EXISTS (SELECT FROM twtasks.pause), EXISTS (SELECT FROM twtasks.type_policy)
	INTO skipped, with_pauses, with_aging
	WHERE twtasks_internal.adoption_fault() IS NULL;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	LOOP
		kind := twtasks_internal.next_queued_type(bucket, kind);
		EXIT WHEN kind IS NULL;
		CONTINUE WHEN skipped ? kind OR with_pauses AND twtasks.is_paused(kind, bucket);
		wanted := least(per_type, greatest(rest, 1));
		aging := CASE WHEN with_aging THEN (SELECT p.aging FROM twtasks.policy_of(kind) p) END;
		IF aging > '0' THEN
			RETURN QUERY SELECT s.* FROM twtasks_internal.sweep_aging(bucket, kind, aging, wanted, share, shares) s;
		ELSE
			IF cardinality(after) > 0 THEN
				SELECT t.priority, t.id INTO mark_priority, mark_id FROM twtasks.task t WHERE t.id = ANY (after) AND t.type = kind;
			END IF;
			RETURN QUERY SELECT s.* FROM twtasks_internal.sweep_type(bucket, kind, coalesce(mark_priority, -1::smallint),
				coalesce(mark_id, '00000000-0000-0000-0000-000000000000'), wanted, share, shares) s;
		END IF;
		GET DIAGNOSTICS got = ROW_COUNT;
		rest := rest - got;
	END LOOP;
END
