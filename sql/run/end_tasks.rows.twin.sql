/*
 * The ways of tasks out of PROCESSING, and the ends by hand, as src/finish/finish.c has
 * them: one statement moves the tasks that end to the history, and one changes the
 * others in place.  A request to cancel comes under a lock on the row, so the rows of
 * all results that it would change are locked before the requests are read.
 */

/*
 * twtasks_internal.may_end(try, incarnation, version, status, grabbed_by, token)
 *
 *		Whether the caller may finish the task, of which the row has these values.  A
 *		crash of the server may undo a grab, and the next grab gives the same version
 *		again; the token tells these two apart.  An accepted task has no incarnation.
 */
CREATE FUNCTION twtasks_internal.may_end(
	try twtasks_internal.try, incarnation bigint, version bigint, status twtasks.task_status, grabbed_by bigint, token bigint)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
	SELECT version OPERATOR(pg_catalog.=) (try).version
		AND (status OPERATOR(pg_catalog.=) 'PROCESSING'
			 OR status OPERATOR(pg_catalog.=) 'SUBMITTED' AND (try).result OPERATOR(pg_catalog.=) ANY ('{cancelled,fault}'))
		AND ((try)."grab" IS NULL
			 OR coalesce(grabbed_by OPERATOR(pg_catalog.=) incarnation, true) AND coalesce(token OPERATOR(pg_catalog.=) (try)."grab", true))
$$;

/*
 * twtasks_internal.runnable_since(type, queued, next_event_time, created)
 *
 *		Since when a task could run, of which the row has these values.
 */
CREATE FUNCTION twtasks_internal.runnable_since(type text, queued boolean, next_event_time timestamptz, created timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT greatest(CASE WHEN queued THEN next_event_time - twtasks_internal.queue_time(type) ELSE next_event_time END, created)
$$;

/*
 * twtasks_internal.attempt_of(...)
 *
 *		The attempt of a task that its row, as it was before, tells of: with the columns of
 *		the row, since a whole row would bring its data along, which may be damaged.
 *
 * Parameters
 *		runnable		see runnable_since()
 */
CREATE FUNCTION twtasks_internal.attempt_of(
	id uuid, version bigint, tries integer, status twtasks.task_status, state_time timestamptz, queued boolean, runnable timestamptz, incarnation bigint,
	result text, error text, next timestamptz)
RETURNS twtasks_internal.attempt
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_started CONSTANT boolean := status = 'PROCESSING';
	made twtasks_internal.attempt;
BEGIN
	made.id := id;
	made.version := version;
	made.try := tries + CASE WHEN is_started THEN 0 ELSE 1 END;
	made.runnable := runnable;
	IF is_started THEN
		-- A task that was handed on is not queued, and its row no longer tells.
		made.runnable := CASE WHEN queued THEN least(runnable, state_time) END;
		made.started := state_time;
		made.incarnation := incarnation;
	END IF;
	made.result := result;
	made.error := error;
	made.next := next;
	RETURN made;
END $$;

/*
 * twtasks_internal.ended_task(task, version, status, state_time, error, message, outcome)
 *
 *		The argument of functions of on_end for a task, of which this is the row before.
 */
CREATE FUNCTION twtasks_internal.ended_task(
	task twtasks.task, version bigint, status twtasks.task_status, state_time timestamptz, error text, message text, outcome jsonb)
RETURNS twtasks.ended_task
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks.ended_task;
BEGIN
	made.id := task.id;
	made.version := version;
	made.type := task.type;
	made.sub_type := task.sub_type;
	made.bucket := task.bucket;
	made.key := task.key;
	made.tries := task.tries;
	made.status := status;
	made.state_time := state_time;
	made.error := error;
	made.message := message;
	made.data := task.data;
	made.context := task.context;
	made.outcome := outcome;
	made.started := CASE WHEN task.status = 'PROCESSING' THEN task.state_time END;
	RETURN made;
END $$;

/*
 * twtasks_internal.lock_tries(tries, incarnation)
 *
 *		Locks the rows of tasks that may stay in the live table, in the order given, and
 *		finds the requests to cancel them.
 *
 * Returns
 *		tries			with what was found; a task that is neither ended nor locked is not
 *						for the caller to finish
 */
CREATE FUNCTION twtasks_internal.lock_tries(tries twtasks_internal.try[], incarnation bigint)
RETURNS twtasks_internal.try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
	locked CONSTANT integer[] := ARRAY(
		SELECT u.ordinality::integer FROM unnest(tries) WITH ORDINALITY u
		CROSS JOIN LATERAL (
			SELECT FROM twtasks.task t
			WHERE t.id = u.id AND twtasks_internal.may_end(lock_tries.tries[u.ordinality], lock_tries.incarnation, t.version, t.status, t.incarnation, t.token)
			FOR UPDATE) l
		WHERE u.result NOT IN ('done', 'delete', 'ended'));
	has_requests CONSTANT boolean := EXISTS (SELECT FROM twtasks.cancel_request);
	place integer;
	request record;
BEGIN
	FOREACH place IN ARRAY locked LOOP
		tries[place].is_locked := true;
		IF has_requests AND tries[place].result NOT IN ('later', 'fault') THEN
			SELECT c.why, twtasks_internal.facts(t.*) AS facts INTO request
			FROM twtasks.cancel_requests c JOIN twtasks.task t ON t.id = c.id WHERE c.id = (lock_tries.tries[place]).id;
			tries[place].why := request.why;
			tries[place].facts := request.facts;
			tries[place].status := CASE WHEN FOUND THEN 'CANCELLED' END;
		END IF;
		-- Without such a request this is no result.
		IF tries[place].result = 'cancelled' THEN
			tries[place].is_locked := false;
		END IF;
	END LOOP;
	RETURN tries;
END $$;

/*
 * twtasks_internal.note_cancel(tries, id, version, status, facts)
 *
 *		Takes away the request by which a task was cancelled, and writes the audit.  Triggers
 *		of users on the history see it.
 *
 * Parameters
 *		facts			of the task now
 */
CREATE FUNCTION twtasks_internal.note_cancel(
	tries twtasks_internal.try[], id uuid, version bigint, status twtasks.task_status, facts jsonb)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH noted AS (
		SELECT u.id, u.facts FROM unnest(tries) u WHERE u.id = note_cancel.id AND u.facts IS NOT NULL LIMIT 1),
	freed AS (
		DELETE FROM twtasks.cancel_request r USING noted n WHERE r.task_id = n.id
		RETURNING r.actor, r.role, r.application, r.reason, r.on_behalf_of, n.facts AS before)
	INSERT INTO twtasks.audit (actor, role, application, action, task_id, from_version, to_version,
		from_status, to_status, reason, before, after, on_behalf_of)
	SELECT r.actor, r.role, r.application, 'cancel', note_cancel.id, note_cancel.version - 1, note_cancel.version,
		(r.before ->> 'status')::twtasks.task_status, note_cancel.status, r.reason,
		twtasks_internal.only_in(r.before, note_cancel.facts), twtasks_internal.only_in(note_cancel.facts, r.before), r.on_behalf_of
	FROM freed r
$$;

/*
 * twtasks_internal.move_ended(tries, incarnation, token, by_hand, wants, at)
 *
 *		Moves the tasks that end to the history, unless nothing of them is kept.
 *
 * Parameters
 *		wants			whether functions of on_end are to hear of them
 *
 * Returns
 *		ended, attempt	for each of them
 */
CREATE FUNCTION twtasks_internal.move_ended(
	tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, wants boolean, at timestamptz,
	OUT ended twtasks_internal.ended_try, OUT attempt twtasks_internal.attempt)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
	is_cancelled boolean;
	has_policies boolean;
BEGIN
	SELECT EXISTS (SELECT FROM unnest(tries) u WHERE u.facts IS NOT NULL), EXISTS (SELECT FROM twtasks.type_policy)
	INTO is_cancelled, has_policies;
	RETURN QUERY
	WITH gone AS (
		DELETE FROM twtasks.task t
		USING unnest(move_ended.tries) u
		WHERE t.id = u.id AND (u.result IN ('done', 'delete', 'ended') OR u.facts IS NOT NULL)
		  AND (by_hand OR twtasks_internal.may_end(u.*, move_ended.incarnation, t.version, t.status, t.incarnation, t.token))
		RETURNING t.*::twtasks.task AS task, t.id, t.version, t.type, t.status AS was, t.state_time, u.number, u.result, u.outcome, u.adds, u.what,
			u.result IN ('done', 'delete') AS is_done,
			CASE WHEN num_nonnulls(u.message, u.why) > 0 THEN twtasks_internal.cut_message(coalesce(u.message, u.why)) END AS message,
			CASE WHEN u.result IN ('done', 'delete') THEN 'DONE' ELSE u.status END AS status),
	rules AS (
		SELECT k.type, p.when_done, nullif(p.on_end, 'none') AS on_end
		FROM (SELECT DISTINCT g.type FROM gone g WHERE has_policies) k CROSS JOIN LATERAL twtasks.policy_of(k.type) p),
	ends AS MATERIALIZED (
		SELECT g.*, r.on_end, CASE WHEN NOT g.is_done THEN g.message END AS error,
			CASE WHEN NOT g.is_done THEN 'keep' WHEN g.result <> 'delete' AND r.when_done IS DISTINCT FROM 'delete' THEN coalesce(r.when_done, 'keep')
				-- A decision of a person stays to be seen.
				WHEN by_hand THEN 'clear' ELSE 'delete' END AS rule
		FROM gone g LEFT JOIN rules r ON r.type = g.type),
	kept AS (
		INSERT INTO twtasks.finished_task AS f (id, version, state_time, created, incarnation, token, status, tries, priority,
			type, sub_type, bucket, key, error, data, payload, context, added_by, message, started, outcome)
		SELECT e.id, e.version + 1, at, (e.task).created,
			CASE WHEN by_hand AND e.was = 'PROCESSING' THEN (e.task).incarnation ELSE move_ended.incarnation END, move_ended.token,
			e.status, (e.task).tries, (e.task).priority, e.type, (e.task).sub_type, (e.task).bucket, (e.task).key, e.error,
			CASE WHEN e.rule = 'keep' THEN (e.task).data END, CASE WHEN e.rule = 'keep' THEN (e.task).payload END, (e.task).context,
			(e.task).added_by, CASE WHEN e.is_done THEN e.message END, CASE WHEN e.was = 'PROCESSING' THEN e.state_time END,
			CASE WHEN e.rule = 'keep' THEN e.outcome END
		FROM ends e WHERE e.rule <> 'delete'
		RETURNING CASE WHEN is_cancelled THEN twtasks_internal.note_cancel(move_ended.tries, f.id, f.version, f.status, twtasks_internal.finished_facts(f.*)) END),
	freed AS (
		DELETE FROM twtasks.unique_key k USING ends e WHERE k.task_id = e.id AND e.rule = 'delete')
	SELECT twtasks_internal.new_ended_try(e.number, e.id, e.version + 1, e.status, NULL, CASE WHEN wants THEN e.on_end END,
			CASE WHEN wants AND e.on_end IS NOT NULL THEN twtasks_internal.ended_task(e.task, e.version + 1, e.status, at, e.error,
				CASE WHEN e.is_done THEN e.message END, e.outcome) END,
			e.adds, CASE WHEN e.adds IS NOT NULL THEN (e.task).context END),
		-- The setting is read for the first attempt.
		CASE WHEN (e.what IS NOT NULL OR e.status <> 'DONE' AND e.was = 'PROCESSING') AND (SELECT twtasks_internal.keep_attempts() > '0')
			THEN twtasks_internal.attempt_of(e.id, e.version, (e.task).tries, e.was, e.state_time, (e.task).queued,
				twtasks_internal.runnable_since(e.type, (e.task).queued, (e.task).next_event_time, (e.task).created), (e.task).incarnation,
				coalesce(e.what, CASE e.status WHEN 'FAILED' THEN 'failed' ELSE 'cancelled' END), e.error, NULL) END
	FROM ends e;
END $$;

/*
 * twtasks_internal.change_live(tries, incarnation, token, by_hand, wants, at)
 *
 *		Changes the rows of tasks that stay in the live table.
 *
 * Parameters, returns
 *		as move_ended()
 */
CREATE FUNCTION twtasks_internal.change_live(
	tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, wants boolean, at timestamptz,
	OUT ended twtasks_internal.ended_try, OUT attempt twtasks_internal.attempt)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET jit = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
	keeps_attempts CONSTANT boolean := twtasks_internal.keep_attempts() > '0';
BEGIN
	RETURN QUERY
	WITH given AS MATERIALIZED (
		SELECT t.deadline AS old_deadline, t.status AS was, t.state_time AS since, t.queued, t.tries, t.incarnation, t.version AS old_version,
			twtasks_internal.runnable_since(t.type, t.queued, t.next_event_time, t.created) AS runnable,
			u.number, u.id, u.result, u.what, u.outcome, d.delay_ms, at + d.delay_ms * interval '1 millisecond' AS due,
			twtasks_internal.cut_message(u.message) AS message,
			CASE WHEN u.result IN ('error', 'fault') THEN 'ERROR' WHEN u.result IN ('accepted', 'later') THEN 'PROCESSING'
				WHEN u.result = 'release' AND d.delay_ms = 0 THEN 'SUBMITTED' ELSE 'WAITING' END::twtasks.task_status AS next,
			u.result IN ('accepted', 'later') AS stays
		FROM unnest(change_live.tries) u
		-- 100 years
		CROSS JOIN LATERAL (SELECT least(greatest(coalesce(u.delay_ms, 0), 0), 3153600000000)) d(delay_ms)
		JOIN twtasks.task t ON t.id = u.id
		WHERE u.is_locked AND u.facts IS NULL AND u.result NOT IN ('done', 'delete', 'ended')),
	dated AS (
		SELECT g.*, CASE WHEN g.result = 'later' THEN greatest(g.old_deadline, at + interval '1 hour')
				WHEN g.stays THEN least(coalesce(g.old_deadline, 'infinity'), CASE WHEN g.delay_ms > 0 THEN g.due END) END AS deadline
		FROM given g),
	changed AS (
		UPDATE twtasks.task t
		SET status = d.next, version = t.version + CASE WHEN d.stays THEN 0 ELSE 1 END, deadline = d.deadline,
			queued = CASE WHEN d.result = 'later' THEN t.queued ELSE d.next = 'SUBMITTED' END,
			state_time = CASE WHEN d.stays THEN t.state_time
				-- A task that is given back has not been started, and goes on waiting.
				WHEN d.next = 'SUBMITTED' AND t.queued THEN least(d.runnable, at) ELSE at END,
			next_event_time = CASE WHEN d.result = 'accepted' THEN d.deadline WHEN d.stays OR d.next = 'SUBMITTED' THEN t.next_event_time
				WHEN d.next = 'ERROR' THEN 'infinity' ELSE d.due END,
			planned = CASE WHEN d.stays THEN t.planned END,
			incarnation = CASE WHEN d.result = 'accepted' THEN NULL WHEN by_hand OR d.stays THEN t.incarnation ELSE change_live.incarnation END,
			token = CASE WHEN by_hand OR d.result = 'later' THEN t.token ELSE change_live.token END,
			tries = CASE d.result WHEN 'release' THEN t.tries - 1 WHEN 'repeat' THEN 0 ELSE t.tries END,
			error = CASE d.result WHEN 'repeat' THEN NULL ELSE coalesce(CASE WHEN d.result <> 'later' THEN d.message END, t.error) END
		FROM dated d WHERE t.id = d.id
		RETURNING t.version, t.status, t.bucket, t.type, t.priority, t.size, t.state_time, t.error, d.*),
	-- a trigger for each, though nobody reads that column
	told AS MATERIALIZED (
		SELECT c.*, CASE WHEN wants AND c.next = 'ERROR' THEN nullif((twtasks.policy_of(c.type)).on_end, 'none') END AS on_end,
			CASE WHEN c.next IN ('WAITING', 'SUBMITTED') THEN twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type, c.priority, c.size,
				CASE WHEN c.next = 'WAITING' THEN c.due END) END AS trigger
		FROM changed c)
	SELECT twtasks_internal.new_ended_try(c.number, c.id, c.version, c.status, CASE WHEN c.next = 'WAITING' THEN c.delay_ms END, c.on_end,
			CASE WHEN c.on_end IS NOT NULL THEN twtasks_internal.ended_task((SELECT t.*::twtasks.task FROM twtasks.task t WHERE t.id = c.id), c.version, c.status, c.state_time, c.error, NULL, c.outcome) END,
			NULL, NULL),
		CASE WHEN keeps_attempts AND c.was = 'PROCESSING' AND c.result IN ('error', 'fault', 'retry')
			THEN twtasks_internal.attempt_of(c.id, c.old_version, c.tries, c.was, c.since, c.queued, c.runnable, c.incarnation, coalesce(c.what, CASE c.result WHEN 'retry' THEN 'retry' ELSE 'error' END), c.message,
				CASE WHEN c.next = 'WAITING' THEN c.due END) END
	FROM told c;
END $$;

/*
 * twtasks_internal.end_tries(tries, incarnation, token, by_hand, wants)
 *
 *		Ends tries.  Calls no function of on_end.
 *
 * Parameters
 *		by_hand			no node ends them: any row, which the caller has locked
 *		wants			whether the result says what functions of on_end are to hear
 *
 * Returns
 *		the tries that were not too late, in their order
 */
CREATE FUNCTION twtasks_internal.end_tries(tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, wants boolean)
RETURNS twtasks_internal.ended_try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	has_ends boolean;
	has_others boolean;
	has_history boolean;
	at timestamptz;
	is_cancelled boolean := false;
	ends twtasks_internal.ended_try[] := '{}';
	attempts twtasks_internal.attempt[] := '{}';
	more record;
BEGIN
	SELECT coalesce(bool_or(u.result IN ('done', 'delete', 'ended')), false), coalesce(bool_or(u.result NOT IN ('done', 'delete', 'ended')), false),
		   to_regclass('twtasks.finished_task_other') IS NOT NULL, twtasks.clock()
	INTO has_ends, has_others, has_history, at
	FROM unnest(tries) u;
	IF has_others AND NOT by_hand THEN
		tries := twtasks_internal.lock_tries(tries, incarnation);
		is_cancelled := EXISTS (SELECT FROM unnest(tries) u WHERE u.facts IS NOT NULL);
	END IF;
	IF has_ends OR is_cancelled THEN
		IF NOT has_history THEN
			PERFORM twtasks_internal.begin_history();
		END IF;
		SELECT coalesce(array_agg(m.ended ORDER BY (m.ended).number), '{}'), coalesce(array_agg(m.attempt) FILTER (WHERE (m.attempt).id IS NOT NULL), '{}')
		INTO ends, attempts
		FROM twtasks_internal.move_ended(tries, incarnation, token, by_hand, wants, at) m;
	END IF;
	IF has_others THEN
		SELECT array_agg(m.ended) AS ends, array_agg(m.attempt) FILTER (WHERE (m.attempt).id IS NOT NULL) AS attempts INTO more
		FROM twtasks_internal.change_live(tries, incarnation, token, by_hand, wants, at) m;
		ends := ARRAY(SELECT e FROM unnest(ends || more.ends) e ORDER BY (e).number);
		attempts := attempts || more.attempts;
	END IF;
	IF cardinality(attempts) > 0 THEN
		PERFORM twtasks_internal.write_attempts(attempts, at);
	END IF;
	RETURN ends;
END $$;
