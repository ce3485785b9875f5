/*
 * twtasks_internal.life_of_attempts(id)
 *
 *		The events of life() that attempts tell: from when a try could have started, its
 *		start, its end, and late results.  PL/pgSQL keeps the plans for the session.
 *
 * Returns
 *		rank			1: stays; 4: only if nothing else has that version
 *		tries			after the event
 *		and the columns of life()
 */
CREATE FUNCTION twtasks_internal.life_of_attempts(
	id uuid, OUT rank integer, OUT at timestamptz, OUT event text, OUT version bigint,
	OUT status twtasks.task_status, OUT tries integer, OUT actor text, OUT node text, OUT detail text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT e.rank, e.at, e.event, e.version, e.status, a.try - e.before, NULL, e.node, e.detail
	FROM twtasks.task_attempts a
	CROSS JOIN LATERAL (VALUES
		(4, a.runnable, 'runnable', a.version - 1, 'SUBMITTED'::twtasks.task_status, 1, NULL, NULL),
		(1, a.started, 'start', a.version, 'PROCESSING', 0, a.node, format('try %s', a.try)),
		(1, a.ended, a.result, a.version + 1,
		 CASE a.result WHEN 'error' THEN 'ERROR' WHEN 'failed' THEN 'FAILED' WHEN 'expired' THEN 'FAILED' WHEN 'cancelled' THEN 'CANCELLED'
			  ELSE CASE WHEN a.next > a.ended THEN 'WAITING' WHEN a.result = 'unknown' AND a.next IS NOT NULL THEN 'SUBMITTED' END END::twtasks.task_status,
		 (a.result = 'expired')::integer, a.node, nullif(concat_ws('; ', a.error, 'next try not before ' || twtasks_internal.shown_time(a.next)), ''))
		) e(rank, at, event, version, status, before, node, detail)
	WHERE a.task_id = life_of_attempts.id AND a.result NOT IN ('done', 'late') AND e.at IS NOT NULL AND (e.event <> 'runnable' OR e.version > 0)
	UNION ALL
	SELECT 1, a.ended, 'late', NULL, NULL, NULL, NULL, a.node, a.error
	FROM twtasks.task_attempts a
	WHERE a.task_id = life_of_attempts.id AND a.result = 'late';
END $$;

/*
 * twtasks_internal.life_of_task(id, finished)
 *
 *		The events of life() that a task itself tells, live or in the history: its add,
 *		its last start, its end or its present status.
 *
 * Parameters
 *		finished		as parameter ended of life()
 *
 * Returns
 *		rank			1: stays; 3, 5: only if nothing of a lower rank has that version
 *		tries			after the event
 *		and the columns of life()
 */
CREATE FUNCTION twtasks_internal.life_of_task(
	id uuid, finished timestamptz, OUT rank integer, OUT at timestamptz, OUT event text, OUT version bigint,
	OUT status twtasks.task_status, OUT tries integer, OUT actor text, OUT node text, OUT detail text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 3
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	WITH found AS MATERIALIZED (
		SELECT t.created, t.added_by, t.type, t.key, t.version, t.status, t.state_time, t.tries, t.error,
			   CASE WHEN t.status = 'PROCESSING' THEN t.state_time END AS started, t.incarnation,
			   CASE t.status WHEN 'SUBMITTED' THEN 'runnable' WHEN 'PROCESSING' THEN 'start' ELSE 'now' END AS event,
			   t.status = 'PROCESSING' AND NOT t.queued AS is_handed_on
		FROM twtasks.task t WHERE t.id = life_of_task.id
		UNION ALL
		SELECT f.created, f.added_by, f.type, f.key, f.version, f.status, f.state_time, f.tries,
			   coalesce(f.error, f.message), f.started, f.incarnation, lower(f.status::text), false
		FROM twtasks.finished_task f
		WHERE f.id = life_of_task.id
		  AND f.state_time >= coalesce(date_trunc('day', finished, 'UTC'), '-infinity')
		  AND f.state_time < coalesce(date_trunc('day', finished, 'UTC') + interval '24 hours', 'infinity')),
	named AS (SELECT f.*, n.name FROM found f LEFT JOIN twtasks.node n ON n.incarnation = f.incarnation)
	SELECT 1, n.created, 'add', 0::bigint, CASE WHEN n.version = 0 THEN n.status END, 0, n.added_by, NULL,
		   concat_ws(', ', 'type ' || n.type, 'key ' || n.key)
	FROM named n
	UNION ALL
	SELECT 3, n.started, 'start', CASE WHEN n.event = 'start' THEN n.version ELSE n.version - 1 END, 'PROCESSING', n.tries, NULL, n.name,
		   format('try %s', n.tries) || CASE WHEN n.is_handed_on THEN ', which has handed it on' ELSE '' END
	FROM named n WHERE n.started IS NOT NULL
	UNION ALL
	SELECT CASE WHEN n.event = 'now' THEN 5 ELSE 3 END, n.state_time, n.event, n.version, n.status, n.tries, NULL,
		   CASE WHEN n.event IN ('done', 'failed', 'cancelled') THEN n.name END, n.error
	FROM named n WHERE n.event <> 'start' AND n.version > 0;
END $$;

/*
 * twtasks_internal.life_events(id, finished)
 *
 *		The events of life(), in no order.  A status that no event tells is the one that
 *		the next change found: a start finds SUBMITTED, a move to the queue WAITING.  If
 *		one version is missing between them, a move or a start is not kept.
 *
 * Parameters
 *		finished		as parameter ended of life()
 *
 * Returns
 *		tries			after the event; NULL: as before
 *		and the columns of life()
 */
CREATE FUNCTION twtasks_internal.life_events(
	id uuid, finished timestamptz, OUT at timestamptz, OUT event text, OUT version bigint,
	OUT status twtasks.task_status, OUT tries integer, OUT actor text, OUT node text, OUT detail text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH raw AS MATERIALIZED (
		SELECT t.*, NULL::twtasks.task_status AS found FROM twtasks_internal.life_of_task(life_events.id, finished) t
		UNION ALL
		SELECT a.*, NULL FROM twtasks_internal.life_of_attempts(life_events.id) a
		UNION ALL
		SELECT 1, u.at, u.action, c.version, CASE WHEN c.version IS NOT NULL THEN u.to_status END,
			   (u.after ->> 'tries')::integer, coalesce(u.on_behalf_of, u.actor), NULL, u.reason, u.from_status
		FROM twtasks.audit u
		CROSS JOIN LATERAL (SELECT CASE WHEN u.to_version <> u.from_version THEN u.to_version END) c(version)
		WHERE u.task_id = life_events.id),
	known AS (
		SELECT r.*, min(r.rank) OVER same AS best, max(r.status) FILTER (WHERE r.rank IN (3, 5)) OVER same AS told
		FROM raw r
		WINDOW same AS (PARTITION BY r.version)),
	followed AS (
		SELECT k.*, lead(k.version) OVER life AS next_version, lead(k.event) OVER life AS next_event, lead(k.found) OVER life AS next_found
		FROM known k WHERE k.rank = 1 OR k.rank = k.best
		WINDOW life AS (PARTITION BY k.version IS NULL ORDER BY k.version))
	SELECT f.at, f.event, f.version,
		   CASE WHEN f.version IS NOT NULL THEN
			   coalesce(f.status, f.told,
						CASE f.next_version - f.version
							WHEN 1 THEN coalesce(f.next_found, CASE f.next_event WHEN 'start' THEN 'SUBMITTED' WHEN 'runnable' THEN 'WAITING' END::twtasks.task_status)
							WHEN 2 THEN CASE f.next_event WHEN 'start' THEN 'WAITING' END::twtasks.task_status END) END,
		   f.tries, f.actor, f.node, f.detail
	FROM followed f;
END $$;

/*
 * twtasks.life(id, ended)
 *
 *		All that is known of the life of a task, in order: its add, from when each try
 *		could have started, the start and the end of each try, changes by hand, and its
 *		end or present status.  The order is the one of the versions, since a task that is
 *		resumed could have started before that; events without a version stand by their time.  Each change of status adds 1 to the version, so a gap
 *		in the versions is a change of which nothing is kept: a try that its handler
 *		ended by repeat or release, the move of a waiting task to the queue before the
 *		last try, and all that is older than twtasks.keep_attempts or twtasks.keep_audit.
 *
 * Parameters
 *		id				of the task, live or finished
 *		ended			a time of the day (UTC) on which it ended, such as state_time in
 *						twtasks.tasks: reads the history of that day only.  NULL: reads all days
 *
 * Returns
 *		at				time of the event
 *		event			add; runnable: in the queue, or free to run; start; of a try that
 *						did not succeed its result: retry, error, failed, cancelled,
 *						unknown, expired; late: a result that came when another had decided,
 *						so the work may have been done; a change by hand, as in
 *						twtasks.audit; done, failed, cancelled: its end; now: its status, if
 *						nothing is kept of its cause
 *		version			after the event; NULL: the event changed nothing
 *		status			the same, perhaps as the next change found it; NULL: not known
 *		actor			the role that added or changed it, or the person for whom
 *						twtasks-web did
 *		node			name of the sidecar
 *		detail			for people: the error, the reason, the number of the try
 *
 *		No row: no such task is kept.  A task that was deleted at its end has only its
 *		attempts and the changes by hand.
 *
 * Errors
 *		22004			id is NULL
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.life(twtasks.id_of('order 4711'));
 */
CREATE FUNCTION twtasks.life(
	id uuid, ended timestamptz DEFAULT NULL, OUT at timestamptz, OUT event text, OUT version bigint,
	OUT status twtasks.task_status, OUT actor text, OUT node text, OUT detail text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF life.id IS NULL THEN
		RAISE EXCEPTION 'id must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN QUERY
	SELECT o.at, o.event, o.version, o.status, o.actor, o.node, o.detail
	FROM (SELECT e.*, max(e.version) OVER (ORDER BY e.at, e.version NULLS LAST ROWS UNBOUNDED PRECEDING) AS reached
		  FROM twtasks_internal.life_events(life.id, life.ended) e) o
	ORDER BY coalesce(o.version, o.reached) NULLS FIRST, o.version NULLS LAST, o.at;
END $$;
