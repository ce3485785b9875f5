-- before:
/*
 * A task as count_queued() and late_queued() read it.  A row without an id ends its
 * group, which is the tasks of one bucket, type and priority.
 */
CREATE TYPE twtasks_internal.queued_task AS (
	bucket text, type text, priority smallint, id uuid, version bigint, sub_type text, status twtasks.task_status,
	created timestamptz, state_time timestamptz, tries integer, incarnation bigint, due timestamptz, capped boolean);
COMMENT ON TYPE twtasks_internal.queued_task IS 'A task as count_queued() and late_queued() read it';

/*
 * twtasks_internal.read_queued(bucket, type, priority, after, most)
 *
 *		Reads on in a group of tasks in the queue: the smallest ids after that one.  They are
 *		sorted by priority as well, since the index of ids alone would be read to its end.
 */
CREATE FUNCTION twtasks_internal.read_queued(bucket text, type text, priority smallint, after uuid, most bigint)
RETURNS SETOF twtasks_internal.queued_task
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
	RETURN QUERY
	SELECT t.bucket, t.type, t.priority, t.id, t.version, t.sub_type, t.status, t.created, t.state_time, t.tries, t.incarnation,
		CASE WHEN t.status = 'SUBMITTED' THEN t.next_event_time ELSE coalesce(t.deadline, t.next_event_time) END, NULL::boolean
	FROM twtasks.task t
	WHERE t.bucket = read_queued.bucket AND t.type = read_queued.type AND t.queued
	  AND (t.priority, t.id) > (read_queued.priority, after) AND t.priority <= read_queued.priority
	ORDER BY t.priority, t.id LIMIT most;
END $$;

/*
 * twtasks_internal.next_queued_group(bucket, type, priority)
 *
 *		The group of tasks in the queue that follows that one; NULL: there is none.
 */
CREATE FUNCTION twtasks_internal.next_queued_group(INOUT bucket text, INOUT type text, INOUT priority smallint)
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
BEGIN
	SELECT t.bucket, t.type, t.priority INTO bucket, type, priority FROM twtasks.task t
	WHERE t.queued AND (t.bucket, t.type, t.priority) > (bucket, type, priority)
	ORDER BY t.bucket, t.type, t.priority LIMIT 1;
END $$;

/*
 * twtasks_internal.sample_queue(cap, groups)
 *
 *		Reads some tasks of each group of the queue, as src/table/count.c does: 3 of each,
 *		and at most cap.  Large groups share what small groups leave of 3 * cap in all.
 */
CREATE FUNCTION twtasks_internal.sample_queue(cap integer, groups integer)
RETURNS SETOF twtasks_internal.queued_task
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lasts twtasks_internal.queued_task[] := '{}';	-- the last task read of each group
	reads bigint[] := '{}';		-- their number
	rest bigint := 3::bigint * cap;
	open integer[] := '{}';		-- groups that may have more
	group_ record;
	step twtasks_internal.queued_task[];
	wanted bigint := least(3, cap);
	n integer := 0;
	i integer;
BEGIN
	group_ := twtasks_internal.next_queued_group('', '', -1::smallint);
	WHILE group_.bucket IS NOT NULL AND n < groups LOOP
		n := n + 1;
		step := ARRAY(SELECT r FROM twtasks_internal.read_queued(group_.bucket, group_.type, group_.priority,
			'00000000-0000-0000-0000-000000000000', wanted) r);
		RETURN QUERY SELECT s.* FROM unnest(step) s;
		lasts[n] := step[cardinality(step)];
		lasts[n].capped := cardinality(step) >= wanted;
		reads[n] := cardinality(step);
		rest := rest - cardinality(step);
		group_ := twtasks_internal.next_queued_group(group_.bucket, group_.type, group_.priority);
	END LOOP;
	LOOP
		open := ARRAY(SELECT u.g FROM unnest(lasts, reads) WITH ORDINALITY
			u(b, t, p, id, v, s, st, c, stt, tr, inc, due, capped, reads, g) WHERE u.capped AND u.reads < cap ORDER BY u.g);
		EXIT WHEN open = '{}' OR rest < cardinality(open);
		wanted := rest / cardinality(open);
		FOREACH i IN ARRAY open LOOP
			step := ARRAY(SELECT r FROM twtasks_internal.read_queued(lasts[i].bucket, lasts[i].type, lasts[i].priority, lasts[i].id,
				least(wanted, cap - reads[i])) r);
			RETURN QUERY SELECT s.* FROM unnest(step) s;
			IF cardinality(step) < least(wanted, cap - reads[i]) THEN
				lasts[i].capped := false;
			ELSE
				lasts[i].id := step[cardinality(step)].id;
			END IF;
			reads[i] := reads[i] + cardinality(step);
			rest := rest - cardinality(step);
		END LOOP;
	END LOOP;
	IF group_.bucket IS NOT NULL AND n > 0 THEN
		lasts[n].capped := true;	-- more groups follow
	END IF;
	FOR i IN 1 .. n LOOP
		lasts[i].id := NULL;
		RETURN NEXT lasts[i];
	END LOOP;
END $$;

-- twin: twt_count_queued LANGUAGE sql
	WITH read AS MATERIALIZED (SELECT s.* FROM twtasks_internal.sample_queue(cap, groups) s)
	SELECT r.bucket, r.type, r.status, count(*), g.capped, min(r.state_time), max(r.tries), max(r.state_time),
		count(*) FILTER (WHERE r.due < moment), max(r.due) FILTER (WHERE r.due < moment)
	FROM read r
	JOIN read g ON g.id IS NULL AND g.bucket = r.bucket AND g.type = r.type AND g.priority = r.priority
	WHERE r.id IS NOT NULL
	GROUP BY r.bucket, r.type, r.priority, r.status, g.capped
