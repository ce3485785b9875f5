/*
 * twtasks.living_nodes()
 *
 *		The nodes that live, as far as the database has heard.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.living_nodes(OUT name text, OUT buckets text[], OUT types text[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, n.buckets, n.types FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > clock_timestamp() - n.lease
$$;

/*
 * twtasks.works_for(bucket)
 *
 *		Whether a node lives that works for that bucket; one that has not said for
 *		which it works may.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.works_for(bucket text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.living_nodes() n WHERE works_for.bucket = ANY (n.buckets) IS NOT FALSE)
$$;

/*
 * twtasks.handles(type, bucket)
 *
 *		Whether a node lives that works for that bucket and handles that type; one
 *		that has not said which types it handles may.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.handles(type text, bucket text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.living_nodes() n
				   WHERE handles.bucket = ANY (n.buckets) IS NOT FALSE
					 AND (n.types IS NULL
						  OR EXISTS (SELECT FROM unnest(n.types) p(pattern)
									 WHERE twtasks.fits(p.pattern, handles.type) IS NOT NULL)))
$$;

/*
 * twtasks.is_known_type(type)
 *
 *		Whether a sidecar that handles the type has run here within 30 days, or a
 *		policy names the type or a beginning of it; see
 *		twtasks.refuse_unknown_types.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_known_type(type text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.handled_type h WHERE h.pattern = ANY (p.patterns))
		OR EXISTS (SELECT FROM twtasks.type_policy t
				   WHERE t.pattern = ANY (p.patterns) AND t.pattern <> '*')
	FROM (SELECT array_agg(left(type, n) || '*') || type AS patterns
		  FROM generate_series(0, length(type)) n) p
$$;

/*
 * twtasks.any_lives(names)
 *
 *		Whether a node lives that a policy names so.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.any_lives(names text[])
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.living_nodes() n, unnest(names) p(pattern)
				   WHERE twtasks.fits(p.pattern, n.name) IS NOT NULL)
$$;

/*
 * twtasks.limits_of(type)
 *
 *		The limits that cover a type; of two in one scope that count under one name
 *		the one for that name.
 *
 * Returns
 *		as twtasks.limits; used is NULL for what nodes count
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.limits_of(
	type text, OUT name text, OUT concurrency integer, OUT stretch integer,
	OUT rate integer, OUT per interval, OUT used bigint)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.name, r.concurrency, r.stretch, r.rate, r.per,
		   (SELECT twtasks.live_slots(s.ids, s.versions, s.incarnations) FROM twtasks.slot_use s
			WHERE r.scope = 'cluster' AND s.name = r.name AND s.epoch > 0
			ORDER BY s.epoch DESC LIMIT 1)
	FROM (SELECT l.*, twtasks.limit_name(l.pattern, limits_of.type) AS name
		  FROM twtasks.limit_rule l) r
	WHERE r.name IS NOT NULL
	  AND (right(r.pattern, 2) <> '|*'
		   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o
						  WHERE o.pattern = r.name AND o.scope = r.scope))
$$;

/*
 * twtasks.why_queued(type, bucket)
 *
 *		Why a task of that type in that bucket may stay SUBMITTED: the first reason
 *		that is known here.  What nodes count for themselves is not.
 *
 * Returns
 *		text
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.why_queued(type text, bucket text)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN NOT twtasks.is_adopted() OR NOT twtasks.is_enabled()
			THEN 'nothing is executed in this database: see twtasks.warnings'
		WHEN twtasks.is_paused(type, bucket)
			THEN (SELECT format('%s "%s" is paused by %s%s: see twtasks.paused',
								p.kind, p.name, p.paused_by, ' (' || p.reason || ')')
				  FROM twtasks.pause p
				  WHERE CASE p.kind WHEN 'bucket' THEN p.name = bucket
						ELSE twtasks.fits(p.name, type) IS NOT NULL END
				  ORDER BY p.kind, p.name LIMIT 1)
		WHEN bucket <> 'default'
			AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = bucket)
			THEN 'its bucket was dropped: see twtasks.configure_bucket()'
		WHEN NOT twtasks.works_for(bucket)
			THEN 'no node lives that works for its bucket: see twtasks.nodes'
		WHEN NOT twtasks.handles(type, bucket)
			THEN 'no node that lives handles its type: see types in twtasks.nodes'
		WHEN NOT twtasks.any_lives((twtasks.policy_of(type)).nodes)
			THEN 'its policy names no node that lives: see nodes in twtasks.policy_of()'
		ELSE coalesce(
			(SELECT CASE WHEN l.concurrency = 0
							 THEN format('its limit "%s" lets none start: see twtasks.limits', l.name)
						 WHEN l.used >= l.concurrency
							 THEN format('its limit "%s" is full: see twtasks.limits', l.name)
						 ELSE format('its limit "%s" lets only %s start in %s: see twtasks.limits',
									 l.name, l.rate, l.per) END
			 FROM twtasks.limits_of(type) l
			 WHERE l.concurrency = 0 OR l.used >= l.concurrency OR l.rate IS NOT NULL
			 ORDER BY (l.concurrency = 0) IS TRUE DESC, (l.used >= l.concurrency) IS TRUE DESC, l.name
			 LIMIT 1),
			'nobody grabs it: is there a node with a handler for its type and bucket, and a slot for it?') END
$$;

/*
 * twtasks.queued_buckets()
 *
 *		Buckets with tasks that could run; found by steps from bucket to bucket in
 *		the index.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queued_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
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
 * twtasks.lonely_buckets()
 *
 *		Buckets with tasks that could run, or are due, for which no node that lives
 *		works.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.lonely_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH late AS (
		SELECT t.bucket, t.status FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time < twtasks.clock() - interval '1 minute'
		ORDER BY t.next_event_time LIMIT 100)
	SELECT b.bucket
	FROM (SELECT q.bucket FROM twtasks.queued_buckets() q(bucket)
		  UNION SELECT l.bucket FROM late l WHERE l.status = 'WAITING') b
	WHERE NOT twtasks.works_for(b.bucket)
$$;

/*
 * twtasks.queued_types(bucket)
 *
 *		Types with tasks in that bucket that could run; found by steps from type to
 *		type in the index.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queued_types(bucket text)
RETURNS SETOF text
LANGUAGE c STABLE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_queued_types';

/*
 * twtasks.unhandled_types(most)
 *
 *		Types with tasks that could run, in buckets for which nodes work of which
 *		none handles the type.
 *
 * Parameters
 *		most			of each bucket at most so many
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.unhandled_types(most integer, OUT bucket text, OUT type text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH handled AS MATERIALIZED (
		SELECT DISTINCT b.bucket, p.pattern COLLATE "C" AS pattern
		FROM twtasks.queued_buckets() b(bucket)
		JOIN twtasks.living_nodes() n ON b.bucket = ANY (n.buckets) IS NOT FALSE
		CROSS JOIN LATERAL unnest(coalesce(n.types, '{*}')) p(pattern)),
	beginnings AS MATERIALIZED (
		SELECT h.bucket, left(h.pattern, -1) AS text FROM handled h WHERE right(h.pattern, 1) = '*'),
	-- EXCEPT hashes or sorts: both sides may be thousands
	others AS (
		SELECT b.bucket, t.type COLLATE "C" AS type
		FROM (SELECT DISTINCT h.bucket FROM handled h) b
		CROSS JOIN LATERAL twtasks.queued_types(b.bucket) t(type)
		EXCEPT SELECT h.bucket, h.pattern FROM handled h)
	SELECT u.bucket, u.type
	FROM (SELECT o.bucket, o.type, row_number() OVER (PARTITION BY o.bucket ORDER BY o.type) AS n
		  FROM others o
		  WHERE NOT EXISTS (SELECT FROM beginnings b
							WHERE b.bucket = o.bucket AND starts_with(o.type, b.text))) u
	WHERE u.n <= most
$$;

/*
 * twtasks.hindrances()
 *
 *		Why nothing runs, or not all, by what is configured and by who lives; for
 *		twtasks.warnings.
 *
 * Returns
 *		warning, since, detail, hint
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.hindrances(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'no node', NULL::timestamptz,
		   format('bucket "%s" has tasks, and no node lives that works for it', b.bucket),
		   'start a sidecar for it; twtasks.nodes has those that were there'
	FROM twtasks.lonely_buckets() b(bucket)
	UNION ALL
	SELECT 'no handler', NULL,
		   format('type "%s" has tasks in bucket "%s", and no node that lives handles it', u.type, u.bucket),
		   'correct the type where tasks are added, or start a sidecar with a handler for it'
	FROM twtasks.unhandled_types(20) u
	UNION ALL
	SELECT 'no queue', NULL,
		   format('%s of the buckets that sidecars work for, such as "%s", have no queue in shared memory: all are in use',
				  count(*), min(b.bucket)),
		   'increase twtasks.queues and restart the server; until then NOTIFY brings their triggers'
	FROM (SELECT DISTINCT unnest(n.buckets) AS bucket FROM twtasks.living_nodes() n) b
	WHERE twtasks.lacks_queue(b.bucket) HAVING count(*) > 0
	UNION ALL
	SELECT 'node refused', r.since, format('node "%s": %s', r.name, r.refusal),
		   'correct environment in the sidecar''s configuration, or see twtasks.adopt()'
	FROM twtasks.refused_node r WHERE r.at > clock_timestamp() - interval '1 minute'
	UNION ALL
	SELECT 'paused', p.since,
		   format('%s "%s", by %s%s', p.kind, p.name, p.paused_by, ': ' || p.reason),
		   format('SELECT twtasks.resume_%s(%L) lets it go on', p.kind, p.name)
	FROM twtasks.pause p
	UNION ALL
	SELECT 'held', a.at, format('%s of %s tasks that adopt() held wait for a person', h.n, a.held),
		   'look at them, then call twtasks.change_tasks() to release or cancel them'
	FROM twtasks.adoption a
	CROSS JOIN LATERAL (
		SELECT count(*) AS n FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time = 'infinity' AND t.status = 'HELD'
		  AND EXISTS (SELECT FROM twtasks.audit d
					  WHERE d.task_id = t.id AND d.action = 'adopt' AND d.to_version = t.version)) h
	WHERE a.ended IS NULL AND a.held > 0 AND h.n > 0
	UNION ALL
	SELECT 'schedule paused', p.at, format('schedule "%s", by %s%s', s.name, p.actor, ': ' || p.reason),
		   format('SELECT twtasks.resume_schedule(%L) lets it go on', s.name)
	FROM twtasks.schedule s
	LEFT JOIN LATERAL (
		SELECT a.at, a.actor, a.reason FROM twtasks.schedule_audit a
		WHERE a.name = s.name AND a.action = 'pause' ORDER BY a.id DESC LIMIT 1) p ON true
	WHERE s.is_paused
	UNION ALL
	SELECT 'limit of 0', l.changed_at,
		   format('limit "%s" of scope %s lets %s start', l.pattern, l.scope,
				  CASE l.stretch WHEN 0 THEN 'no task' ELSE 'only urgent tasks' END),
		   'see twtasks.configure_limit() and drop_limit()'
	FROM twtasks.limit_rule l WHERE l.concurrency = 0
	UNION ALL
	SELECT 'nodes missing', p.changed_at,
		   format('types "%s" are bound to nodes of which none lives: %s', p.pattern, array_to_string(p.nodes, ', ')),
		   'start one of them, or change nodes by twtasks.configure_type()'
	FROM twtasks.type_policy p WHERE NOT twtasks.any_lives(p.nodes)
$$;
