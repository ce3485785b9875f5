/*
 * twtasks_internal.known_metrics()
 *
 *		The metrics of twtasks.metrics(), with their type for Prometheus and their
 *		meaning.
 */
CREATE FUNCTION twtasks_internal.known_metrics(OUT name text, OUT type text, OUT help text)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 30
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.name, m.type, m.help FROM (VALUES
		('tasks', 'gauge', 'Live tasks at the last count; capped: there may be more.'),
		('oldest_runnable_seconds', 'gauge', 'For how long the oldest task that can run has waited, at the last count.'),
		('queue_time_seconds', 'gauge', 'How long a task that can run may wait before it counts as stuck, at the last count.'),
		('retrying_tasks', 'gauge', 'Tasks that have failed and will be tried again, at the last count.'),
		('stuck_tasks', 'gauge', 'Tasks that should have moved on, at the last count.'),
		('warnings', 'gauge', 'Rows of twtasks.warnings.'),
		('incidents', 'gauge', 'Open incidents.'),
		('monitor_timestamp_seconds', 'gauge', 'Time of the last count by the leading sidecar.'),
		('nodes', 'gauge', 'Sidecars that live.'),
		('queue_pushed_total', 'counter', 'Triggers pushed to the queue since the start of the server.'),
		('queue_dropped_total', 'counter', 'Triggers that found the queue full since the start of the server.'),
		('queue_waiting', 'gauge', 'Triggers in the queue.'),
		('limit_slots', 'gauge', 'Slots of the limit.'),
		('limit_used', 'gauge', 'Slots of the limit in use in the cluster.'),
		('schedule_next_seconds', 'gauge', 'Time of the next run of the schedule.'),
		('schedule_missed_timestamp_seconds', 'gauge', 'The last run that was left out; 0: none was.'),
		('listener_offset', 'gauge', 'The first message that the listener has not taken.'),
		('listener_moved_timestamp_seconds', 'gauge', 'Time at which the listener last took messages.'),
		('listener_stands', 'gauge', '1: the listener takes no messages of the partition; see twtasks.listeners.'),
		('finished_rows', 'gauge', 'Rows of the history, as the planner estimates them, at the last count.'),
		('history_span_seconds', 'gauge', 'Time that the history covers, in whole days.'),
		('history_kept_seconds', 'gauge', 'How long the history is kept: twtasks.keep_finished.'),
		('history_ahead_seconds', 'gauge', 'Time to come that has partitions of the history, in whole days.'),
		('live_dead_tuples', 'gauge', 'Dead rows of twtasks.task, as the statistics know them.'),
		('oldest_xmin', 'gauge', 'The oldest transaction id that somebody holds against VACUUM; 0: none.'),
		('oldest_xmin_age', 'gauge', 'Transactions since the oldest one that somebody holds against VACUUM.')
		) m(name, type, help)
$$;

/*
 * twtasks_internal.metrics_of_tasks()
 *
 *		The last count of live tasks by bucket, type and status.  The 200 types with the
 *		most tasks have rows of their own, the others are "(other)".  monitor_tasks()
 *		stores them, since there may be rows of thousands of types.
 *
 * Returns
 *		name, labels, value
 */
CREATE FUNCTION twtasks_internal.metrics_of_tasks(OUT name text, OUT labels jsonb, OUT value double precision)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	WITH busy AS MATERIALIZED (
		SELECT c.type FROM twtasks.monitor_type c GROUP BY c.type ORDER BY sum(c.tasks) DESC, c.type LIMIT 200),
	shown AS MATERIALIZED (
		SELECT c.bucket, coalesce(b.type, '(other)') AS type, c.status, sum(c.tasks) AS tasks, bool_or(c.capped) AS capped,
			   sum(c.retrying) AS retrying
		FROM twtasks.monitor_type c LEFT JOIN busy b ON b.type = c.type GROUP BY c.bucket, b.type, c.status),
	runnable AS MATERIALIZED (
		SELECT DISTINCT ON (c.bucket, b.type) c.bucket, coalesce(b.type, '(other)') AS type, c.type AS own_type,
			   extract(epoch FROM c.at - c.oldest) AS waits
		FROM twtasks.monitor_type c LEFT JOIN busy b ON b.type = c.type
		WHERE c.status = 'SUBMITTED' ORDER BY c.bucket, b.type, c.oldest)
	SELECT 'tasks', jsonb_build_object('bucket', s.bucket, 'type', s.type, 'status', s.status, 'capped', s.capped), s.tasks
	FROM shown s
	UNION ALL
	SELECT 'retrying_tasks', jsonb_build_object('bucket', s.bucket, 'type', s.type), sum(s.retrying)
	FROM shown s GROUP BY s.bucket, s.type HAVING sum(s.retrying) > 0
	UNION ALL
	SELECT v.name, jsonb_build_object('bucket', r.bucket, 'type', r.type), v.value
	FROM runnable r
	CROSS JOIN LATERAL (VALUES ('oldest_runnable_seconds', greatest(r.waits, 0)),
							   ('queue_time_seconds', extract(epoch FROM twtasks_internal.queue_time(r.own_type)))) v(name, value)
$$;

/*
 * twtasks_internal.metrics_of_service()
 *
 *		Warnings, the time of the leader's count, and the queues of triggers.
 *
 * Returns
 *		as metrics_of_tasks()
 */
CREATE FUNCTION twtasks_internal.metrics_of_service(OUT name text, OUT labels jsonb, OUT value double precision)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT 'warnings', jsonb_build_object('kind', w.warning), count(*) FROM twtasks.warnings w GROUP BY w.warning
	UNION ALL
	SELECT 'incidents', jsonb_build_object('kind', i.kind, 'severity', i.severity), count(*)
	FROM twtasks.incident i WHERE i.resolved IS NULL GROUP BY i.kind, i.severity
	UNION ALL
	SELECT 'nodes', '{}'::jsonb, count(*) FROM twtasks_internal.living_nodes()
	UNION ALL
	SELECT v.name, '{}'::jsonb, v.value FROM twtasks.monitor_look m
	CROSS JOIN LATERAL (VALUES ('monitor_timestamp_seconds', extract(epoch FROM m.at)), ('stuck_tasks', m.stuck),
							   ('finished_rows', m.finished_estimate)) v(name, value)
	UNION ALL
	SELECT v.name, jsonb_build_object('bucket', q.bucket), v.value FROM twtasks.queue_stats() q
	CROSS JOIN LATERAL (VALUES ('queue_pushed_total', q.pushed), ('queue_dropped_total', q.dropped),
							   ('queue_waiting', q.waiting)) v(name, value)
$$;

/*
 * twtasks_internal.metrics_of_rules()
 *
 *		Limits, schedules and listeners.  The 200 limits with the most slots in use have
 *		rows of their own, the others are "(other)"; there are the next 200 schedules.
 *
 * Returns
 *		as metrics_of_tasks()
 */
CREATE FUNCTION twtasks_internal.metrics_of_rules(OUT name text, OUT labels jsonb, OUT value double precision)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	WITH ranked AS MATERIALIZED (
		SELECT coalesce(l.name, l.pattern) AS name, l.scope, l.concurrency AS slots,
			   CASE l.scope WHEN 'cluster' THEN coalesce(l.used, 0) END AS used,
			   row_number() OVER (ORDER BY l.used DESC NULLS LAST, coalesce(l.name, l.pattern)) AS place
		FROM twtasks.limits l WHERE l.concurrency IS NOT NULL),
	limits AS MATERIALIZED (
		SELECT jsonb_build_object('limit', n.name, 'scope', n.scope) AS labels, sum(n.slots) AS slots, sum(n.used) AS used
		FROM (SELECT CASE WHEN r.place <= 200 THEN r.name ELSE '(other)' END AS name, r.scope, r.slots, r.used FROM ranked r) n
		GROUP BY n.name, n.scope)
	SELECT 'limit_slots', l.labels, l.slots FROM limits l
	UNION ALL
	SELECT 'limit_used', l.labels, l.used FROM limits l
	UNION ALL
	SELECT v.name, jsonb_build_object('schedule', s.name), v.value
	FROM (SELECT d.name, d.next_run, d.last_missed FROM twtasks.schedule d WHERE NOT d.is_paused
		  ORDER BY d.next_run, d.name LIMIT 200) s
	CROSS JOIN LATERAL (VALUES ('schedule_next_seconds', extract(epoch FROM s.next_run)),
							   ('schedule_missed_timestamp_seconds', coalesce(extract(epoch FROM s.last_missed), 0))) v(name, value)
	UNION ALL
	SELECT v.name, jsonb_build_object('listener', o.listener, 'topic', o.topic, 'partition', o.partition), v.value
	FROM (SELECT k.* FROM twtasks.listeners k ORDER BY k.listener, k.topic, k.partition LIMIT 1000) o
	CROSS JOIN LATERAL (VALUES ('listener_offset', o.next_offset), ('listener_moved_timestamp_seconds', extract(epoch FROM o.moved)),
							   ('listener_stands', (o.problem IS NOT NULL)::integer)) v(name, value)
$$;

/*
 * twtasks_internal.metrics_of_storage()
 *
 *		The days of the history, dead rows, and who keeps VACUUM from them.
 *
 * Returns
 *		as metrics_of_tasks()
 */
CREATE FUNCTION twtasks_internal.metrics_of_storage(OUT name text, OUT labels jsonb, OUT value double precision)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET jit = off
AS $$
	WITH holder AS MATERIALIZED (
		SELECT x.xmin::text::bigint AS xmin, age(x.xmin) AS age
		FROM (SELECT a.backend_xmin AS xmin FROM pg_stat_get_activity(NULL) a
			  WHERE a.pid <> pg_backend_pid()
				AND (a.datid = 0 OR a.datid IS NULL OR a.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
			  UNION ALL
			  SELECT s.xmin FROM pg_replication_slots s
			  UNION ALL
			  SELECT p.transaction FROM pg_prepared_xacts p WHERE p.database = current_database()) x
		WHERE x.xmin IS NOT NULL ORDER BY age(x.xmin) DESC LIMIT 1),
	days AS (
		SELECT min(p.first) AS first, max(p.past) AS past, clock_timestamp()::date AS today
		FROM twtasks_internal.history_parts() p)
	SELECT v.name, '{}'::jsonb, v.value
	FROM days d LEFT JOIN holder h ON true
	CROSS JOIN LATERAL (VALUES
		('history_span_seconds', greatest(d.today - d.first + 1, 0) * 86400),
		('history_ahead_seconds', greatest(d.past - d.today - 1, 0) * 86400),
		('history_kept_seconds', extract(epoch FROM twtasks_internal.keep_finished())),
		('live_dead_tuples', pg_stat_get_dead_tuples('twtasks.task'::regclass)),
		('oldest_xmin', coalesce(h.xmin, 0)),
		('oldest_xmin_age', coalesce(h.age, 0))) v(name, value)
$$;

/*
 * twtasks.metrics()
 *
 *		Figures of this database for a monitoring system: what twtasks-web shows at
 *		/metrics, for any SQL exporter.  Reads a bounded number of rows, and no
 *		payload.
 *
 * Returns
 *		name			as Prometheus wants it, such as twtasks_tasks
 *		type			gauge or counter
 *		help			the meaning
 *		labels			an object, such as {"bucket": "default", "type": "PAYOUT"}
 *		value			times in seconds since 1970
 *
 * Locks		none
 * Example		SELECT labels, value FROM twtasks.metrics() WHERE name = 'twtasks_warnings';
 */
CREATE FUNCTION twtasks.metrics()
RETURNS TABLE (name text, type text, help text, labels jsonb, value double precision)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 300
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT 'twtasks_' || k.name, k.type, k.help, m.labels, m.value
	FROM (SELECT t.name, t.labels, t.value FROM twtasks.monitor_metric t
		  UNION ALL SELECT s.* FROM twtasks_internal.metrics_of_service() s
		  UNION ALL SELECT r.* FROM twtasks_internal.metrics_of_rules() r
		  UNION ALL SELECT h.* FROM twtasks_internal.metrics_of_storage() h) m
	JOIN twtasks_internal.known_metrics() k ON k.name = m.name
	WHERE m.value IS NOT NULL
	ORDER BY k.name, m.labels
$$;

/*
 * twtasks.metrics_text()
 *
 *		The rows of metrics() in the text format of Prometheus, version 0.0.4.
 *
 * Returns
 *		text, which ends with a line feed
 *
 * Locks		none
 * Example		SELECT twtasks.metrics_text();
 */
CREATE FUNCTION twtasks.metrics_text()
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT string_agg(g.lines, '' ORDER BY g.name)
	FROM (SELECT m.name, concat('# HELP ', m.name, ' ', m.help, chr(10), '# TYPE ', m.name, ' ', m.type, chr(10),
								string_agg(concat(m.name, l.text, ' ', m.value, chr(10)), '' ORDER BY m.labels)) AS lines
		  FROM twtasks.metrics() m
		  CROSS JOIN LATERAL (
			SELECT '{' || string_agg(concat(e.key, '="', replace(replace(replace(
					e.value, chr(92), chr(92) || chr(92)), chr(10), chr(92) || 'n'), '"', chr(92) || '"'), '"'), ',' ORDER BY e.key) || '}'
			FROM jsonb_each_text(m.labels) e) l(text)
		  GROUP BY m.name, m.type, m.help) g
$$;
