/*
 * twtasks_internal.start_node(name, lease, environment, buckets, types)
 *
 *		A sidecar starts: gives it an incarnation, and ties its life to this
 *		session.
 *
 * Parameters
 *		name			for people
 *		lease			silence after which it counts as gone although its session
 *						still lives (a frozen process, a cut network)
 *		environment		that the sidecar is configured for
 *		buckets			that it works for; NULL: not known
 *		types			that it handles, or beginnings of types and a *; NULL: not known
 *
 * Returns
 *		the incarnation, never used before; NULL: it must not execute tasks here,
 *		see refusal()
 *
 * Writes		twtasks.node, twtasks.handled_type, twtasks.refused_node,
 *				twtasks.adoption, a file (see renew_marker())
 * Locks		its own lock, until the session ends
 */
CREATE FUNCTION twtasks_internal.start_node(
	name text, lease interval DEFAULT '30 seconds', environment text DEFAULT NULL,
	buckets text[] DEFAULT NULL, types text[] DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started bigint;
BEGIN
	IF name IS NULL OR lease IS NULL THEN
		RETURN NULL;
	END IF;
	IF twtasks_internal.refusal(environment) IS NOT NULL THEN
		PERFORM twtasks_internal.note_refusal(name, twtasks_internal.refusal(environment));
		RETURN NULL;
	END IF;
	DELETE FROM twtasks.refused_node r WHERE r.name = start_node.name;
	PERFORM twtasks_internal.renew_marker();
	INSERT INTO twtasks.node (name, started, heartbeat, lease, buckets, types)
	VALUES (start_node.name, clock_timestamp(), clock_timestamp(), start_node.lease,
			start_node.buckets, start_node.types)
	RETURNING incarnation INTO started;
	PERFORM twtasks_internal.note_types(types);
	PERFORM twtasks_internal.heartbeat(started);
	RETURN started;
END $$;

/*
 * twtasks_internal.note_refusal(name, refusal)
 *
 *		Lets twtasks.warnings show who is refused; not in a copy that was not
 *		adopted, where everybody is.
 *
 * Writes		twtasks.refused_node, not more often than every half a minute
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.note_refusal(name text, refusal text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := clock_timestamp();
BEGIN
	IF NOT twtasks.is_adopted()
		OR EXISTS (SELECT FROM twtasks.refused_node r
				   WHERE r.name = note_refusal.name AND r.refusal = note_refusal.refusal
					 AND r.at BETWEEN moment - interval '30 s' AND moment) THEN
		RETURN;
	END IF;
	DELETE FROM twtasks.refused_node r WHERE r.at < moment - interval '1 day';
	INSERT INTO twtasks.refused_node AS r (name, refusal, since, at)
	VALUES (note_refusal.name, note_refusal.refusal, moment, moment)
	ON CONFLICT ON CONSTRAINT refused_node_pkey DO UPDATE
	SET refusal = EXCLUDED.refusal, at = EXCLUDED.at;
END $$;

/*
 * twtasks_internal.note_types(types)
 *
 *		Remembers which types sidecars handle, and forgets those that none has
 *		handled for 30 days.
 *
 * Writes		twtasks.handled_type
 * Locks		row locks, in order of the names
 */
CREATE FUNCTION twtasks_internal.note_types(types text[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := clock_timestamp();
BEGIN
	INSERT INTO twtasks.handled_type AS h (pattern, started)
	SELECT DISTINCT p.pattern COLLATE "C", moment FROM unnest(types) p(pattern)
	WHERE p.pattern IS NOT NULL ORDER BY 1
	ON CONFLICT ON CONSTRAINT handled_type_pkey DO UPDATE
	SET started = EXCLUDED.started WHERE h.started < moment - interval '1 day';
	DELETE FROM twtasks.handled_type h
	WHERE h.pattern IN (
		SELECT o.pattern FROM twtasks.handled_type o
		WHERE o.started < moment - interval '30 days'
		  AND NOT EXISTS (SELECT FROM twtasks.node n
						  WHERE n.ended IS NULL AND o.pattern = ANY (n.types))
		FOR UPDATE SKIP LOCKED);
END $$;

/*
 * twtasks_internal.note_faults(incarnation, faults)
 *
 *		Lets twtasks.warnings show which handlers of a node cannot be started.
 *
 * Writes		twtasks.node, if they are others than before
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.note_faults(incarnation bigint, faults text[])
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.node n SET faults = note_faults.faults
	WHERE n.incarnation = note_faults.incarnation AND n.ended IS NULL
	  AND n.faults IS DISTINCT FROM note_faults.faults
$$;

/*
 * twtasks_internal.watch_session()
 *
 *		Tells the sidecars that wait in next_triggers() when this session ends.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.watch_session()
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_watch_session';

/*
 * twtasks_internal.heartbeat(incarnation, again_ms)
 *
 *		The sidecar lives.  After a lost connection the new session takes the
 *		incarnation over with this.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		after so many milliseconds there will be another one
 *
 * Returns
 *		false when it was declared gone, or this is a copy of the database that
 *		was not adopted: its tasks belong to others, it must end what it runs and
 *		start anew
 *
 * Writes		twtasks.node
 * Locks		its own lock, until the session ends; waited for
 *				briefly (200 ms), since a session that the server has not yet
 *				found dead may still hold it
 */
CREATE FUNCTION twtasks_internal.heartbeat(incarnation bigint, again_ms bigint DEFAULT 6000)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
	lock_id CONSTANT bigint := twtasks_internal.node_lock(heartbeat.incarnation);
BEGIN
	UPDATE twtasks.node n
	SET heartbeat = clock_timestamp(), missing_since = NULL, silent_since = NULL,
		next_tick = clock_timestamp() + again_ms * interval '1 millisecond'
	WHERE n.incarnation = heartbeat.incarnation AND n.ended IS NULL AND twtasks.is_adopted();
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	IF NOT twtasks_internal.session_holds(lock_id) THEN
		BEGIN
			PERFORM twtasks_internal.lock_session(lock_id);
			PERFORM twtasks_internal.watch_session();
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks_internal.end_node(incarnation)
 *
 *		The sidecar ends in order: what it has left follows its stuck rule at
 *		the next recover_tasks(), without delay.
 *
 * Writes		twtasks.node
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.end_node(incarnation bigint)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.node n SET ended = clock_timestamp()
	WHERE n.incarnation = end_node.incarnation AND n.ended IS NULL
$$;

/*
 * twtasks_internal.overdue_at(next_tick)
 *
 *		When a leader that said it would tick then is too late: a tick that
 *		failed is made again after a second.
 *
 * Returns
 *		timestamptz
 */
CREATE FUNCTION twtasks_internal.overdue_at(next_tick timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT next_tick + interval '1.5 seconds' $$;

/*
 * twtasks_internal.try_to_lead(incarnation)
 *
 *		Makes a living node the leader unless another one leads and lives, and
 *		does not stand still: one that has not ticked when it said it would is
 *		followed, unless its session is at work, as in a duty that takes long.
 *
 * Returns
 *		whether it leads now
 *
 * Writes		twtasks.node
 * Locks		a lock of ours for the rest of the transaction; not waited for
 */
CREATE FUNCTION twtasks_internal.try_to_lead(incarnation bigint)
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
	IF leads OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(0::bigint)) THEN
		RETURN leads;
	END IF;
	FOR other IN
		SELECT n.incarnation, n.next_tick FROM twtasks.node n
		WHERE n.leads AND n.ended IS NULL
		  -- one of the future is from before the clock was put back
		  AND n.heartbeat BETWEEN clock_timestamp() - n.lease AND clock_timestamp() + n.lease / 2
	LOOP
		-- shared: others may be asking the same at this moment
		IF twtasks_internal.session_holds(twtasks_internal.node_lock(other.incarnation))
			OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(other.incarnation), shared => true) THEN
			CONTINUE WHEN twtasks_internal.overdue_at(other.next_tick) < clock_timestamp()
				AND NOT twtasks_internal.session_holds(twtasks_internal.node_lock(other.incarnation))
				AND twtasks_internal.session_is_idle(twtasks_internal.node_lock(other.incarnation));
			RETURN false;
		END IF;
	END LOOP;
	UPDATE twtasks.node n SET leads = n.incarnation = try_to_lead.incarnation
	WHERE n.leads OR n.incarnation = try_to_lead.incarnation;
	RETURN true;
END $$;

/*
 * twtasks_internal.tick(incarnation, again_ms)
 *
 *		What a sidecar asks every few seconds: heartbeat(), who leads, and how
 *		many nodes share the work.
 *
 *		The leader is the node that is marked as such, for as long as its
 *		session is there and it ticks when it said it would; then the next that
 *		asks.  Its duties are all guarded by version and status, so that two
 *		leaders would cost work and nothing else.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		the caller will tick again after so many milliseconds
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
 *		next_ms			after so many milliseconds a duty has a task or a schedule to
 *						take; NULL: none is waiting
 *		look_ms			another one leads: tick again after so many milliseconds, when
 *						it will be too late with its tick unless it has ticked by
 *						then; NULL: no other leads
 *
 * Writes		twtasks.node
 * Locks		row lock; its own lock, until the session ends
 */
CREATE FUNCTION twtasks_internal.tick(
	incarnation bigint,
	again_ms bigint DEFAULT 6000,
	OUT alive boolean,
	OUT is_held boolean,
	OUT is_leader boolean,
	OUT place integer,
	OUT nodes integer,
	OUT clock timestamptz,
	OUT ahead_us bigint,
	OUT has_work boolean,
	OUT next_ms bigint,
	OUT look_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
	alive := twtasks_internal.heartbeat(incarnation, again_ms);
	is_held := alive AND twtasks_internal.session_holds(twtasks_internal.node_lock(incarnation));
	is_leader := alive AND twtasks_internal.try_to_lead(incarnation);
	SELECT count(*) FILTER (WHERE n.incarnation < tick.incarnation), count(*),
		   ceil(extract(epoch FROM max(twtasks_internal.overdue_at(n.next_tick))
						FILTER (WHERE n.leads AND n.incarnation <> tick.incarnation)
						- clock_timestamp()) * 1000)
	INTO place, nodes, look_ms
	FROM twtasks.node n WHERE n.ended IS NULL;
	clock := twtasks.clock();
	ahead_us := twtasks_internal.clock_ahead();
	has_work := EXISTS (SELECT FROM twtasks.task t WHERE t.bucket >= '' AND t.queued);
	next_ms := ceil(extract(epoch FROM least(
		(SELECT t.next_event_time FROM twtasks.task t
		 WHERE NOT t.queued AND t.next_event_time < 'infinity'
		   AND (t.status = 'WAITING' OR t.status = 'PROCESSING' AND t.stuck <> 'ignore')
		 ORDER BY t.next_event_time LIMIT 1),
		(SELECT t.expires FROM twtasks.task t
		 WHERE t.expires IS NOT NULL AND t.status IN ('SUBMITTED', 'WAITING')
		 ORDER BY t.expires LIMIT 1),
		(SELECT min(s.look_at) FROM twtasks.schedule s WHERE s.look_at < 'infinity'))
		- clock) * 1000);
	IF next_ms < 0 THEN
		next_ms := 0;
	END IF;
END $$;
