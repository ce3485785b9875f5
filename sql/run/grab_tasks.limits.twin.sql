/*
 * Limits of the whole cluster, as src/grab/slots.c counts them: the rows of the tasks
 * and of slot_use change in one transaction, so that no limit is exceeded.  A row of
 * slot_use that another transaction has locked or just changed is busy.
 */
CREATE TYPE twtasks_internal.limit_use AS (
	name				text,
	concurrency			integer,
	stretch				integer,
	stretch_priority	smallint,
	rate				integer,
	per_us				bigint,
	burst				integer,
	epoch				bigint,		-- NULL: busy
	at					timestamptz,
	ids					uuid[],
	versions			bigint[],
	incarnations		bigint[],
	waiting				bigint[],
	tokens				double precision,
	is_verified			boolean,	-- all of ids hold their slots
	is_changed			boolean
);

/*
 * twtasks_internal.are_limited(types)
 *
 *		Whether a limit of the cluster has one of these types; of any, if there are none.
 */
CREATE FUNCTION twtasks_internal.are_limited(types text[])
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
	RETURN EXISTS (
		SELECT FROM twtasks.limit_rule r
		WHERE r.scope = 'cluster'
		  AND (cardinality(types) = 0
			   OR EXISTS (SELECT FROM (SELECT DISTINCT u.type FROM unnest(types) u(type)) t
						  WHERE twtasks.limit_name(r.pattern, t.type) IS NOT NULL)));
END $$;

/*
 * twtasks_internal.limits_over(type)
 *
 *		The limits that a task of this type needs, the narrowest first.  If two have one
 *		name, the one without a star counts.
 */
CREATE FUNCTION twtasks_internal.limits_over(type text)
RETURNS SETOF twtasks_internal.limit_use
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT l.name, l.concurrency, l.stretch, l.stretch_priority, l.rate, (extract(epoch FROM l.per) * 1000000)::bigint, l.burst,
		NULL::bigint, NULL::timestamptz, NULL::uuid[], NULL::bigint[], NULL::bigint[], NULL::bigint[], NULL::double precision, false, false
	FROM (SELECT DISTINCT ON (n.name) n.name, r.concurrency, r.stretch, r.stretch_priority, r.rate, r.per, r.burst
		  FROM twtasks.limit_rule r CROSS JOIN LATERAL twtasks.limit_name(r.pattern, limits_over.type) n(name)
		  WHERE r.scope = 'cluster' AND n.name IS NOT NULL
		  ORDER BY n.name, r.pattern LIKE '%|*') l
	ORDER BY CASE WHEN l.name LIKE '%*' THEN 2 * length(l.name) - 2 ELSE 2 * length(l.name) + 1 END DESC
$$;

/*
 * twtasks_internal.lock_use(use)
 *
 *		The state of a limit, whose row is locked; without an epoch, if it is busy.
 *
 * Locks		a row of slot_use, without waiting
 */
CREATE FUNCTION twtasks_internal.lock_use(use twtasks_internal.limit_use)
RETURNS twtasks_internal.limit_use
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	newest record;
BEGIN
	SELECT u.epoch, u.used_at, u.ids, u.versions, u.incarnations, u.waiting, u.tokens INTO newest
	FROM (SELECT n.epoch FROM twtasks.slot_use n WHERE n.name = use.name AND n.epoch > 0 ORDER BY n.epoch DESC LIMIT 1) e
	CROSS JOIN LATERAL (SELECT s.* FROM twtasks.slot_use s WHERE s.name = use.name AND s.epoch = e.epoch
						FOR NO KEY UPDATE SKIP LOCKED) u;
	IF NOT FOUND THEN
		RETURN use;
	END IF;
	-- A time taken before the lock could be earlier than used_at.
	use.at := twtasks.clock();
	use.epoch := newest.epoch;
	use.ids := newest.ids;
	use.versions := newest.versions;
	use.incarnations := newest.incarnations;
	use.waiting := newest.waiting;
	IF use.rate > 0 THEN
		-- A clock that went back adds no tokens and takes none.
		use.tokens := least(use.burst, coalesce(newest.tokens
			+ greatest(extract(epoch FROM use.at - newest.used_at), 0)::double precision * 1000000 * use.rate / use.per_us, use.burst));
	END IF;
	RETURN use;
END $$;

/*
 * twtasks_internal.load_use(use)
 *
 *		lock_use(), and makes the rows of a new name.
 *
 * Writes		twtasks.slot_use
 */
CREATE FUNCTION twtasks_internal.load_use(use twtasks_internal.limit_use)
RETURNS twtasks_internal.limit_use
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	use := twtasks_internal.lock_use(use);
	IF use.epoch IS NULL AND NOT EXISTS (SELECT FROM twtasks.slot_use u WHERE u.name = use.name AND u.epoch = 0)
		AND twtasks_internal.try_lock(twtasks_internal.slots_lock()) THEN
		PERFORM twtasks_internal.make_slots(use.name);
		use := twtasks_internal.lock_use(use);
	END IF;
	RETURN use;
END $$;

/*
 * twtasks_internal.verified(use)
 *
 *		The state of a limit without the tasks that no longer hold a slot.
 */
CREATE FUNCTION twtasks_internal.verified(use twtasks_internal.limit_use)
RETURNS twtasks_internal.limit_use
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
	n CONSTANT integer := cardinality(use.ids);
BEGIN
	SELECT coalesce(array_agg(u.id ORDER BY u.n), '{}'), coalesce(array_agg(u.version ORDER BY u.n), '{}'),
		   coalesce(array_agg(u.incarnation ORDER BY u.n), '{}')
	INTO use.ids, use.versions, use.incarnations
	FROM unnest(use.ids, use.versions, use.incarnations) WITH ORDINALITY u(id, version, incarnation, n)
	JOIN twtasks.task t ON t.id = u.id
	JOIN twtasks.node d ON d.incarnation = u.incarnation
	WHERE t.status = 'PROCESSING' AND t.version = u.version AND t.incarnation = u.incarnation AND d.ended IS NULL;
	use.is_changed := use.is_changed OR cardinality(use.ids) < n;
	use.is_verified := true;
	RETURN use;
END $$;

/*
 * twtasks_internal.with_room(use, priority, incarnation)
 *
 *		Whether a limit has room for a task of this priority.  A node that finds no slot
 *		waits for one in the order of refusals.
 *
 * Returns
 *		refused_ms		NULL: there is room; 0: when a slot is offered
 */
CREATE FUNCTION twtasks_internal.with_room(INOUT use twtasks_internal.limit_use, priority integer, incarnation bigint, OUT refused_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most integer := use.concurrency + CASE WHEN priority <= use.stretch_priority THEN use.stretch ELSE 0 END;
BEGIN
	IF use.epoch IS NULL THEN
		-- Another grab, which commits soon, uses the limit.
		refused_ms := 2;
		RETURN;
	END IF;
	IF cardinality(use.ids) >= most AND NOT use.is_verified THEN
		use := twtasks_internal.verified(use);
	END IF;
	IF cardinality(use.ids) >= most THEN
		IF incarnation <> ALL (use.waiting) THEN
			use.waiting := use.waiting || incarnation;
			use.is_changed := true;
		END IF;
		refused_ms := 0;
	ELSIF use.rate > 0 AND use.tokens < 1 THEN
		refused_ms := 1 + floor((1 - use.tokens) * use.per_us / use.rate / 1000)::bigint;
	END IF;
END $$;

/*
 * twtasks_internal.store_uses(uses)
 *
 *		Stores the states of limits that have changed.
 *
 * Writes		twtasks.slot_use
 */
CREATE FUNCTION twtasks_internal.store_uses(uses twtasks_internal.limit_use[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
	UPDATE twtasks.slot_use u
	SET epoch = u.epoch + 1, used_at = n.at, ids = n.ids, versions = n.versions, incarnations = n.incarnations,
		waiting = n.waiting, tokens = n.tokens
	FROM unnest(store_uses.uses) n
	WHERE n.is_changed AND u.name = n.name AND u.epoch = n.epoch
$$;

/*
 * twtasks_internal.take_slots(uses, id, version, type, priority, incarnation)
 *
 *		Takes a slot of each limit over a task, or none.
 *
 * Parameters
 *		uses			the limits that this grab has looked at
 *		version			the one that the grab gives the task
 *
 * Returns
 *		uses			with the new slots
 *		refused_by		the name of a limit that has no room; NULL: none
 *		refused_ms		as with_room()
 */
CREATE FUNCTION twtasks_internal.take_slots(
	INOUT uses twtasks_internal.limit_use[], id uuid, version bigint, type text, priority integer, incarnation bigint,
	OUT refused_by text, OUT refused_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	limits CONSTANT twtasks_internal.limit_use[] := ARRAY(SELECT l FROM twtasks_internal.limits_over(type) l);
	names text[] := ARRAY(SELECT u.name FROM unnest(uses) WITH ORDINALITY u ORDER BY u.ordinality);
	use twtasks_internal.limit_use;
	place integer;
	room record;
BEGIN
	FOREACH use IN ARRAY limits LOOP
		IF use.name <> ALL (names) THEN
			names := names || use.name;
			uses := uses || twtasks_internal.load_use(use);
		END IF;
		place := array_position(names, use.name);
		room := twtasks_internal.with_room(uses[place], priority, incarnation);
		uses[place] := room.use;
		IF room.refused_ms IS NOT NULL THEN
			refused_ms := room.refused_ms;
			refused_by := use.name;
			RETURN;
		END IF;
	END LOOP;
	FOREACH use IN ARRAY limits LOOP
		place := array_position(names, use.name);
		use := uses[place];
		IF use.concurrency IS NOT NULL THEN
			use.ids := use.ids || take_slots.id;
			use.versions := use.versions || take_slots.version;
			use.incarnations := use.incarnations || take_slots.incarnation;
		END IF;
		use.tokens := use.tokens - 1;
		use.is_changed := true;
		uses[place] := use;
	END LOOP;
END $$;

/*
 * twtasks_internal.risen_priority(type, priority, waited)
 *
 *		The priority to which waiting has raised a task, as policy_risen() of
 *		src/policy/policy.c has it.
 */
CREATE FUNCTION twtasks_internal.risen_priority(type text, priority integer, waited interval)
RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN risen_priority.priority > 1 AND p.aging > '0' AND waited >= p.aging
		THEN greatest(risen_priority.priority - floor(extract(epoch FROM waited) / extract(epoch FROM p.aging)), 1)::integer ELSE risen_priority.priority END
	FROM twtasks.policy_of(risen_priority.type) p
$$;

/*
 * twtasks_internal.grab_limited(ids, versions, timeouts_ms, stuck, types, buckets, node, incarnation, token)
 *
 *		grab_tasks() for tasks that limits of the cluster may hold back.  The most urgent
 *		tasks come first, since slots may be few.
 */
CREATE FUNCTION twtasks_internal.grab_limited(
	ids uuid[], versions bigint[], timeouts_ms bigint[], stuck twtasks.stuck_rule[], types text[], buckets text[],
	node text, incarnation bigint, token bigint,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text, OUT priority smallint, OUT tries integer,
	OUT grabbed timestamptz, OUT data jsonb, OUT payload bytea, OUT context jsonb, OUT key text, OUT place tid, OUT runnable timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	now CONSTANT timestamptz := twtasks.clock();
	uses twtasks_internal.limit_use[] := '{}';
	won uuid[] := '{}';
	task record;
	taken record;
BEGIN
	FOR task IN
		SELECT s.id, s.version, s.type, s.state_time, u.n, twtasks_internal.risen_priority(s.type, s.priority, now - s.state_time) AS urgency
		FROM unnest(ids, versions) WITH ORDINALITY u(id, version, n)
		JOIN twtasks.task s ON s.id = u.id AND s.version = u.version
		WHERE s.status = 'SUBMITTED' AND (s.expires IS NULL OR s.expires > now) AND timeouts_ms[u.n] IS NOT NULL
		  AND (cardinality(types) = 0 OR s.type = types[u.n]) AND (cardinality(buckets) = 0 OR s.bucket = ANY (buckets))
		  AND twtasks_internal.runs_on(s.type, s.bucket, node)
		ORDER BY urgency, u.n
	LOOP
		CONTINUE WHEN task.id = ANY (won);
		taken := twtasks_internal.take_slots(uses, task.id, task.version + 1, task.type, task.urgency, incarnation);
		IF taken.refused_by IS NOT NULL THEN
			uses := taken.uses;
			RETURN QUERY SELECT task.id, NULL::bigint, taken.refused_by, NULL::text, NULL::text, NULL::smallint,
				nullif(least(taken.refused_ms, 2147483647), 0)::integer,
				CASE WHEN taken.refused_ms > 0 THEN now + taken.refused_ms * interval '1 millisecond' END,
				NULL::jsonb, NULL::bytea, NULL::jsonb, NULL::text, NULL::tid, NULL::timestamptz;
			CONTINUE;
		END IF;
		RETURN QUERY SELECT g.* FROM twtasks_internal.grab_free(ARRAY[task.id], ARRAY[task.version], timeouts_ms[task.n : task.n],
			stuck[task.n : task.n], '{}', '{}', node, incarnation, token) g;
		-- Slots of a task that another session has taken are left.
		IF FOUND THEN
			uses := taken.uses;
			won := won || task.id;
		END IF;
	END LOOP;
	PERFORM twtasks_internal.store_uses(uses);
END $$;
