/*
 * twtasks.start_node(name, lease, environment)
 *
 *		A sidecar starts: gives it an incarnation, and ties its life to this
 *		session.
 *
 * Parameters
 *		name			for people
 *		lease			silence after which it counts as gone although its session
 *						still lives (a frozen process, a cut network)
 *		environment		that the sidecar is configured for
 *
 * Returns
 *		the incarnation, never used before; NULL: it must not execute tasks here,
 *		see refusal()
 *
 * Writes		twtasks.node, twtasks.adoption (after a promotion)
 * Locks		a session advisory lock, kept until the session ends
 */
CREATE FUNCTION twtasks.start_node(
	name text, lease interval DEFAULT '30 seconds', environment text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started bigint;
BEGIN
	IF name IS NULL OR lease IS NULL OR twtasks.refusal(environment) IS NOT NULL THEN
		RETURN NULL;
	END IF;
	PERFORM twtasks.follow_promotion();
	INSERT INTO twtasks.node (name, started, heartbeat, lease)
	VALUES (start_node.name, clock_timestamp(), clock_timestamp(), start_node.lease)
	RETURNING incarnation INTO started;
	PERFORM twtasks.heartbeat(started);
	RETURN started;
END $$;

/*
 * twtasks.node_lock(incarnation)
 *
 *		The number of the advisory lock that a node's session holds.
 *
 * Returns
 *		bigint: 'twno' in the upper half
 */
CREATE FUNCTION twtasks.node_lock(incarnation bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (x'74776e6f'::bigint << 32) | (incarnation & x'ffffffff'::bigint) $$;

/*
 * twtasks.session_holds(lock)
 *
 *		Whether this session holds that advisory lock: one's own lock could
 *		otherwise be taken again, which would look as if it were free.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.session_holds(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_holds';

/*
 * twtasks.watch_session()
 *
 *		Tells the sidecars that wait in next_triggers() when this session ends.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.watch_session()
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_watch_session';

/*
 * twtasks.heartbeat(incarnation)
 *
 *		The sidecar lives.  After a lost connection the new session takes the
 *		incarnation over with this.
 *
 * Parameters
 *		incarnation		of start_node()
 *
 * Returns
 *		false when it was declared gone, or this is a copy of the database that
 *		was not adopted: its tasks belong to others, it must end what it runs and
 *		start anew
 *
 * Writes		twtasks.node
 * Locks		a session advisory lock, kept until the session ends; waited for
 *				briefly (200 ms), since a session that the server has not yet
 *				found dead may still hold it
 */
CREATE FUNCTION twtasks.heartbeat(incarnation bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
	lock_id CONSTANT bigint := twtasks.node_lock(heartbeat.incarnation);
BEGIN
	UPDATE twtasks.node n SET heartbeat = clock_timestamp(), missing_since = NULL
	WHERE n.incarnation = heartbeat.incarnation AND n.ended IS NULL AND twtasks.is_adopted();
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	IF NOT twtasks.session_holds(lock_id) THEN
		BEGIN
			PERFORM pg_advisory_lock(lock_id);
			PERFORM twtasks.watch_session();
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks.end_node(incarnation)
 *
 *		The sidecar ends in order: what it has left follows its stuck rule at
 *		the next recover_tasks(), without delay.
 *
 * Writes		twtasks.node
 * Locks		row lock
 */
CREATE FUNCTION twtasks.end_node(incarnation bigint)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.node n SET ended = clock_timestamp()
	WHERE n.incarnation = end_node.incarnation AND n.ended IS NULL
$$;

/*
 * twtasks.try_to_lead(incarnation)
 *
 *		Makes a living node the leader unless another one leads and lives.
 *
 * Returns
 *		whether it leads now
 *
 * Writes		twtasks.node
 * Locks		an advisory lock for the rest of the transaction; not waited for
 */
CREATE FUNCTION twtasks.try_to_lead(incarnation bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	other record;
	leads boolean;
BEGIN
	SELECT n.leads INTO leads FROM twtasks.node n
	WHERE n.incarnation = try_to_lead.incarnation;
	IF leads OR NOT pg_try_advisory_xact_lock(twtasks.node_lock(0)) THEN
		RETURN leads;
	END IF;
	FOR other IN
		SELECT n.incarnation FROM twtasks.node n
		WHERE n.leads AND n.ended IS NULL AND n.heartbeat >= clock_timestamp() - n.lease
	LOOP
		IF twtasks.session_holds(twtasks.node_lock(other.incarnation))
			OR NOT pg_try_advisory_xact_lock(twtasks.node_lock(other.incarnation)) THEN
			RETURN false;
		END IF;
	END LOOP;
	UPDATE twtasks.node n SET leads = n.incarnation = try_to_lead.incarnation
	WHERE n.leads OR n.incarnation = try_to_lead.incarnation;
	RETURN true;
END $$;

/*
 * twtasks.tick(incarnation)
 *
 *		What a sidecar asks every few seconds: heartbeat(), who leads, and how
 *		many nodes share the work.
 *
 *		The leader is the node that is marked as such, for as long as its
 *		session is there and it is not silent beyond its lease; then the next
 *		that asks.  Its duties are all guarded by version and status, so that
 *		two leaders would cost work and nothing else.
 *
 * Returns
 *		alive			as heartbeat()
 *		is_held			false while another session still holds the incarnation:
 *						call again within a second or two
 *		is_leader		does the duties that one node does for all
 *		place, nodes	this is number place (from 0) of so many living nodes
 *		clock			the database's clock, by which tasks are due
 *		ahead_us		so far a test has shifted it
 *		has_work		whether a task is SUBMITTED or PROCESSING; without one there
 *						is nothing to sweep, to recover or to expire
 *		next_ms			after so many milliseconds a task or a schedule is due;
 *						NULL: none is waiting
 *
 * Writes		twtasks.node
 * Locks		row lock; an advisory lock, kept until the session ends
 */
CREATE FUNCTION twtasks.tick(
	incarnation bigint,
	OUT alive boolean,
	OUT is_held boolean,
	OUT is_leader boolean,
	OUT place integer,
	OUT nodes integer,
	OUT clock timestamptz,
	OUT ahead_us bigint,
	OUT has_work boolean,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
	alive := twtasks.heartbeat(incarnation);
	is_held := alive AND twtasks.session_holds(twtasks.node_lock(incarnation));
	is_leader := alive AND twtasks.try_to_lead(incarnation);
	SELECT count(*) FILTER (WHERE n.incarnation < tick.incarnation), count(*)
	INTO place, nodes
	FROM twtasks.node n WHERE n.ended IS NULL;
	clock := twtasks.clock();
	ahead_us := twtasks.clock_ahead();
	has_work := EXISTS (SELECT FROM twtasks.task t WHERE t.bucket >= '' AND t.queued);
	next_ms := ceil(extract(epoch FROM least(
		(SELECT t.next_event_time FROM twtasks.task t
		 WHERE NOT t.queued AND t.next_event_time < 'infinity'
		 ORDER BY t.next_event_time LIMIT 1),
		(SELECT t.expires FROM twtasks.task t
		 WHERE t.expires IS NOT NULL ORDER BY t.expires LIMIT 1),
		(SELECT min(s.look_at) FROM twtasks.schedule s WHERE s.look_at < 'infinity'))
		- clock) * 1000);
	IF next_ms < 0 THEN
		next_ms := 0;
	END IF;
END $$;
