/*
 * twtasks_internal.new_incarnation()
 *
 *		A number for a start of a sidecar that no other start has, in this
 *		database or another.  The connection of a sidecar may lead to another
 *		database: this one made anew, a copy, or a standby that was promoted.
 *		There the number means nothing, or the same start.  So the sidecar
 *		cannot be taken for another one.
 *
 *		The upper part is a sequence, so later starts have higher numbers.  The
 *		lower 31 bits are random.
 */
CREATE FUNCTION twtasks_internal.new_incarnation()
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (nextval(pg_get_serial_sequence('twtasks.node', 'incarnation')) << 31)
		   | greatest(('x' || left(gen_random_uuid()::text, 8))::bit(32)::bigint >> 1, 1)
$$;

/*
 * twtasks_internal.start_node(name, lease, environment, buckets, types)
 *
 *		A sidecar starts: gives it an incarnation, and ties the incarnation's
 *		life to this session.
 *
 * Parameters
 *		name			for people
 *		lease			silence after which it counts as gone although its session
 *						lives (a frozen process, a cut network)
 *		environment		in the sidecar's configuration
 *		buckets			buckets that it works for; NULL: not known
 *		types			types that it handles, or beginnings of types and a *; NULL:
 *						not known
 *
 * Returns
 *		the incarnation, never used before; NULL: the sidecar must not execute
 *		tasks here, see refusal()
 *
 * Writes		twtasks.node, twtasks.handled_type, twtasks.refused_node,
 *				twtasks.adoption, a file (see renew_marker())
 * Locks		the node's lock, until the session ends; as make_partitions()
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
	PERFORM twtasks_internal.note_addresses(NULL, false);
	PERFORM twtasks_internal.renew_marker();
	INSERT INTO twtasks.node (incarnation, name, started, heartbeat, lease, buckets, types)
	OVERRIDING SYSTEM VALUE
	VALUES (twtasks_internal.new_incarnation(), start_node.name, clock_timestamp(), clock_timestamp(),
			start_node.lease, start_node.buckets, start_node.types)
	RETURNING incarnation INTO started;
	PERFORM twtasks_internal.note_types(types);
	PERFORM twtasks_internal.heartbeat(started);
	-- Its tasks may finish before the leader's first look at the partitions.
	PERFORM twtasks_internal.make_partitions(1);
	RETURN started;
END $$;

/*
 * twtasks_internal.note_refusal(name, refusal)
 *
 *		Lets twtasks.warnings show a refused sidecar.  Does nothing in a copy
 *		that was not adopted, where all are refused.
 *
 * Writes		twtasks.refused_node, at most every half minute
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
 *		Remembers the types that sidecars handle, and forgets types that no
 *		sidecar has handled for 30 days.
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
 *		Lets twtasks.warnings show the faults of a node: see its column faults.
 *
 * Writes		twtasks.node, if the faults have changed
 * Locks		row lock; waits briefly (200 ms)
 */
CREATE FUNCTION twtasks_internal.note_faults(incarnation bigint, faults text[])
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
	UPDATE twtasks.node n SET faults = note_faults.faults
	WHERE n.incarnation = note_faults.incarnation AND n.ended IS NULL
	  AND n.faults IS DISTINCT FROM note_faults.faults
$$;

/*
 * twtasks_internal.watch_session()
 *
 *		Tells the sidecars that wait in next_triggers() when this session ends.
 */
CREATE FUNCTION twtasks_internal.watch_session()
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_watch_session';

/*
 * twtasks_internal.heartbeat(incarnation, again_ms)
 *
 *		Says that the sidecar lives.  After a lost connection, the new session
 *		takes the incarnation over by this call.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		milliseconds until the next heartbeat
 *
 * Returns
 *		false: the node was declared gone, or this database is a copy and not
 *		adopted.  Its tasks belong to others: it must stop them and start anew
 *
 * Writes		twtasks.node
 * Locks		the node's lock, until the session ends; waits briefly (200 ms) for it,
 *				since a dead session that the server has not noticed may hold it
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
	SET heartbeat = clock_timestamp(), missing_since = NULL, silent_since = NULL, boot_time = twtasks_internal.boot_time(),
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
 *		The sidecar ends in order: the next recover_tasks() applies the stuck
 *		rule to the tasks that it left, without delay.
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
 *		The time from which a leader with that next_tick is late.  A tick that
 *		failed is repeated after a second.
 */
CREATE FUNCTION twtasks_internal.overdue_at(next_tick timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT next_tick + interval '1.5 seconds' $$;

/*
 * twtasks_internal.try_to_lead(incarnation, claim)
 *
 *		Makes a living node the leader, unless another leader lives and ticks in
 *		time.  A leader that is late keeps its place while its session is at
 *		work, as in a long duty.
 *
 * Parameters
 *		claim			the word of a judge outside of the database: true takes the
 *						mark from whichever node has it, false gives it up; NULL:
 *						no judge
 *
 * Returns
 *		whether it leads now
 *
 * Writes		twtasks.node
 * Locks		node_lock(0) for the rest of the transaction, rows; does not wait
 */
CREATE FUNCTION twtasks_internal.try_to_lead(incarnation bigint, claim boolean DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	other record;
	leads boolean;
BEGIN
	SELECT n.leads INTO leads FROM twtasks.node n
	WHERE n.incarnation = try_to_lead.incarnation;
	IF leads AND NOT claim THEN
		UPDATE twtasks.node n SET leads = false WHERE n.incarnation = try_to_lead.incarnation;
		RETURN false;
	END IF;
	IF leads AND claim IS NULL
		AND EXISTS (SELECT FROM twtasks.node n
					WHERE n.leads AND n.ended IS NULL AND n.incarnation < try_to_lead.incarnation
					  AND n.heartbeat BETWEEN (SELECT clock_timestamp()) - n.lease AND (SELECT clock_timestamp()) + n.lease / 2
					  AND (twtasks_internal.session_holds(twtasks_internal.node_lock(n.incarnation))
						   OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(n.incarnation), shared => true))) THEN
		-- That one's mark could not be taken: see below.
		UPDATE twtasks.node n SET leads = false WHERE n.incarnation = try_to_lead.incarnation;
		RETURN false;
	END IF;
	IF leads OR NOT claim OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(0::bigint)) THEN
		RETURN leads;
	END IF;
	FOR other IN
		SELECT n.incarnation, n.next_tick FROM twtasks.node n
		WHERE n.leads AND n.ended IS NULL AND claim IS NULL
		  -- a heartbeat in the future is from before the clock was put back
		  AND n.heartbeat BETWEEN (SELECT clock_timestamp()) - n.lease AND (SELECT clock_timestamp()) + n.lease / 2
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
	-- A backend that stands still in a tick locks the row of its node for as long.
	-- Then two nodes have the mark, until one of them yields.
	UPDATE twtasks.node n SET leads = n.incarnation = try_to_lead.incarnation
	WHERE n.incarnation IN (SELECT m.incarnation FROM twtasks.node m
							WHERE m.leads OR m.incarnation = try_to_lead.incarnation
							FOR UPDATE SKIP LOCKED);
	RETURN true;
END $$;

/*
 * twtasks_internal.tick(incarnation, again_ms, claim)
 *
 *		A sidecar calls this every few seconds: it gives its heartbeat, and
 *		learns who leads and how many nodes share the work.
 *
 *		The marked leader leads as long as its session lives and it ticks in
 *		time.  Then the next node that asks leads.  Version and status guard all
 *		duties, so two leaders cost work and nothing else.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		milliseconds until the caller's next tick
 *		claim			as try_to_lead() has it
 *
 * Returns
 *		alive			as heartbeat()
 *		is_held			false while another session still holds the incarnation:
 *						call again within a second or two
 *		is_leader		whether it does the leader's duties
 *		place, nodes	this node's number, from 0, among so many living nodes
 *		clock			the database's clock, by which tasks are due
 *		ahead_us		how far a test has shifted that clock
 *		has_work		whether a task is SUBMITTED or PROCESSING; if not, there is
 *						nothing to sweep, recover or expire
 *		next_ms			milliseconds until a task or schedule is due; NULL: none waits
 *		look_ms			milliseconds until another node, which leads, is late unless it
 *						ticks: tick again then; NULL: no other node leads
 *
 * Writes		twtasks.node
 * Locks		row lock; the node's lock, until the session ends
 */
CREATE FUNCTION twtasks_internal.tick(
	incarnation bigint,
	again_ms bigint DEFAULT 6000,
	claim boolean DEFAULT NULL,
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
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
BEGIN
	alive := twtasks_internal.heartbeat(incarnation, again_ms);
	is_held := alive AND twtasks_internal.session_holds(twtasks_internal.node_lock(incarnation));
	is_leader := alive AND twtasks_internal.try_to_lead(incarnation, claim);
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
