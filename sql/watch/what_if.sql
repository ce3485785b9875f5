/*
 * twtasks_internal.limit_named(name, scope)
 *
 *		The rule that counts that name, as the grab finds it: the limit of one key
 *		replaces the limit of each key.
 *
 * Parameters
 *		scope			NULL: the limit of the cluster, or else of each node
 *
 * Errors
 *		22004			name is NULL
 *		42704			no limit has that name
 */
CREATE FUNCTION twtasks_internal.limit_named(name text, scope twtasks.limit_scope)
RETURNS twtasks.limit_rule
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rule twtasks.limit_rule;
BEGIN
	IF name IS NULL THEN
		RAISE EXCEPTION 'name must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT l.* INTO rule FROM twtasks.limit_rule l
	WHERE twtasks.limit_name(l.pattern, limit_named.name) = limit_named.name AND right(limit_named.name, 2) <> '|*'
	  AND (limit_named.scope IS NULL OR l.scope = limit_named.scope)
	ORDER BY l.scope = 'cluster' DESC, right(l.pattern, 2) = '|*' LIMIT 1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no limit "%"', name
			USING ERRCODE = 'undefined_object',
				HINT = CASE WHEN right(name, 2) = '|*' THEN 'Name one key, since each key is counted for itself.'
							ELSE 'The view twtasks.limits has the limits.' END;
	END IF;
	RETURN rule;
END $$;

/*
 * twtasks_internal.limit_flow(name, rule)
 *
 *		Tries per minute under a limit in the last five minutes, and their mean time in
 *		the last hour, from the newest 20,000 rows of twtasks.flow.  A try counts with
 *		the middle of the two bounds that it lies between, and above an hour with 90
 *		minutes.
 *
 * Returns
 *		per_minute		NULL: no sidecar has told of any minute
 *		run_seconds		NULL: no try was measured
 */
CREATE FUNCTION twtasks_internal.limit_flow(
	name text, rule twtasks.limit_rule, OUT per_minute numeric, OUT run_seconds numeric)
RETURNS record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_nestloop = off
SET jit = off
AS $$
	WITH minute AS MATERIALIZED (
		SELECT f.at, f.step, f.type, f.started, f.run, f.at >= m.now - interval '5 minutes' AS is_new
		FROM (SELECT twtasks.clock() AS now) m
		CROSS JOIN LATERAL (
			SELECT w.* FROM twtasks.flow w
			WHERE w.at >= m.now - interval '1 hour' AND w.at < m.now AND w.step < interval '1 hour'
			ORDER BY w.at DESC LIMIT 20000) f),
	own AS MATERIALIZED (
		SELECT f.at, f.started, f.run, f.is_new FROM minute f
		JOIN (SELECT t.type FROM (SELECT DISTINCT g.type FROM minute g) t
			  WHERE twtasks.limit_name(rule.pattern, t.type) = limit_flow.name) c USING (type))
	SELECT (SELECT coalesce(sum(o.started), 0) FROM own o WHERE o.is_new) * 60
			/ CASE WHEN count(*) > 0 THEN greatest(extract(epoch FROM max(f.at + f.step) - min(f.at)), 60) END,
		   (SELECT round((sum(u.tries * ('{0.000125,0.000375,0.00075,0.00175,0.00375,0.0075,0.0175,0.0375,0.075,0.175,0.375,0.75,1.75,3.75,7.5,20,45,180,600,2250,5400}'::double precision[])[u.n])
					/ nullif(sum(u.tries), 0))::numeric, 6)
			FROM (SELECT o.run FROM own o WHERE o.run IS NOT NULL ORDER BY o.at DESC LIMIT 2000) r
			CROSS JOIN LATERAL unnest(r.run) WITH ORDINALITY u(tries, n))
	FROM minute f WHERE f.is_new
$$;

/*
 * twtasks_internal.limit_added(name, rule)
 *
 *		Tasks per minute that were added under a limit in the last ten minutes and are
 *		still in the queue, from the newest 20,000 tasks.
 */
CREATE FUNCTION twtasks_internal.limit_added(name text, rule twtasks.limit_rule)
RETURNS numeric
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
	most CONSTANT integer := 20000;
	begin_at CONSTANT timestamptz := twtasks.clock() - interval '10 minutes';
	-- Ids begin with the time in milliseconds, unless callers gave them.
	first CONSTANT uuid := rpad(lpad(to_hex((extract(epoch FROM begin_at) * 1000)::bigint), 12, '0'), 32, '0');
	added numeric;
BEGIN
	SELECT (SELECT sum(g.tasks) FROM (
				SELECT n.type, count(*) AS tasks FROM unnest(r.types) n(type) GROUP BY n.type) g
			WHERE twtasks.limit_name(rule.pattern, g.type) = limit_added.name)
		/ greatest(CASE WHEN r.looked = most THEN extract(epoch FROM twtasks.clock() - r.oldest) / 60 ELSE 10 END, 0.1)
	INTO added
	FROM (SELECT count(*) AS looked, min(t.created) AS oldest, array_agg(t.type) FILTER (WHERE t.queued AND t.created >= begin_at) AS types
		  FROM (SELECT k.created, k.type, k.queued FROM twtasks.task k WHERE k.id >= first ORDER BY k.id DESC LIMIT most) t) r;
	RETURN coalesce(added, 0);
END $$;

/*
 * twtasks_internal.wide_bounds(name, rule, kind, bucket, nodes, running)
 *
 *		Bounds of all tasks under a limit besides its own concurrency: its rate, limits
 *		that cover more types, and the bucket.  The share that others use is taken off.
 *
 * Parameters
 *		kind, bucket	of the tasks; kind NULL: none is known
 *		nodes			number of nodes that may grab them
 *		running			tries that run under the limit
 *
 * Returns
 *		slots			tries that may run at once; NULL: any number
 *		per_minute		tries that may start in a minute; NULL: any number
 *		words			name of the bound, for a sentence
 */
CREATE FUNCTION twtasks_internal.wide_bounds(
	name text, rule twtasks.limit_rule, kind text, bucket text, nodes bigint, running bigint,
	OUT slots numeric, OUT per_minute numeric, OUT words text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 5
SET search_path = pg_catalog, pg_temp
AS $$
	WITH seen AS MATERIALIZED (
		SELECT m.type, m.bucket, m.tasks FROM twtasks.monitor_type m WHERE m.status = 'PROCESSING'),
	wide AS MATERIALIZED (
		SELECT l.name, l.scope, l.room, l.rule, CASE l.scope WHEN 'node' THEN wide_bounds.nodes ELSE 1 END AS times,
			   coalesce(l.used, (SELECT coalesce(sum(s.tasks), 0) FROM seen s WHERE twtasks.limit_name((l.rule).pattern, s.type) = l.name)) AS used
		FROM twtasks_internal.limits_of(coalesce(kind, wide_bounds.name), 9::smallint) l
		WHERE (l.name, l.scope) <> (wide_bounds.name, wide_bounds.rule.scope)
		  AND 2 * length(rtrim(l.name, '*')) + (right(l.name, 1) <> '*')::integer
			<= 2 * length(rtrim(wide_bounds.name, '*')) + (right(wide_bounds.name, 1) <> '*')::integer)
	SELECT greatest(w.room * w.times - greatest(w.used - wide_bounds.running, 0), 0), NULL::numeric,
		   format('limit "%s" of scope %s (%s, of which others use %s)', w.name, w.scope, w.room, greatest(w.used - wide_bounds.running, 0))
	FROM wide w WHERE w.room IS NOT NULL
	UNION ALL
	SELECT NULL, r.rate * 60 / extract(epoch FROM r.per) * r.times,
		   format('the rate of limit "%s", %s in %s%s', r.name, r.rate, r.per, CASE WHEN r.times > 1 THEN ' on each node' END)
	FROM (SELECT w.name, (w.rule).rate, (w.rule).per, w.times FROM wide w
		  UNION ALL
		  SELECT wide_bounds.name, rule.rate, rule.per, CASE rule.scope WHEN 'node' THEN wide_bounds.nodes ELSE 1 END) r
	WHERE r.rate IS NOT NULL
	UNION ALL
	SELECT greatest(b.concurrency * wide_bounds.nodes - o.others, 0), NULL,
		   format('bucket "%s" (%s on each node, of which others use %s)', b.name, b.concurrency, o.others)
	FROM twtasks.bucket_policy b
	CROSS JOIN LATERAL (SELECT greatest(coalesce(sum(s.tasks), 0) - wide_bounds.running, 0) AS others FROM seen s WHERE s.bucket = b.name) o
	WHERE b.name = wide_bounds.bucket AND b.concurrency IS NOT NULL
$$;

/*
 * twtasks_internal.narrow_bound(name, rule, nodes)
 *
 *		The slots that limits of parts of a limit's types leave to the types that wait,
 *		all together.
 *
 * Returns
 *		as wide_bounds(); NULL: some of the types have no such limit
 */
CREATE FUNCTION twtasks_internal.narrow_bound(
	name text, rule twtasks.limit_rule, nodes bigint, OUT slots numeric, OUT per_minute numeric, OUT words text)
RETURNS record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH own AS MATERIALIZED (
		SELECT m.type, c.name, c.slots
		FROM (SELECT n.type FROM twtasks.monitor_type n
			  WHERE n.status = 'SUBMITTED' AND twtasks.limit_name(narrow_bound.rule.pattern, n.type) = narrow_bound.name
			  GROUP BY n.type ORDER BY sum(n.tasks) DESC LIMIT 100) m
		LEFT JOIN LATERAL (
			SELECT n.name, l.concurrency::bigint * CASE l.scope WHEN 'node' THEN narrow_bound.nodes ELSE 1 END AS slots
			FROM twtasks.limit_rule l
			CROSS JOIN LATERAL (SELECT twtasks.limit_name(l.pattern, m.type)) n(name)
			WHERE l.concurrency IS NOT NULL
			  AND 2 * length(rtrim(n.name, '*')) + (right(n.name, 1) <> '*')::integer
				> 2 * length(rtrim(narrow_bound.name, '*')) + (right(narrow_bound.name, 1) <> '*')::integer
			  AND (right(l.pattern, 2) <> '|*'
				   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o WHERE o.pattern = n.name AND o.scope = l.scope))
			ORDER BY 2, 1 LIMIT 1) c ON true)
	SELECT sum(d.slots), NULL::numeric, 'the limits of its types, such as ' || string_agg(format('"%s" (%s)', d.name, d.slots), ', ' ORDER BY d.name) FILTER (WHERE d.n <= 3)
	FROM (SELECT o.name, o.slots, row_number() OVER (ORDER BY o.name) AS n
		  FROM own o GROUP BY o.name, o.slots) d
	HAVING NOT EXISTS (SELECT FROM own o WHERE o.slots IS NULL)
$$;

/*
 * twtasks_internal.limit_load(name, rule)
 *
 *		The tasks under a limit, by the last count of the leader and by the slots in use.
 *
 * Returns
 *		waiting, capped, counted	tasks that are SUBMITTED; there may be more; when
 *		kind, bucket	type that most of them have; NULL: none waits.  Their bucket, if
 *						it is the same for all
 *		nodes			nodes that may grab tasks of that type, at least 1
 *		running			slots in use; for a limit of each node, tasks that are PROCESSING
 */
CREATE FUNCTION twtasks_internal.limit_load(
	name text, rule twtasks.limit_rule, OUT waiting bigint, OUT capped boolean, OUT counted timestamptz,
	OUT kind text, OUT bucket text, OUT nodes bigint, OUT running bigint)
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT sum(m.tasks) FILTER (WHERE m.status = 'SUBMITTED'), bool_or(m.capped) FILTER (WHERE m.status = 'SUBMITTED'),
		   (array_agg(m.type ORDER BY m.tasks DESC, m.type) FILTER (WHERE m.status = 'SUBMITTED'))[1],
		   CASE WHEN min(m.bucket) = max(m.bucket) THEN min(m.bucket) END,
		   coalesce(sum(m.tasks) FILTER (WHERE m.status = 'PROCESSING'), 0)
	INTO waiting, capped, kind, bucket, running
	FROM twtasks.monitor_type m
	WHERE m.status IN ('SUBMITTED', 'PROCESSING') AND twtasks.limit_name(rule.pattern, m.type) = limit_load.name;
	SELECT m.at INTO counted FROM twtasks.monitor_look m;
	waiting := CASE WHEN counted IS NOT NULL THEN coalesce(waiting, 0) END;
	capped := coalesce(capped, false);
	SELECT greatest(count(*), 1) INTO nodes
	FROM twtasks_internal.nodes_for(coalesce(kind, limit_load.name), coalesce(bucket, 'default'));
	IF rule.scope = 'cluster' THEN
		SELECT coalesce(max(l.used), 0) INTO running
		FROM twtasks_internal.limits_of(coalesce(kind, limit_load.name), 9::smallint) l
		WHERE l.name = limit_load.name AND l.scope = 'cluster';
	END IF;
END $$;

/*
 * twtasks_internal.forecast_limit(name, concurrency, scope)
 *
 *		The figures of what_if_limit().
 *
 * Returns
 *		is_full			whether the limit holds up tasks now
 *		kind, bucket	as limit_load()
 *		and the columns of what_if_limit()
 */
CREATE FUNCTION twtasks_internal.forecast_limit(
	name text, concurrency integer, scope twtasks.limit_scope,
	OUT is_full boolean, OUT kind text, OUT bucket text,
	OUT limit_scope twtasks.limit_scope, OUT current integer, OUT running bigint,
	OUT waiting bigint, OUT waiting_capped boolean, OUT counted timestamptz,
	OUT added_per_minute numeric, OUT run_seconds numeric, OUT per_minute numeric,
	OUT then_per_minute numeric, OUT then_empty_after interval, OUT then_bound text)
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rule CONSTANT twtasks.limit_rule := twtasks_internal.limit_named(forecast_limit.name, forecast_limit.scope);
	load record;
	bound record;
	times bigint;
BEGIN
	PERFORM twtasks_internal.check_limit(forecast_limit.concurrency, rule.scope, NULL, NULL, NULL, '1 s', NULL);
	limit_scope := rule.scope;
	current := rule.concurrency;
	SELECT l.* INTO load FROM twtasks_internal.limit_load(forecast_limit.name, rule) l;
	kind := load.kind;
	bucket := load.bucket;
	running := load.running;
	waiting := load.waiting;
	waiting_capped := load.capped;
	counted := load.counted;
	times := CASE rule.scope WHEN 'node' THEN load.nodes ELSE 1 END;
	SELECT f.per_minute, f.run_seconds INTO per_minute, run_seconds FROM twtasks_internal.limit_flow(forecast_limit.name, rule) f;
	is_full := coalesce(waiting > 0 AND running >= 0.75 * current * times, false);
	IF is_full AND per_minute > 0 AND current > 0 THEN
		run_seconds := current * times * 60 / per_minute;
	END IF;
	added_per_minute := CASE waiting WHEN 0 THEN per_minute ELSE twtasks_internal.limit_added(forecast_limit.name, rule) END;

	SELECT b.n, b.words INTO bound
	FROM (SELECT forecast_limit.concurrency * times * 60 / run_seconds AS n, NULL AS words
		  UNION ALL
		  SELECT least(w.slots * 60 / run_seconds, w.per_minute), w.words
		  FROM twtasks_internal.wide_bounds(forecast_limit.name, rule, kind, bucket, load.nodes, running) w
		  UNION ALL
		  SELECT o.slots * 60 / run_seconds, o.words FROM twtasks_internal.narrow_bound(forecast_limit.name, rule, load.nodes) o) b
	ORDER BY b.n, b.words NULLS FIRST LIMIT 1;
	-- Tasks that do not fill the limit wait for something else, or are all that there are.
	then_per_minute := CASE WHEN forecast_limit.concurrency = 0 THEN 0
							WHEN waiting IS NULL THEN NULL
							WHEN is_full THEN CASE WHEN run_seconds > 0 THEN bound.n END
							WHEN forecast_limit.concurrency >= current THEN per_minute
							WHEN run_seconds IS NOT NULL AND per_minute IS NOT NULL THEN least(per_minute, bound.n) END;
	then_bound := CASE WHEN then_per_minute = bound.n THEN bound.words END;
	IF waiting = 0 THEN
		then_empty_after := CASE WHEN then_per_minute >= per_minute THEN interval '0' END;
	ELSIF then_per_minute > added_per_minute THEN
		then_empty_after := make_interval(secs => round(least(waiting * 60 / (then_per_minute - added_per_minute), 1e9))::double precision);
	END IF;
	added_per_minute := round(added_per_minute, 1);
	run_seconds := round(run_seconds, 3);
	per_minute := round(per_minute, 1);
	then_per_minute := round(then_per_minute, 1);
END $$;

/*
 * twtasks.what_if_limit(name, concurrency, scope)
 *
 *		Says what would happen if a limit had another concurrency, and changes nothing.
 *		Arithmetic on what twtasks.flow has of the last minutes and on the last count of
 *		the leader.  A limit counts as full while tasks wait and at least three quarters
 *		of its slots are in use; then each slot goes on to start as many tries as now.
 *		Slots of handlers are not known here, nor types that twtasks.flow calls
 *		"(other)"; extra slots for urgent tasks do not count.
 *
 * Parameters
 *		name			as in twtasks.limits: a pattern, or one key of a pattern
 *		concurrency		tries that may run at once; for scope node, on each node
 *		scope			NULL: the limit of the cluster, or else of each node
 *
 * Returns
 *		limit_scope, current	the limit; current NULL: it has only a rate
 *		running			slots in use; for scope node, tasks that were PROCESSING at the
 *						last count
 *		waiting			tasks of its types that were SUBMITTED then; NULL: nobody has
 *						counted
 *		waiting_capped	true: there may be more
 *		counted			time of that count
 *		added_per_minute	tasks that were added in the last ten minutes
 *		run_seconds		mean time of a try; while the limit is full, the time between two
 *						starts in one slot; NULL: not known
 *		per_minute		tries that start per minute; NULL: not known
 *		then_per_minute	the same with that concurrency, as long as tasks wait
 *		then_empty_after	time until no task would wait; NULL: never, or nobody can say
 *		then_bound		the limits or the bucket that would hold up tasks then; NULL:
 *						none, or the limit itself
 *		sentence		all of it in English, for people
 *
 * Errors
 *		22004			name or concurrency is NULL
 *		22023			concurrency is out of range
 *		42704			there is no such limit
 *
 * Locks		none
 * Example		SELECT sentence FROM twtasks.what_if_limit('PAYOUT|ACME', 15);
 */
CREATE FUNCTION twtasks.what_if_limit(
	name text, concurrency integer, scope twtasks.limit_scope DEFAULT NULL,
	OUT limit_scope twtasks.limit_scope, OUT current integer, OUT running bigint,
	OUT waiting bigint, OUT waiting_capped boolean, OUT counted timestamptz,
	OUT added_per_minute numeric, OUT run_seconds numeric, OUT per_minute numeric,
	OUT then_per_minute numeric, OUT then_empty_after interval, OUT then_bound text, OUT sentence text)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	f record;
	clause text;
BEGIN
	IF what_if_limit.concurrency IS NULL THEN
		RAISE EXCEPTION 'concurrency must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT l.* INTO f FROM twtasks_internal.forecast_limit(what_if_limit.name, what_if_limit.concurrency, what_if_limit.scope) l;
	clause := CASE WHEN f.then_per_minute IS NULL AND f.per_minute IS NOT NULL AND f.waiting IS NULL THEN 'nobody can say how many would start before a leader has counted'
				   WHEN f.then_per_minute IS NULL THEN 'nobody can say how many would start, since no try was measured lately'
				   WHEN what_if_limit.concurrency = 0 THEN 'no task would start'
				   WHEN f.then_per_minute = f.per_minute AND NOT f.is_full THEN 'nothing would change, since it does not hold up its tasks'
				   ELSE format('%s would start a minute', trim_scale(f.then_per_minute))
					|| CASE WHEN f.waiting = 0 THEN ', and a backlog would grow'
							WHEN f.then_empty_after IS NULL THEN format(twtasks_internal.plural(f.added_per_minute, ', and the backlog would grow by the %s that is added a minute',
																							', and the backlog would grow by the %s that are added a minute'), trim_scale(f.added_per_minute))
							ELSE format(', and the backlog would be gone in %s, with %s added a minute', f.then_empty_after, trim_scale(f.added_per_minute)) END
					|| coalesce('; more is kept by ' || f.then_bound, '') END;
	sentence := format('Limit "%s" has %s%s, %s in use, %s, and %s; with %s, %s%s.', what_if_limit.name,
		coalesce(f.current::text, 'any number of') || twtasks_internal.plural(f.current, ' slot', ' slots'),
		CASE f.limit_scope WHEN 'node' THEN ' on each node' END, f.running,
		CASE WHEN f.waiting IS NULL THEN 'nobody has counted its tasks'
			 ELSE CASE WHEN f.waiting_capped THEN 'at least ' ELSE '' END || f.waiting || twtasks_internal.plural(f.waiting, ' task waits', ' tasks wait') END,
		CASE WHEN f.per_minute IS NULL THEN 'no sidecar has told how many start' ELSE trim_scale(f.per_minute) || twtasks_internal.plural(f.per_minute, ' starts a minute', ' start a minute') END,
		what_if_limit.concurrency, clause,
		(SELECT '; but now ' || s.clause
		 FROM twtasks_internal.stops(jsonb_populate_record(NULL::twtasks.task, jsonb_build_object('type', f.kind, 'bucket', coalesce(f.bucket, 'default')))) s
		 WHERE f.kind IS NOT NULL ORDER BY s.rank LIMIT 1));
	limit_scope := f.limit_scope;
	current := f.current;
	running := f.running;
	waiting := f.waiting;
	waiting_capped := f.waiting_capped;
	counted := f.counted;
	added_per_minute := f.added_per_minute;
	run_seconds := f.run_seconds;
	per_minute := f.per_minute;
	then_per_minute := f.then_per_minute;
	then_empty_after := f.then_empty_after;
	then_bound := f.then_bound;
END $$;
