/*
 * Payloads are not in these views, since a role that may see tasks may not
 * see their data.
 *
 * In twtasks.tasks each part has a constant name.  The WHERE clause outside the
 * union tests that name, so the planner keeps one condition per part.  It then
 * skips parts that cannot have a status, and joins by id with an index.  A
 * condition inside a part prevents both.
 */
CREATE VIEW twtasks.tasks AS
	SELECT a.id, a.version, a.type, a.sub_type, a.bucket, a.priority, a.status,
		   a.created, a.state_time, a.next_event_time, a.deadline, a.expires,
		   a.tries, a.key, a.error, a.incarnation, a.planned, a.added_by, a.message, a.started
	FROM (SELECT 'queue' AS part, t.queued, t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
				 t.created, t.state_time, t.next_event_time, t.deadline, t.expires,
				 t.tries, t.key, t.error, t.incarnation, t.planned, t.added_by, NULL::text AS message,
				 CASE WHEN t.status = 'PROCESSING' THEN t.state_time END AS started
		  FROM twtasks.task t
		  UNION ALL
		  SELECT 'timed', t.queued, t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
				 t.created, t.state_time, t.next_event_time, t.deadline, t.expires,
				 t.tries, t.key, t.error, t.incarnation, t.planned, t.added_by, NULL::text,
				 CASE WHEN t.status = 'PROCESSING' THEN t.state_time END
		  FROM twtasks.task t
		  UNION ALL
		  SELECT 'history', false, f.id, f.version, f.type, f.sub_type, f.bucket, f.priority, f.status,
				 f.created, f.state_time, NULL, NULL, NULL,
				 f.tries, f.key, f.error, f.incarnation, NULL, f.added_by, f.message, f.started
		  FROM twtasks.finished_task f) a
	WHERE CASE a.part
			WHEN 'queue' THEN a.queued AND a.status IN ('SUBMITTED', 'PROCESSING')
			WHEN 'timed' THEN NOT a.queued AND a.status IN ('WAITING', 'PROCESSING', 'ERROR', 'HELD')
			ELSE a.status IN ('DONE', 'FAILED', 'CANCELLED') END;
COMMENT ON VIEW twtasks.tasks IS 'All tasks, live and finished, without their data';

/* A view does not change the current user, so these are the caller's roles. */
CREATE VIEW twtasks.own_tasks WITH (security_barrier) AS
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
		   t.created, t.state_time, t.next_event_time, t.expires, t.tries, t.key, t.error, t.added_by, t.message,
		   (SELECT f.outcome FROM twtasks.finished_task f WHERE f.id = t.id AND f.state_time = t.state_time) AS outcome,
		   (SELECT p.percent FROM twtasks.progress p WHERE p.id = t.id) AS progress,
		   (SELECT p.note FROM twtasks.progress p WHERE p.id = t.id) AS progress_note
	FROM twtasks.tasks t
	WHERE t.added_by = ANY (ARRAY(SELECT r.rolname::text FROM pg_catalog.pg_roles r
								  WHERE pg_catalog.pg_has_role(r.oid, 'USAGE')));
COMMENT ON VIEW twtasks.own_tasks IS 'Tasks added by the caller''s role or a role that it is a member of; ask by id, since other columns have no index';

/*
 * twtasks.id_of(key)
 *
 *		The id of the task that was added with that key, live or finished.  No
 *		index of tasks has their keys: WHERE id = id_of(...) is quick, WHERE key
 *		= ... reads all tasks.
 *
 * Returns
 *		uuid; NULL: no such task is kept
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.tasks WHERE id = twtasks.id_of('order 4711');
 */
CREATE FUNCTION twtasks.id_of(key text)
RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT u.task_id FROM twtasks.unique_key u WHERE u.key = id_of.key $$;

CREATE VIEW twtasks.error_tasks AS
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority,
		   t.created, t.state_time, t.tries, t.key, t.error
	FROM twtasks.task t
	WHERE NOT t.queued AND t.next_event_time = 'infinity' AND t.status = 'ERROR';
COMMENT ON VIEW twtasks.error_tasks IS 'Tasks in ERROR, which wait for a person';

CREATE VIEW twtasks.stuck_tasks AS
	SELECT s.id, s.version, s.type, s.sub_type, s.bucket, s.priority, s.status,
		   s.created, s.state_time, s.tries, s.node, s.why, s.since
	FROM twtasks.find_stuck() s;
COMMENT ON VIEW twtasks.stuck_tasks IS 'Tasks that should have moved on, and the likely reason; at most 10,000 of the queue, see find_stuck()';

CREATE VIEW twtasks.stats AS
	SELECT c.bucket, c.type, c.status, c.tasks, c.capped, c.oldest, c.most_tries, c.newest
	FROM twtasks.count_tasks() c;
COMMENT ON VIEW twtasks.stats IS 'Live tasks counted by bucket, type and status; see count_tasks()';

CREATE VIEW twtasks.nodes AS
	SELECT n.incarnation, n.name, n.started, n.heartbeat, n.lease, n.ended, n.buckets, n.types,
		   n.leads AND n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease AS leads, n.faults
	FROM twtasks.node n;
COMMENT ON VIEW twtasks.nodes IS 'Sidecars, running and recently ended';

CREATE VIEW twtasks.task_history AS
	SELECT t.id AS task_id, t.created AS at, 'add' AS event, NULL AS actor, NULL AS role,
		   NULL AS application, 0::bigint AS version, NULL::twtasks.task_status AS status,
		   NULL AS reason, NULL::jsonb AS before, NULL::jsonb AS after
	FROM twtasks.tasks t
	UNION ALL
	SELECT a.task_id, a.at, a.action, coalesce(a.on_behalf_of, a.actor), a.role, a.application,
		   a.to_version, a.to_status, a.reason, a.before, a.after
	FROM twtasks.audit a
	UNION ALL
	SELECT t.id, t.started, 'start', NULL, NULL,
		   NULL, CASE t.status WHEN 'PROCESSING' THEN t.version ELSE t.version - 1 END,
		   'PROCESSING', NULL, NULL, NULL
	FROM twtasks.tasks t WHERE t.started IS NOT NULL
	UNION ALL
	SELECT t.id, greatest(twtasks.clock(), t.state_time), 'now', NULL, NULL,
		   NULL, t.version, t.status, t.error, NULL, NULL
	FROM twtasks.tasks t;
COMMENT ON VIEW twtasks.task_history IS 'The history of a task: its add, each change by hand, its last start, and its present state; order by at';

/*
 * twtasks.queue_stats()
 *
 *		The shared-memory queues of this database.
 *
 * Returns
 *		bucket		bucket of the queue
 *		waiting		triggers in it
 *		pushed		triggers ever pushed
 *		dropped		triggers dropped since it was full; a sweep finds their tasks
 *		waiters		sidecars waiting in next_triggers() now
 *		need_sweep	a sweep was asked for, and no sidecar has begun it
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queue_stats(
	OUT bucket text, OUT waiting bigint, OUT pushed bigint,
	OUT dropped bigint, OUT waiters integer, OUT need_sweep boolean)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_queue_stats';
