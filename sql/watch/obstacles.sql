/*
 * twtasks_internal.advice(action, command)
 *
 *		One remedy of why(): the words for people, and the statement.
 */
CREATE FUNCTION twtasks_internal.advice(action text, command text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('do', action, 'sql', command) $$;

/*
 * twtasks_internal.shown_time(moment)
 *
 *		A time for a sentence: to the second, in the session's time zone.
 */
CREATE FUNCTION twtasks_internal.shown_time(moment timestamptz)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT date_trunc('second', moment)::text $$;

/*
 * twtasks_internal.nodes_for(type, bucket)
 *
 *		The living nodes that may grab tasks of that type in that bucket: they work
 *		for the bucket, handle the type, and are named by the type's policy.
 */
CREATE FUNCTION twtasks_internal.nodes_for(
	type text, bucket text, OUT incarnation bigint, OUT name text, OUT faults text[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.incarnation, n.name, n.faults
	FROM twtasks.node n CROSS JOIN twtasks_internal.type_options(nodes_for.type) o
	WHERE n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease
	  AND nodes_for.bucket = ANY (n.buckets) IS NOT FALSE
	  AND (n.types IS NULL OR EXISTS (SELECT FROM unnest(n.types) p
									  WHERE twtasks_internal.fits(p, nodes_for.type) IS NOT NULL))
	  AND (o.nodes IS NULL OR EXISTS (SELECT FROM unnest(o.nodes) p
									  WHERE twtasks_internal.fits(p, n.name) IS NOT NULL))
$$;

/*
 * twtasks_internal.seen_running(bucket, stem)
 *
 *		The tasks that run, among the first 2,000 of the bucket's queue from the type
 *		that begins with stem on.  Fewer than run, if the queue is longer.
 */
CREATE FUNCTION twtasks_internal.seen_running(
	bucket text, stem text, OUT incarnation bigint, OUT type text, OUT tasks bigint)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $$
	SELECT r.incarnation, r.type, count(*)
	FROM (SELECT q.incarnation, q.type, q.status FROM twtasks.task q
		  WHERE q.queued AND q.bucket = seen_running.bucket AND q.type >= seen_running.stem
		  ORDER BY q.bucket, q.type, q.priority, q.id LIMIT 2000) r
	WHERE r.status = 'PROCESSING'
	GROUP BY r.incarnation, r.type
$$;

/*
 * twtasks_internal.limits_of(type, priority)
 *
 *		All limits that cover a task, as the grab counts them: the limit of one key
 *		replaces the limit of each key, and urgent tasks have extra slots.
 *
 * Returns
 *		name, scope, rule	the limit, and its rule
 *		room			tasks of this priority that may run at once; NULL: any number
 *		used			cluster: slots in use; NULL: not known here
 *		tokens			cluster: starts that the rate has left; NULL: not known here
 */
CREATE FUNCTION twtasks_internal.limits_of(
	type text, priority smallint,
	OUT name text, OUT scope twtasks.limit_scope, OUT rule twtasks.limit_rule,
	OUT room integer, OUT used bigint, OUT tokens double precision)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, l.scope, l.*::twtasks.limit_rule,
		   l.concurrency + CASE WHEN limits_of.priority <= l.stretch_priority THEN l.stretch ELSE 0 END,
		   CASE WHEN l.scope = 'cluster' THEN
				coalesce(twtasks_internal.live_slots(u.ids, u.versions, u.incarnations), 0) END,
		   CASE WHEN l.scope = 'cluster' THEN
				least(l.burst, coalesce(u.tokens, l.burst) + l.rate * greatest(0, extract(epoch FROM m.now - coalesce(u.used_at, m.now)))
									  / extract(epoch FROM l.per)) END
	FROM twtasks.limit_rule l
	CROSS JOIN LATERAL (SELECT twtasks.limit_name(l.pattern, limits_of.type)) n(name)
	CROSS JOIN (SELECT twtasks.clock()) m(now)
	LEFT JOIN LATERAL (
		SELECT s.* FROM twtasks.slot_use s
		WHERE l.scope = 'cluster' AND s.name = n.name AND s.epoch > 0 ORDER BY s.epoch DESC LIMIT 1) u ON true
	WHERE n.name IS NOT NULL
	  AND (right(l.pattern, 2) <> '|*'
		   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o WHERE o.pattern = n.name AND o.scope = l.scope))
$$;

/*
 * twtasks_internal.raise_limit(name, rule, of_rate)
 *
 *		The statement that doubles the rate of a limit, or else its concurrency, and
 *		keeps its other figures.  One key of a limit for each key gets a limit of its own.
 */
CREATE FUNCTION twtasks_internal.raise_limit(name text, rule twtasks.limit_rule, of_rate boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('SELECT twtasks.configure_limit(%L%s, scope => %L%s%s)', name,
				  ', ' || CASE WHEN of_rate THEN rule.concurrency ELSE greatest(2 * rule.concurrency, 1) END, rule.scope,
				  CASE WHEN rule.stretch > 0 THEN format(', stretch => %s, stretch_priority => %s', rule.stretch, rule.stretch_priority) END,
				  CASE WHEN rule.rate IS NOT NULL
					   THEN format(', rate => %s, per => %L, burst => %s', CASE WHEN of_rate THEN 2 ELSE 1 END * rule.rate, rule.per, rule.burst) END)
$$;

/*
 * twtasks_internal.full_limits(t)
 *
 *		The limits that hold up a task, the widest reason first: a limit that lets none
 *		start, a full one, a rate that is used up.  A limit of each node is full when
 *		each node that may grab the task runs that many.
 *
 * Returns
 *		as obstacles()
 */
CREATE FUNCTION twtasks_internal.full_limits(
	t twtasks.task, OUT rank integer, OUT reason text, OUT clause text, OUT advice jsonb)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT f.rank, f.reason, f.clause, twtasks_internal.advice('raise the limit', twtasks_internal.raise_limit(l.name, l.rule, f.reason = 'rate limit'))
	FROM twtasks_internal.limits_of(t.type, t.priority) l
	LEFT JOIN LATERAL (
		SELECT bool_and(r.n >= l.room) AS is_full, max(r.n) AS most
		FROM (SELECT (SELECT coalesce(sum(s.tasks), 0)
					  FROM twtasks_internal.seen_running(t.bucket, rtrim(l.name, '*')) s
					  WHERE s.incarnation = n.incarnation AND twtasks.limit_name((l.rule).pattern, s.type) = l.name) AS n
			  FROM twtasks_internal.nodes_for(t.type, t.bucket) n) r
		WHERE l.scope = 'node' AND l.room > 0) o ON true
	CROSS JOIN LATERAL (VALUES
		(60, 'limit of 0', l.room = 0, format('its limit "%s" lets no task of its priority start', l.name)),
		(61, 'limit full', l.room > 0 AND l.used >= l.room, format('its limit "%s" is full (%s of %s)', l.name, l.used, l.room)),
		(62, 'limit full', l.room > 0 AND o.is_full,
		 format('its limit "%s" is full on each node that handles it (%s of %s)', l.name, o.most, l.room)),
		(63, 'rate limit', l.tokens < 1,
		 format('its limit "%s" lets only %s start in %s', l.name, (l.rule).rate, (l.rule).per)),
		(64, 'rate limit', l.scope = 'node' AND (l.rule).rate IS NOT NULL,
		 format('its limit "%s" lets only %s start in %s on each node', l.name, (l.rule).rate, (l.rule).per))
		) f(rank, reason, is_so, clause)
	WHERE f.is_so
$$;

/*
 * twtasks_internal.stops(t)
 *
 *		Switches, pauses and missing nodes that keep all tasks of a bucket and type
 *		from running.
 *
 * Returns
 *		as obstacles()
 */
CREATE FUNCTION twtasks_internal.stops(
	t twtasks.task, OUT rank integer, OUT reason text, OUT clause text, OUT advice jsonb)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 10, 'not adopted', format('nothing is executed in this database: %s', twtasks_internal.adoption_fault()),
		   twtasks_internal.advice('adopt the database, by the name of its environment',
			format('SELECT twtasks.adopt(%L)', coalesce((SELECT a.environment FROM twtasks.adoption a ORDER BY a.at DESC LIMIT 1), 'staging')))
	WHERE NOT twtasks.is_adopted()
	UNION ALL
	SELECT 11, 'switched off', 'the setting twtasks.enabled is off',
		   twtasks_internal.advice('switch it on', CASE (twtasks.edition()).edition
			WHEN 'sql' THEN 'UPDATE twtasks.setting SET value = ''on'' WHERE name = ''enabled'''
			ELSE 'ALTER SYSTEM SET twtasks.enabled = on; SELECT pg_reload_conf()' END)
	WHERE NOT twtasks.is_enabled()
	UNION ALL
	SELECT 20, 'paused', format('%s "%s" is paused since %s by %s%s', p.kind, p.name, twtasks_internal.shown_time(p.since), p.paused_by,
								' (' || twtasks_internal.shown(p.reason) || ')'),
		   twtasks_internal.advice('end the pause', format('SELECT twtasks.resume_%s(%L)', p.kind, p.name))
	FROM twtasks.pause p
	WHERE CASE p.kind WHEN 'bucket' THEN p.name = t.bucket ELSE twtasks_internal.fits(p.name, t.type) IS NOT NULL END
	UNION ALL
	SELECT 30, 'no bucket', format('its bucket "%s" was dropped', t.bucket),
		   twtasks_internal.advice('make the bucket again', format('SELECT twtasks.configure_bucket(%L)', t.bucket))
	WHERE t.bucket <> 'default' AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = t.bucket)
	UNION ALL
	SELECT n.rank, n.reason, n.clause, n.advice
	FROM (VALUES
		(40, 'no node', NOT twtasks_internal.works_for(t.bucket), format('no node lives that works for its bucket "%s"', t.bucket),
		 twtasks_internal.advice('start a sidecar for the bucket; these were there', 'SELECT * FROM twtasks.nodes')),
		(41, 'no handler', EXISTS (SELECT FROM twtasks_internal.unhandled(ARRAY[t.type], ARRAY[t.bucket])),
		 format('no node that lives handles its type "%s" in its bucket "%s"', t.type, t.bucket),
		 twtasks_internal.advice('start a sidecar with a handler for the type; the others handle these', 'SELECT name, buckets, types FROM twtasks.nodes')),
		(42, 'nodes missing', NOT twtasks_internal.any_lives((twtasks_internal.type_options(t.type)).nodes),
		 format('its policy names only nodes that do not live: %s', array_to_string((twtasks_internal.type_options(t.type)).nodes, ', ')),
		 twtasks_internal.advice('start one of them, or name others',
			format('SELECT twtasks.configure_type(%L, nodes => %L)', t.type, '{NAME}'))),
		(43, 'no fitting node', true, 'no living node works for its bucket, handles its type, and is named by its policy all at once',
		 twtasks_internal.advice('compare the nodes with the policy', format('SELECT nodes FROM twtasks.policy_of(%L)', t.type)))
		) n(rank, reason, is_so, clause, advice)
	WHERE n.is_so AND NOT EXISTS (SELECT FROM twtasks_internal.nodes_for(t.type, t.bucket))
	ORDER BY 1 LIMIT 20
$$;

/*
 * twtasks_internal.obstacles(t)
 *
 *		All that keeps a live task from running or will when it is due, the widest
 *		obstacle first.
 *
 * Returns
 *		rank			its place among the others
 *		reason			a constant of why()
 *		clause			part of a sentence
 *		advice			what changes it
 */
CREATE FUNCTION twtasks_internal.obstacles(
	t twtasks.task, OUT rank integer, OUT reason text, OUT clause text, OUT advice jsonb)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
	WITH wide AS MATERIALIZED (SELECT s.* FROM twtasks_internal.stops(t) s)
	SELECT 0, 'expired', format('it expired at %s and becomes FAILED as soon as a node that leads sees it', twtasks_internal.shown_time(t.expires)),
		   twtasks_internal.advice('name the node that leads', 'SELECT * FROM twtasks.nodes')
	WHERE t.expires <= (SELECT twtasks.clock())
	UNION ALL
	-- If no node fits for several reasons, the first is enough.
	(SELECT DISTINCT ON (w.rank >= 40, CASE WHEN w.rank < 40 THEN w.clause END) w.rank, w.reason, w.clause, w.advice
	 FROM wide w ORDER BY w.rank >= 40, CASE WHEN w.rank < 40 THEN w.clause END, w.rank)
	UNION ALL
	SELECT 50, 'bucket full', format('its bucket "%s" lets only %s run on each node', t.bucket, b.concurrency),
		   twtasks_internal.advice('raise the figure of the bucket', format('SELECT twtasks.configure_bucket(%L, concurrency => %s)', t.bucket, 2 * b.concurrency))
	FROM twtasks.bucket_policy b
	WHERE b.name = t.bucket AND (
		SELECT bool_and(b.concurrency <= (SELECT sum(s.tasks) FROM twtasks_internal.seen_running(t.bucket, '') s
										  WHERE s.incarnation = n.incarnation))
		FROM twtasks_internal.nodes_for(t.type, t.bucket) n)
	UNION ALL
	SELECT f.rank, f.reason, f.clause, f.advice FROM twtasks_internal.full_limits(t) f
$$;
