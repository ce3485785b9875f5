/*
 * twtasks_internal.living_nodes()
 *
 *		The nodes that live, as far as the database knows.
 */
CREATE FUNCTION twtasks_internal.living_nodes(
	OUT name text, OUT buckets text[], OUT types text[], OUT faults text[], OUT notes_flow boolean)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, n.buckets, n.types, n.faults, n.notes_flow FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease
$$;

/*
 * twtasks_internal.works_for(bucket)
 *
 *		Whether a living node works for that bucket.  A node with unknown
 *		buckets may work for any.
 */
CREATE FUNCTION twtasks_internal.works_for(bucket text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks_internal.living_nodes() n WHERE works_for.bucket = ANY (n.buckets) IS NOT FALSE)
$$;

/*
 * twtasks_internal.is_known_type(type)
 *
 *		Whether a sidecar that handles the type has run here within 30 days, or
 *		a policy names the type or its beginning: see
 *		twtasks.refuse_unknown_types.
 */
CREATE FUNCTION twtasks_internal.is_known_type(type text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.handled_type h WHERE h.pattern = ANY (p.patterns))
		OR EXISTS (SELECT FROM twtasks.type_policy t
				   WHERE t.pattern = ANY (p.patterns) AND t.pattern <> '*')
	FROM (SELECT array_agg(left(type, n) || '*') || type AS patterns
		  -- A type has 120 characters at most.
		  FROM generate_series(0, least(length(type), 120)) n) p
$$;

/*
 * twtasks_internal.any_lives(names)
 *
 *		Whether a living node matches one of a policy's names of nodes.
 */
CREATE FUNCTION twtasks_internal.any_lives(names text[])
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks_internal.living_nodes() n, unnest(names) p(pattern)
				   WHERE twtasks_internal.fits(p.pattern, n.name) IS NOT NULL)
$$;

/*
 * twtasks_internal.why_limited(types)
 *
 *		The limits that may hold up tasks of these types.  A limit that lets no
 *		task start comes first, then a full one, then one with a rate.  Slots in
 *		use are counted once for each name.
 *
 * Returns
 *		type, why		a row for each type that a limit holds up
 */
CREATE FUNCTION twtasks_internal.why_limited(types text[], OUT type text, OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH cover AS MATERIALIZED (
		SELECT t.type, n.name, l.scope, l.concurrency, l.rate, l.per
		FROM unnest(types) t(type)
		CROSS JOIN twtasks.limit_rule l
		CROSS JOIN LATERAL (SELECT twtasks.limit_name(l.pattern, t.type)) n(name)
		WHERE n.name IS NOT NULL
		  AND (right(l.pattern, 2) <> '|*'
			   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o
							  WHERE o.pattern = n.name AND o.scope = l.scope))),
	taken AS MATERIALIZED (
		SELECT c.name, c.scope, c.concurrency
		FROM (SELECT DISTINCT c.name, c.scope, c.concurrency FROM cover c
			  WHERE c.scope = 'cluster' AND c.concurrency > 0) c
		CROSS JOIN LATERAL (
			SELECT s.* FROM twtasks.slot_use s
			WHERE s.name = c.name AND s.epoch > 0 ORDER BY s.epoch DESC LIMIT 1) u
		WHERE cardinality(u.ids) >= c.concurrency
		  AND twtasks_internal.live_slots(u.ids, u.versions, u.incarnations) >= c.concurrency)
	SELECT DISTINCT ON (c.type) c.type,
		   CASE WHEN c.concurrency = 0
					THEN format('its limit "%s" lets none start: see twtasks.limits', c.name)
				WHEN u.name IS NOT NULL
					THEN format('its limit "%s" is full: see twtasks.limits', c.name)
				ELSE format('its limit "%s" lets only %s start in %s: see twtasks.limits',
							c.name, c.rate, c.per) END
	FROM cover c
	LEFT JOIN taken u USING (name, scope, concurrency)
	WHERE c.concurrency = 0 OR u.name IS NOT NULL OR c.rate IS NOT NULL
	ORDER BY c.type, (c.concurrency = 0) IS TRUE DESC, u.name IS NOT NULL DESC, c.name
$$;

/*
 * twtasks_internal.unhandled(types, buckets)
 *
 *		The pairs in whose bucket nodes work, but none that handles the type.  A
 *		node with unknown buckets or types may work for any.
 */
CREATE FUNCTION twtasks_internal.unhandled(types text[], buckets text[], OUT type text, OUT bucket text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH handled AS MATERIALIZED (
		SELECT DISTINCT b.bucket COLLATE "C" AS bucket, p.pattern COLLATE "C" AS pattern
		FROM (SELECT DISTINCT u.bucket FROM unnest(buckets) u(bucket)) b
		JOIN twtasks_internal.living_nodes() n ON b.bucket = ANY (n.buckets) IS NOT FALSE
		CROSS JOIN LATERAL unnest(coalesce(n.types, '{*}')) p(pattern)),
	beginnings AS MATERIALIZED (
		SELECT h.bucket, left(h.pattern, -1) AS text FROM handled h WHERE right(h.pattern, 1) = '*')
	SELECT k.type, k.bucket
	FROM (SELECT unnest(types) AS type, unnest(buckets) AS bucket) k
	WHERE EXISTS (SELECT FROM handled h WHERE h.bucket = k.bucket COLLATE "C")
	  AND NOT EXISTS (SELECT FROM beginnings b
					  WHERE b.bucket = k.bucket COLLATE "C" AND starts_with(k.type, b.text))
	  AND NOT EXISTS (SELECT FROM handled h
					  WHERE h.bucket = k.bucket COLLATE "C" AND h.pattern = k.type COLLATE "C")
$$;

/*
 * twtasks_internal.why_queued(types, buckets)
 *
 *		The likely reasons why tasks of these types in these buckets are
 *		SUBMITTED and not grabbed, as far as the database knows: a node counts
 *		its own limits itself.  For thousands of pairs: each bucket, each list
 *		of nodes and each limit is read once.
 *
 * Returns
 *		type, bucket	the pairs that were given
 *		why				the likely reason
 */
CREATE FUNCTION twtasks_internal.why_queued(
	types text[], buckets text[], OUT type text, OUT bucket text, OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH pair AS MATERIALIZED (
		SELECT k.type, k.bucket, (twtasks_internal.type_options(k.type)).nodes
		FROM (SELECT unnest(types) AS type, unnest(buckets) AS bucket) k),
	place AS MATERIALIZED (
		SELECT b.bucket,
			   CASE WHEN b.bucket <> 'default'
						AND NOT EXISTS (SELECT FROM twtasks.bucket_policy p WHERE p.name = b.bucket)
						THEN format('its bucket was dropped: SELECT twtasks.configure_bucket(%L) makes it again', b.bucket)
					WHEN NOT twtasks_internal.works_for(b.bucket)
						THEN 'no node lives that works for its bucket: see twtasks.nodes' END AS why
		FROM (SELECT DISTINCT p.bucket FROM pair p) b),
	gone AS MATERIALIZED (
		SELECT n.nodes FROM (SELECT DISTINCT p.nodes FROM pair p WHERE p.nodes IS NOT NULL) n
		WHERE NOT twtasks_internal.any_lives(n.nodes))
	SELECT p.type, p.bucket,
		   CASE WHEN NOT twtasks.is_adopted() OR NOT twtasks.is_enabled()
					THEN 'nothing is executed in this database: see twtasks.warnings'
				WHEN twtasks.is_paused(p.type, p.bucket)
					THEN (SELECT format('%s "%s" is paused by %s%s: see twtasks.paused',
										z.kind, z.name, z.paused_by, ' (' || z.reason || ')')
						  FROM twtasks.pause z
						  WHERE CASE z.kind WHEN 'bucket' THEN z.name = p.bucket
								ELSE twtasks_internal.fits(z.name, p.type) IS NOT NULL END
						  ORDER BY z.kind, z.name LIMIT 1)
				WHEN b.why IS NOT NULL THEN b.why
				WHEN h.type IS NOT NULL
					THEN 'no node that lives handles its type: see types in twtasks.nodes'
				WHEN g.nodes IS NOT NULL
					THEN 'its policy names no node that lives: see nodes in twtasks.policy_of()'
				ELSE coalesce(l.why, 'nobody grabs it: is there a node with a handler for its type and bucket, and a slot for it?') END
	FROM pair p
	JOIN place b ON b.bucket = p.bucket
	LEFT JOIN gone g ON g.nodes = p.nodes
	LEFT JOIN twtasks_internal.unhandled(types, buckets) h ON h.type = p.type AND h.bucket = p.bucket
	LEFT JOIN twtasks_internal.why_limited(types) l ON l.type = p.type
$$;

/*
 * twtasks_internal.queued_buckets()
 *
 *		Buckets with tasks that could run, found by steps in the index.
 */
CREATE FUNCTION twtasks_internal.queued_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET jit = off
AS $$
	WITH RECURSIVE step AS (
		(SELECT t.bucket FROM twtasks.task t
		 WHERE t.queued ORDER BY t.bucket, t.type, t.priority, t.id LIMIT 1)
		UNION ALL
		SELECT n.bucket FROM step s CROSS JOIN LATERAL (
			SELECT t.bucket FROM twtasks.task t
			WHERE t.queued AND t.bucket > s.bucket
			ORDER BY t.bucket, t.type, t.priority, t.id LIMIT 1) n)
	SELECT s.bucket FROM step s
$$;

/*
 * twtasks_internal.lonely_buckets()
 *
 *		Buckets with tasks that could run or are due, for which no living node
 *		works.
 */
CREATE FUNCTION twtasks_internal.lonely_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET jit = off
AS $$
	WITH late AS (
		SELECT t.bucket, t.status FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time < (SELECT twtasks.clock()) - interval '1 minute'
		ORDER BY t.next_event_time LIMIT 100)
	SELECT b.bucket
	FROM (SELECT q.bucket FROM twtasks_internal.queued_buckets() q(bucket)
		  UNION SELECT l.bucket FROM late l WHERE l.status = 'WAITING') b
	WHERE NOT twtasks_internal.works_for(b.bucket)
$$;

/*
 * twtasks_internal.unfit_types(bucket, patterns, most)
 *
 *		The first types in that bucket with tasks that could run that no pattern fits:
 *		by steps in the index, of which one passes over all types that have the
 *		beginning of a pattern.
 */
CREATE FUNCTION twtasks_internal.unfit_types(bucket text, patterns text[], most integer)
RETURNS SETOF text
LANGUAGE c STABLE STRICT PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'twt_unfit_types';

/*
 * twtasks_internal.unhandled_types(most)
 *
 *		Types with tasks that could run, in buckets where nodes work but none
 *		handles the type.
 *
 * Parameters
 *		most			at most this many of each bucket
 */
CREATE FUNCTION twtasks_internal.unhandled_types(most integer, OUT bucket text, OUT type text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT h.bucket, t.type
	FROM (SELECT b.bucket, array_agg(p.pattern) AS patterns
		  FROM twtasks_internal.queued_buckets() b(bucket)
		  JOIN twtasks_internal.living_nodes() n ON b.bucket = ANY (n.buckets) IS NOT FALSE
		  CROSS JOIN LATERAL unnest(coalesce(n.types, '{*}')) p(pattern)
		  GROUP BY b.bucket) h
	CROSS JOIN LATERAL twtasks_internal.unfit_types(h.bucket, h.patterns, most) t(type)
$$;

/*
 * twtasks_internal.brought_warnings()
 *
 *		The warnings that other extensions bring: calls each function of this schema
 *		whose name begins with warn_.  It takes an integer, the most rows that it may
 *		return of one kind, and returns them as a JSON array of objects with the members
 *		warning, since, detail and hint.  A function that fails is a warning itself.
 *
 * Returns
 *		as blockers()
 */
CREATE FUNCTION twtasks_internal.brought_warnings(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	told record;
BEGIN
	FOR name IN SELECT b.name FROM twtasks_internal.brought_functions('warn_', 'integer', 'jsonb') b(name) LOOP
		told := twtasks_internal.try_call(name, 20);
		RETURN QUERY
		SELECT w.warning, w.since, w.detail, w.hint
		FROM jsonb_to_recordset(told.result::jsonb) w(warning text, since timestamptz, detail text, hint text)
		UNION ALL
		SELECT 'warnings missing', NULL, format('function "%s" failed: %s', name, told.error),
			   'do what the error asks for; until then this view lacks the warnings of that function'
		WHERE told.state IS NOT NULL;
	END LOOP;
END $$;

/*
 * twtasks_internal.count_held(most)
 *
 *		Counts tasks that adopt() held and nobody has changed since, up to most.
 */
CREATE FUNCTION twtasks_internal.count_held(most integer)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
	SELECT count(*)
	FROM (SELECT FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity' AND t.status = 'HELD'
			AND EXISTS (SELECT FROM twtasks.audit d
						WHERE d.task_id = t.id AND d.action = 'adopt' AND d.to_version = t.version)
		  ORDER BY t.next_event_time LIMIT count_held.most) r
$$;

/*
 * twtasks.blockers()
 *
 *		Reasons why tasks do not run, and what else stands still, from the
 *		configuration, the living nodes and other extensions; for twtasks.warnings.
 *
 * Returns
 *		warning, since, detail, hint
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.blockers(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 10 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'no node', NULL::timestamptz,
		   format('bucket "%s" has tasks, and no node lives that works for it', b.bucket),
		   'start a sidecar for it; twtasks.nodes has those that were there'
	FROM twtasks_internal.lonely_buckets() b(bucket)
	UNION ALL
	SELECT 'no handler', NULL,
		   format('type "%s" has tasks in bucket "%s", and no node that lives handles it', u.type, u.bucket),
		   'correct the type where tasks are added, or start a sidecar with a handler for it'
	FROM twtasks_internal.unhandled_types(20) u
	UNION ALL
	SELECT CASE WHEN s.is_session THEN 'silent session' WHEN s.is_listener THEN 'listener in trouble'
				WHEN s.is_worker THEN 'worker crashes' WHEN s.is_helper THEN 'helper in trouble' WHEN s.is_config THEN 'not reloaded'
				WHEN s.is_notify THEN 'target in trouble' WHEN s.is_traces THEN 'traces in trouble'
				ELSE 'broken handler' END, NULL,
		   format('node "%s": %s', n.name, f.fault),
		   CASE WHEN s.is_session THEN 'find out what holds up its backend, or the network to its node'
				WHEN s.is_listener THEN 'no message is taken there meanwhile, and none is lost; '
					'twtasks.reset_listener() skips a message that no retry helps'
				WHEN s.is_helper THEN 'do what it says; the log of the node has more, and the sidecar starts it again and again'
				WHEN s.is_worker THEN 'mend the program, or pause its types meanwhile: each crash costs its tasks a try; their errors have more of what it said'
				WHEN s.is_config THEN 'twtasksd --config FILE --check-config says what is wrong; correct it, and reload again'
				WHEN s.is_notify THEN 'messages about incidents do not arrive there, and are tried again for a day; tasks are not concerned'
				WHEN s.is_traces THEN 'spans of tries do not arrive there, and are dropped; tasks are not concerned'
				ELSE 'do what it says; its tasks wait meanwhile, and no try is counted' END
	FROM twtasks_internal.living_nodes() n
	CROSS JOIN LATERAL unnest(n.faults) f(fault)
	CROSS JOIN LATERAL (SELECT f.fault ^@ 'session "' AS is_session,
							   f.fault ~ '^listener(s:| ")' AS is_listener, f.fault ^@ 'helper "' AS is_helper,
							   f.fault ^@ 'worker "' AS is_worker, f.fault ^@ 'configuration: ' AS is_config,
							   f.fault ^@ 'notify ' AS is_notify, f.fault ^@ 'traces: ' AS is_traces) s
	UNION ALL
	SELECT 'silent node', n.next_tick, format('node "%s" should have ticked at %s', n.name, n.next_tick),
		   'look at its log and its /health: it stands still, or its session "control" does, or another transaction locks its row'
	FROM twtasks.node n
	WHERE n.ended IS NULL AND n.next_tick < (SELECT clock_timestamp()) - interval '10 seconds'
	UNION ALL
	SELECT 'no queue', NULL,
		   format('%s of the buckets that sidecars work for, such as "%s", have no queue in shared memory: all are in use',
				  count(*), min(b.bucket)),
		   'increase twtasks.queues and restart the server; until then NOTIFY brings their triggers'
	FROM (SELECT DISTINCT unnest(n.buckets) AS bucket FROM twtasks_internal.living_nodes() n) b
	WHERE twtasks_internal.lacks_queue(b.bucket) HAVING count(*) > 0
	UNION ALL
	SELECT 'node refused', r.since, format('node "%s": %s', r.name, r.refusal),
		   coalesce((SELECT format('if this is a copy, name its environment, such as SELECT twtasks.adopt(''staging''), which holds its tasks; '
								   'SELECT twtasks.adopt(%L, hold => false, address => %L) runs all tasks that are here: '
								   'only if this is the original under another name', a.environment, substring(r.refusal FROM 'not at "(.*)"$'))
					 FROM twtasks.adoption a WHERE a.ended IS NULL AND r.refusal ^@ 'it was adopted at '),
					'correct environment in the sidecar''s configuration, or that of the database: see twtasks.adopt(environment)')
	FROM twtasks.refused_node r WHERE r.at > (SELECT clock_timestamp()) - interval '1 minute'
	UNION ALL
	SELECT 'paused', p.since,
		   format('%s "%s", by %s%s', p.kind, p.name, p.paused_by, ': ' || p.reason),
		   format('SELECT twtasks.resume_%s(%L) lets it go on', p.kind, p.name)
	FROM twtasks.pause p
	UNION ALL
	SELECT 'held', a.at, format('%s%s of %s %s that adopt() held %s for a person',
							  CASE WHEN h.n > 1000 THEN 'over ' END, least(h.n, 1000), a.held,
							  twtasks_internal.plural(a.held, 'task', 'tasks'), twtasks_internal.plural(h.n, 'waits', 'wait')),
		   'look at them, then call twtasks.change_tasks() to release or cancel them'
	FROM twtasks.adoption a
	CROSS JOIN LATERAL (SELECT CASE WHEN a.held > 0 THEN twtasks_internal.count_held(1001) END AS n OFFSET 0) h
	WHERE a.ended IS NULL AND h.n > 0
	UNION ALL
	SELECT 'schedule paused', p.at, format('schedule "%s", by %s%s', s.name, p.actor, ': ' || p.reason),
		   format('SELECT twtasks.resume_schedule(%L) lets it go on', s.name)
	FROM twtasks.schedule s
	LEFT JOIN LATERAL (
		SELECT a.at, coalesce(a.on_behalf_of, a.actor) AS actor, a.reason FROM twtasks.schedule_audit a
		WHERE a.name = s.name AND a.action = 'pause' ORDER BY a.id DESC LIMIT 1) p ON true
	WHERE s.is_paused
	UNION ALL
	SELECT 'limit of 0', l.changed_at,
		   format('limit "%s" of scope %s lets %s start', l.pattern, l.scope,
				  CASE l.stretch WHEN 0 THEN 'no task' ELSE 'only urgent tasks' END),
		   format('SELECT twtasks.drop_limit(%L, %L) removes it; configure_limit() gives it another number', l.pattern, l.scope)
	FROM twtasks.limit_rule l WHERE l.concurrency = 0
	UNION ALL
	SELECT 'nodes missing', p.changed_at,
		   format('types "%s" are bound to nodes of which none lives: %s', p.pattern, array_to_string(p.nodes, ', ')),
		   'start one of them, or change nodes by twtasks.configure_type()'
	FROM twtasks.type_policies p WHERE NOT twtasks_internal.any_lives(p.nodes)
	UNION ALL
	SELECT l.warning, l.since, l.detail, l.hint FROM twtasks_internal.late_work() l
	UNION ALL
	SELECT r.warning, r.since, r.detail, r.hint FROM twtasks_internal.lost_roles() r
	UNION ALL
	SELECT b.warning, b.since, b.detail, b.hint FROM twtasks_internal.brought_warnings() b
$$;
