/*
 * twtasks.living_nodes()
 *
 *		The nodes that live, as far as the database has heard.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.living_nodes(OUT name text, OUT buckets text[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, n.buckets FROM twtasks.node n
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
 * twtasks.lonely_buckets()
 *
 *		Buckets with tasks that could run, for which no node that lives works; found
 *		by steps from bucket to bucket in the index.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.lonely_buckets()
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
			ORDER BY t.bucket, t.type, t.priority, t.id LIMIT 1) n),
	late AS (
		SELECT t.bucket, t.status FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time < twtasks.clock() - interval '1 minute'
		ORDER BY t.next_event_time LIMIT 100)
	SELECT b.bucket
	FROM (SELECT s.bucket FROM step s
		  UNION SELECT l.bucket FROM late l WHERE l.status = 'WAITING') b
	WHERE NOT twtasks.works_for(b.bucket)
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
	SELECT 'node refused', r.since, format('node "%s": %s', r.name, r.refusal),
		   'correct environment in the sidecar''s configuration, or see twtasks.adopt()'
	FROM twtasks.refused_node r WHERE r.at > clock_timestamp() - interval '1 minute'
	UNION ALL
	SELECT 'paused', p.since,
		   format('%s "%s", by %s%s', p.kind, p.name, p.paused_by, ': ' || p.reason),
		   format('SELECT twtasks.resume_%s(%L) lets it go on', p.kind, p.name)
	FROM twtasks.pause p
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
