/*
 * twtasks_internal.find_gone_nodes(grace)
 *
 *		Marks nodes as ended that are provably gone.  Either their session has
 *		ended and no other one replaced it within the grace period, or they were
 *		silent for longer than their lease.
 *
 *		If the server stops for a while, all nodes look silent.  So a silent node has
 *		another half of its lease, from when its silence was first seen: a living node
 *		ticks twice in that time.  If the clock was set, what was seen before tells no
 *		duration: the silence and the grace count from now on.
 *
 * Returns
 *		milliseconds until the next look, if a session is missing or a heartbeat
 *		late; NULL: there is no reason to look
 *
 * Writes		twtasks.node, unless a heartbeat or an end has come in between or is
 *				about to come
 * Locks		changed rows, without waiting; the lock of a node without a session,
 *				shared, for the rest of the transaction
 */
CREATE FUNCTION twtasks_internal.find_gone_nodes(grace interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- In this order: a clock that is set in between is seen now or by the next look.
	moment CONSTANT timestamptz := clock_timestamp();
	boot_time CONSTANT timestamptz := twtasks_internal.boot_time();
	node twtasks.node;
	seen timestamptz;
	gone_at timestamptz;
	look_again timestamptz;
BEGIN
	FOR node IN
		SELECT n.* FROM twtasks.node n WHERE n.ended IS NULL ORDER BY n.incarnation
	LOOP
		seen := node.heartbeat;
		gone_at := NULL;
		-- A clock that runs slower or faster makes no difference of 0.1 s.
		IF node.heartbeat > moment + node.lease / 2
			OR node.boot_time NOT BETWEEN boot_time - interval '0.1 s' AND boot_time + interval '0.1 s' THEN
			node.heartbeat := moment;
			node.missing_since := NULL;
			node.silent_since := NULL;
			node.boot_time := boot_time;
		END IF;
		IF node.missing_since IS NULL
			AND NOT twtasks_internal.session_holds(twtasks_internal.node_lock(node.incarnation))
			AND twtasks_internal.try_lock(twtasks_internal.node_lock(node.incarnation), shared => true) THEN
			-- The lock is held from before this time until the commit: see node_may_grab().
			node.missing_since := clock_timestamp();
		END IF;
		IF node.heartbeat < moment - node.lease / 2 THEN
			node.silent_since := coalesce(node.silent_since, moment);
			gone_at := greatest(node.heartbeat + node.lease, node.silent_since + node.lease / 2);
		END IF;
		gone_at := least(gone_at, node.missing_since + grace);
		IF gone_at < moment THEN
			node.ended := moment;
		ELSE
			look_again := least(look_again, gone_at);
		END IF;
		UPDATE twtasks.node n
		SET heartbeat = node.heartbeat, missing_since = node.missing_since,
			silent_since = node.silent_since, ended = node.ended, boot_time = node.boot_time
		WHERE n.incarnation = (
			SELECT m.incarnation FROM twtasks.node m
			WHERE m.incarnation = node.incarnation AND m.heartbeat = seen AND m.ended IS NULL
			  AND (m.heartbeat, m.missing_since, m.silent_since, m.ended)
				  IS DISTINCT FROM (node.heartbeat, node.missing_since, node.silent_since, node.ended)
			FOR UPDATE SKIP LOCKED);
	END LOOP;
	RETURN extract(epoch FROM look_again - moment) * 1000 + 10;
END $$;

/*
 * twtasks_internal.call_stuck(function, task)
 *
 *		Calls the function of a policy with the rights of its owner, for at most
 *		twtasks.function_timeout.
 *
 * Returns
 *		answered		false: the call failed, with a warning
 *		rule			the rule for the task; NULL: the task's own
 */
CREATE FUNCTION twtasks_internal.call_stuck(
	function text, task twtasks.task_input,
	OUT answered boolean, OUT rule twtasks.stuck_rule)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_stuck';

/*
 * twtasks_internal.ask_stuck(ids)
 *
 *		Lets the functions of policies decide on stuck tasks: their answer
 *		becomes the task's stuck rule.  The caller holds locks on the rows.
 *
 * Returns
 *		the ids of tasks that were not asked about, since time had run out
 *
 * Writes		twtasks.task
 */
CREATE FUNCTION twtasks_internal.ask_stuck(ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval;
	types text[];
	functions text[];
	asked record;
	said record;
	left_out uuid[] := '{}';
	any_asked boolean := false;
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.type_policies p WHERE p.stuck_function <> 'none') THEN
		RETURN left_out;
	END IF;
	-- The policy of a type is looked up once for all its tasks.
	SELECT array_agg(f.type), array_agg(f.function) INTO types, functions
	FROM (SELECT d.type, (twtasks.policy_of(d.type)).stuck_function AS function
		  FROM (SELECT DISTINCT t.type FROM twtasks.task t WHERE t.id = ANY (ids) AND t.status = 'PROCESSING') d OFFSET 0) f
	WHERE f.function <> 'none';
	FOR asked IN
		SELECT twtasks_internal.task_input(
					t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
					t.state_time, t.data, t.payload, t.context, t.key) AS task,
			   functions[array_position(types, t.type)] AS function
		FROM twtasks.task t
		WHERE t.id = ANY (ids) AND t.status = 'PROCESSING' AND t.type = ANY (types)
	LOOP
		IF any_asked AND clock_timestamp() >= until THEN
			left_out := left_out || (asked.task).id;
			CONTINUE;
		END IF;
		any_asked := true;
		said := twtasks_internal.call_stuck(asked.function, asked.task);
		UPDATE twtasks.task t SET stuck = said.rule
		WHERE t.id = (asked.task).id AND said.rule <> t.stuck;
	END LOOP;
	RETURN left_out;
END $$;

/*
 * twtasks_internal.apply_stuck_rule(ids, reason)
 *
 *		Applies the stuck rules of PROCESSING tasks, or the answers of their
 *		policies' functions.  Tasks with a request to cancel become CANCELLED.
 *		The caller holds locks on the rows.
 *
 * Returns
 *		retried, errors, failed		numbers of tasks
 *		later			number of tasks that are left for another call, since functions
 *						took too long
 *		freed			for offer_types(): the types of the tasks that ended or moved
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.task_attempt
 * Wakes		sidecars of retried tasks' buckets
 */
CREATE FUNCTION twtasks_internal.apply_stuck_rule(
	ids uuid[],
	reason text,
	OUT retried bigint,
	OUT errors bigint,
	OUT failed bigint,
	OUT later bigint,
	OUT freed text[])
RETURNS record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	left_out uuid[];
	ends uuid[];
	statuses text[];
	ended bigint;
	held uuid[];
	types text[];
BEGIN
	IF EXISTS (SELECT FROM twtasks.limit_rule r WHERE r.scope = 'cluster') THEN
		SELECT array_agg(t.id), array_agg(t.type) INTO held, types
		FROM twtasks.task t WHERE t.id = ANY (ids) AND t.status = 'PROCESSING';
	END IF;
	ids := twtasks_internal.cancel_orphans(ids);
	left_out := twtasks_internal.ask_stuck(ids);
	later := cardinality(left_out);
	freed := ARRAY(SELECT u.type FROM unnest(held, types) u(id, type) WHERE u.id <> ALL (left_out));
	PERFORM twtasks_internal.note_attempts(ARRAY(
		SELECT t.id FROM twtasks.task t
		WHERE t.id = ANY (ids) AND t.id <> ALL (left_out)
		  AND t.status = 'PROCESSING' AND t.stuck = 'retry'), 'unknown', reason, moment);
	WITH changed AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true, state_time = moment,
			next_event_time = moment + twtasks_internal.queue_time(t.type),
			deadline = NULL, error = reason
		WHERE t.id = ANY (ids) AND t.id <> ALL (left_out)
		  AND t.status = 'PROCESSING' AND t.stuck = 'retry'
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type, c.priority, c.size, NULL::timestamptz))
	INTO retried FROM changed c;

	SELECT array_agg(t.id), array_agg(CASE t.stuck WHEN 'fail' THEN 'FAILED unknown' ELSE 'ERROR unknown' END)
	INTO ends, statuses
	FROM twtasks.task t
	WHERE t.id = ANY (ids) AND t.id <> ALL (left_out)
	  AND t.status = 'PROCESSING' AND t.stuck IN ('error', 'fail');
	-- A function of on_end may have moved a task on.
	SELECT count(*) FILTER (WHERE e.status = 'ERROR'), count(*) FILTER (WHERE e.status = 'FAILED'), count(*)
	INTO errors, failed, ended
	FROM twtasks_internal.end_tasks(coalesce(ends, '{}'), coalesce(statuses, '{}'), ARRAY[reason]) e;
	later := later + coalesce(cardinality(ends), 0) - ended;
END $$;

/*
 * twtasks_internal.recover_tasks(whole_table, batch, grace)
 *
 *		Applies the stuck rule to PROCESSING tasks that nobody works on: tasks
 *		of gone nodes, and tasks past their deadline.  A task of a gone node that
 *		may still run, by its policy's takeover, is left until its deadline.
 *
 * Parameters
 *		whole_table		look also for tasks of living nodes past their deadline, and for
 *						tasks of forgotten nodes, which reads all queued tasks;
 *						accepted tasks are always looked for
 *		batch			at most this many tasks of each kind in one call
 *		grace			how long a node may be without a session
 *
 * Returns
 *		retried, errors, failed		numbers of tasks; 0 if this database is a copy and
 *						not adopted
 *		next_ms			milliseconds until the next call; NULL: there is no reason
 *
 * Writes		twtasks.node, twtasks.task, twtasks.finished_task, twtasks.slot_use
 * Locks		rows; skips rows that others have locked
 * Wakes		sidecars of retried tasks' buckets; as offer_slots()
 */
CREATE FUNCTION twtasks_internal.recover_tasks(
	whole_table boolean DEFAULT true,
	batch integer DEFAULT 1000,
	grace interval DEFAULT '3 seconds',
	OUT retried bigint,
	OUT errors bigint,
	OUT failed bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	gone bigint[];
	orphans uuid[];
	overdue uuid[];
	holders bigint[];
	wait_ms bigint;
	late uuid[];
	later bigint;
	freed text[];
	done record;
BEGIN
	retried := 0;
	errors := 0;
	failed := 0;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	next_ms := twtasks_internal.find_gone_nodes(grace);
	gone := ARRAY(SELECT n.incarnation FROM twtasks.node n WHERE n.ended IS NOT NULL);
	IF whole_table OR cardinality(gone) > 0 THEN
		-- Reads all queued tasks, once.  An accepted task, which is not queued, has no
		-- node.  A grab whose transaction outlasts its node shows once the node is
		-- forgotten.
		SELECT array_agg(l.id) FILTER (WHERE l.is_orphan AND l.may_still_run IS NOT TRUE),
			   array_agg(l.id) FILTER (WHERE l.deadline <= moment),
			   array_agg(DISTINCT l.incarnation) FILTER (WHERE l.is_orphan),
			   (extract(epoch FROM min(l.deadline) FILTER (WHERE l.may_still_run) - moment) * 1000)::bigint + 10
		INTO orphans, overdue, holders, wait_ms
		FROM (
			SELECT s.*, s.is_orphan AND twtasks_internal.may_still_run(s.type, s.deadline) AS may_still_run
			FROM (
				SELECT t.id, t.type, t.deadline, t.incarnation,
					   t.incarnation = ANY (gone)
					   OR (whole_table AND t.incarnation IS NOT NULL AND n.incarnation IS NULL) AS is_orphan
				FROM twtasks.task t LEFT JOIN twtasks.node n ON n.incarnation = t.incarnation
				WHERE t.queued AND t.status = 'PROCESSING' AND t.stuck <> 'ignore') s
			WHERE s.is_orphan OR (whole_table AND s.deadline <= moment)
			OFFSET 0) l;
		next_ms := least(next_ms, wait_ms);
		DELETE FROM twtasks.node n
		WHERE n.incarnation IN (
			SELECT m.incarnation FROM twtasks.node m
			WHERE m.incarnation = ANY (gone) AND m.ended < (SELECT clock_timestamp()) - interval '1 minute'
			  AND m.incarnation <> ALL (coalesce(holders, '{}'))
			FOR UPDATE SKIP LOCKED);
		orphans := ARRAY(
			SELECT t.id FROM twtasks.task t
			WHERE t.id = ANY (orphans) AND t.queued AND t.status = 'PROCESSING'
			  AND t.incarnation = ANY (holders) AND t.stuck <> 'ignore'
			LIMIT batch FOR UPDATE SKIP LOCKED);
	END IF;
	SELECT * INTO done FROM twtasks_internal.apply_stuck_rule(orphans, 'the node that ran it is gone');
	retried := coalesce(done.retried, 0);
	errors := coalesce(done.errors, 0);
	failed := coalesce(done.failed, 0);
	later := coalesce(done.later, 0);
	freed := done.freed;

	late := ARRAY(
		SELECT t.id FROM twtasks.task t
		WHERE NOT t.queued AND t.status = 'PROCESSING' AND t.next_event_time <= moment
		  AND t.stuck <> 'ignore'
		LIMIT batch FOR UPDATE SKIP LOCKED);
	IF whole_table THEN
		late := late || ARRAY(
			SELECT t.id FROM twtasks.task t
			WHERE t.id = ANY (overdue) AND t.queued AND t.status = 'PROCESSING'
			  AND t.deadline <= moment AND t.stuck <> 'ignore'
			LIMIT batch FOR UPDATE SKIP LOCKED);
	END IF;
	SELECT * INTO done FROM twtasks_internal.apply_stuck_rule(late, 'its deadline passed without a result');
	retried := retried + coalesce(done.retried, 0);
	errors := errors + coalesce(done.errors, 0);
	failed := failed + coalesce(done.failed, 0);
	IF cardinality(orphans) >= batch OR cardinality(late) >= batch
		OR later + coalesce(done.later, 0) > 0 THEN
		next_ms := 0;
	END IF;
	-- Nodes that wait for the slots are told at commit.
	PERFORM twtasks_internal.offer_types(freed || done.freed);
	IF cardinality(gone) > 0 THEN
		-- A slot of a gone node is free, also where its task stays as it is: by the rule
		-- ignore, locked, or may still run.
		PERFORM twtasks_internal.offer_slot(u.name, h.freed, false, NULL::bigint)
		FROM twtasks.slot_use u
		CROSS JOIN LATERAL (
			SELECT count(*)::integer AS freed FROM unnest(u.incarnations) i WHERE i = ANY (gone)) h
		WHERE u.epoch > 0 AND u.waiting <> '{}' AND h.freed > 0;
	END IF;
END $$;
