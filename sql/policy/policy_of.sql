/*
 * twtasks_internal.fits(pattern, type)
 *
 *		Returns how well the pattern matches that type.
 *
 * Returns
 *		NULL: not at all; else a number, which grows with the length of the
 *		beginning and is greatest for the type itself
 */
CREATE FUNCTION twtasks_internal.fits(pattern text, type text)
RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_fits';

/*
 * twtasks.policy_of(type)
 *
 *		Returns the options of a type, merged from all patterns that match.
 *
 * Returns
 *		patterns		patterns that match, the most special first
 *		the others		as in configure_type(); NULL: the configuration of the sidecar
 *						decides
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.policy_of('EMAIL|WELCOME');
 */
CREATE FUNCTION twtasks.policy_of(
	type text,
	OUT patterns text[],
	OUT bucket text,
	OUT priority smallint,
	OUT timeout interval,
	OUT queue_time interval,
	OUT expires_after interval,
	OUT stuck twtasks.stuck_rule,
	OUT stuck_function text,
	OUT when_done twtasks.done_rule,
	OUT nodes text[],
	OUT intercept text,
	OUT retry jsonb,
	OUT retry_function text,
	OUT reset_tries boolean,
	OUT aging interval,
	OUT on_end text,
	OUT takeover twtasks.takeover_rule)
RETURNS record
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- PL/pgSQL keeps the plan for the next call.
	WITH fitting AS (
		SELECT p.pattern, p.options, twtasks_internal.fits(p.pattern, policy_of.type) AS fit FROM twtasks.type_policy p
		WHERE twtasks_internal.fits(p.pattern, policy_of.type) IS NOT NULL)
	SELECT ARRAY(SELECT f.pattern FROM fitting f ORDER BY f.fit DESC),
		   o.bucket, o.priority, o.timeout, o.queue_time, o.expires_after, o.stuck, o.stuck_function, o.when_done,
		   o.nodes, o.intercept, o.retry, o.retry_function, o.reset_tries, o.aging, o.on_end, o.takeover
	INTO patterns, bucket, priority, timeout, queue_time, expires_after, stuck, stuck_function, when_done,
		 nodes, intercept, retry, retry_function, reset_tries, aging, on_end, takeover
	-- the last of several values for a name stays
	FROM jsonb_populate_record(NULL::twtasks.policy, (
			SELECT jsonb_object_agg(e.key, e.value ORDER BY f.fit)
			FROM fitting f CROSS JOIN LATERAL jsonb_each(f.options) e)) o;
END $$;

/*
 * twtasks_internal.queue_time(type)
 *
 *		Returns how long a task of that type may be SUBMITTED before it counts as
 *		stuck in the queue.
 */
CREATE FUNCTION twtasks_internal.queue_time(type text)
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_queue_time';

/*
 * twtasks_internal.may_still_run(type, deadline)
 *
 *		Whether a task of that type may still run although its node is gone: by the
 *		policy's takeover it may until its deadline.
 */
CREATE FUNCTION twtasks_internal.may_still_run(type text, deadline timestamptz)
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_may_still_run';

/*
 * twtasks_internal.type_options(type)
 *
 *		Returns the part of policy_of() that sidecars need, from this session's cache.
 *
 * Returns
 *		timeout_ms, stuck	NULL: not set
 *		asks_stuck		whether there is a stuck_function
 *		nodes			patterns of the nodes that run the type; NULL: all nodes do
 *		aging_ms		0: tasks do not rise
 *		max_tries		in all; 0: a function decides; NULL: not set
 */
CREATE FUNCTION twtasks_internal.type_options(
	type text,
	OUT timeout_ms bigint,
	OUT stuck text,
	OUT asks_stuck boolean,
	OUT nodes text[],
	OUT aging_ms bigint,
	OUT max_tries integer)
RETURNS record
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_type_options';

/*
 * twtasks_internal.read_policies(node)
 *
 *		Returns all policies and buckets, as the sidecar of that name reads them.
 *
 * Returns
 *		kind			'policy' or 'bucket'
 *		name			a pattern that has a policy or is paused, or a bucket.  A
 *						policy merges all patterns that fit whatever this one fits
 *		timeout_ms, stuck, asks_stuck, aging_ms, max_tries
 *						as type_options() has them
 *		runs_here		whether the node starts such tasks: the policy lets it, and
 *						nothing is paused
 *		concurrency		as in configure_bucket()
 */
CREATE FUNCTION twtasks_internal.read_policies(node text)
RETURNS TABLE (kind text, name text, timeout_ms bigint, stuck text, asks_stuck boolean,
			   aging_ms bigint, max_tries integer, runs_here boolean, concurrency integer)
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'policy', p.pattern, o.timeout_ms, o.stuck, o.asks_stuck, o.aging_ms, o.max_tries,
		   (o.nodes IS NULL OR EXISTS (SELECT FROM unnest(o.nodes) u WHERE twtasks_internal.fits(u, read_policies.node) IS NOT NULL))
		   AND NOT EXISTS (SELECT FROM twtasks.pause q WHERE q.kind = 'type' AND twtasks_internal.fits(q.name, p.pattern) IS NOT NULL),
		   NULL
	FROM (SELECT t.pattern FROM twtasks.type_policy t UNION SELECT q.name FROM twtasks.pause q WHERE q.kind = 'type') p
	CROSS JOIN LATERAL twtasks_internal.type_options(p.pattern) o
	UNION ALL
	SELECT 'bucket', b.name, NULL, NULL, NULL, NULL, NULL, NOT b.paused, b.concurrency
	FROM twtasks.buckets b
$$;
