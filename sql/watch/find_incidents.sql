/*
 * twtasks_internal.incident_rules()
 *
 *		The table of kinds, and the severity of each: the rules for Prometheus and the
 *		documentation have the same ones.  A warning of another extension, which has no
 *		row, is a ticket of kind "warning".
 *
 * Returns
 *		kind			of an incident; for a warning, its name
 *		severity		page or ticket; NULL: not an incident
 *		page_from		a ticket becomes a page with this count; NULL: never
 *		gone			resolved after so long without being seen
 */
CREATE FUNCTION twtasks_internal.incident_rules(
	OUT kind text, OUT severity text, OUT page_from bigint, OUT gone interval)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50
SET search_path = pg_catalog, pg_temp
AS $$
	VALUES ('error', 'ticket', 100::bigint, interval '0'),
		   ('unknown', 'page', NULL, '0'),
		   ('stuck', 'page', NULL, '5 min'),
		   ('stall', 'page', NULL, '0'),
		   ('old', 'page', NULL, '0'),
		   ('missed', 'ticket', NULL, '2 min'),
		   ('dropped', 'ticket', NULL, '2 min'),
		   ('partitions', 'ticket', NULL, '2 min'),
		   ('more', 'ticket', NULL, '0'),
		   ('silent', 'page', NULL, '0'),
		   ('warning', 'ticket', NULL, '2 min'),
		   -- work stands still
		   ('not adopted', 'page', NULL, '2 min'),
		   ('switched off', 'page', NULL, '2 min'),
		   ('no node', 'page', NULL, '2 min'),
		   ('no handler', 'page', NULL, '2 min'),
		   ('nodes missing', 'page', NULL, '2 min'),
		   ('broken handler', 'page', NULL, '2 min'),
		   ('worker crashes', 'page', NULL, '2 min'),
		   ('nobody leads', 'page', NULL, '2 min'),
		   ('listener stands still', 'page', NULL, '2 min'),
		   ('listener in trouble', 'page', NULL, '2 min'),
		   -- parts are slow or wait for a person
		   ('tasks fail and are retried', 'ticket', NULL, '2 min'),
		   ('not reloaded', 'ticket', NULL, '2 min'),
		   ('helper in trouble', 'ticket', NULL, '2 min'),
		   ('target in trouble', 'ticket', NULL, '2 min'),
		   ('traces in trouble', 'ticket', NULL, '2 min'),
		   ('silent session', 'ticket', NULL, '2 min'),
		   ('silent node', 'ticket', NULL, '2 min'),
		   ('node refused', 'ticket', NULL, '2 min'),
		   ('no queue', 'ticket', NULL, '2 min'),
		   ('schedule fails', 'ticket', NULL, '2 min'),
		   ('schedule late', 'ticket', NULL, '2 min'),
		   ('schedule paused', 'ticket', NULL, '2 min'),
		   ('history fails', 'ticket', NULL, '2 min'),
		   ('large default partition', 'ticket', NULL, '2 min'),
		   ('incidents fail', 'ticket', NULL, '2 min'),
		   ('duty fails', 'ticket', NULL, '2 min'),
		   ('duty late', 'ticket', NULL, '2 min'),
		   ('warnings missing', 'ticket', NULL, '2 min'),
		   ('role is gone', 'ticket', NULL, '2 min'),
		   ('paused', 'ticket', NULL, '2 min'),
		   ('held', 'ticket', NULL, '2 min'),
		   ('limit of 0', 'ticket', NULL, '2 min'),
		   ('outcomes stand still', 'ticket', NULL, '2 min'),
		   ('anomalies', 'ticket', NULL, '2 min'),
		   ('events stand still', 'ticket', NULL, '2 min'),
		   ('stream without its policy', 'ticket', NULL, '2 min'),
		   -- settings, not standstills
		   ('no environment', NULL, NULL, NULL),
		   ('clock shifted', NULL, NULL, NULL),
		   ('testing', NULL, NULL, NULL)
$$;

/*
 * twtasks_internal.warned_incidents()
 *
 *		The rows of twtasks.warnings as incidents, one for each warning and object.
 *		The object is the first name in quotes, or the words before a colon.  Words of
 *		programs, functions and other extensions may quote a task, so they stay in the
 *		database: the text ends before them.
 *
 * Returns
 *		as find_incidents()
 */
CREATE FUNCTION twtasks_internal.warned_incidents(
	OUT kind text, OUT object text, OUT count bigint, OUT summary text, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT w.warning, w.object, count(*), w.warning || coalesce(': ' || min(w.text), ''),
		   CASE WHEN count(*) > 1 THEN format('%s and %s more', min(w.text), count(*) - 1) END, min(w.hint)
	FROM (SELECT v.warning, t.text, v.hint,
				 coalesce(substring(v.detail FROM '^[^":]*"([^"]*)"'), substring(v.detail FROM '^([^": ]{1,100}):'), '') AS object
		  FROM twtasks.warnings v
		  CROSS JOIN LATERAL (
			SELECT CASE
				WHEN v.warning IN ('broken handler', 'listener in trouble')
					THEN substring(v.detail FROM '^((?:[^":]|"[^"]*")*:(?:[^":]|"[^"]*")*)(?::|$)')
				WHEN v.warning = 'worker crashes' THEN regexp_replace(v.detail, ', with its tasks: .*$', '')
				WHEN v.warning IN ('not adopted', 'switched off', 'no node', 'no handler', 'nodes missing', 'nobody leads',
								   'not reloaded', 'helper in trouble', 'target in trouble', 'traces in trouble', 'silent session', 'silent node',
								   'node refused', 'no queue', 'schedule late', 'schedule paused', 'large default partition',
								   'duty late', 'role is gone', 'paused', 'held', 'limit of 0', 'stream without its policy')
					THEN v.detail
				ELSE substring(v.detail FROM '^((?:[^":]|"[^"]*")*)(?::|$)') END) t(text)) w
	GROUP BY w.warning, w.object
$$;

/*
 * twtasks_internal.counted_incidents(moment)
 *
 *		Incidents of tasks that were counted: tasks in ERROR, tasks of unknown outcome,
 *		and types whose oldest task in the queue waits longer than their queue_time.  An
 *		open incident of such a type ends when its oldest task waits half as long.
 *
 *		Each look at the attempts of a task costs more than the task.  So it counts 10,000
 *		tasks of unknown outcome at most, and of each type an equal share, at least one.
 *
 * Returns
 *		as find_incidents()
 */
CREATE FUNCTION twtasks_internal.counted_incidents(
	moment timestamptz,
	OUT kind text, OUT object text, OUT count bigint, OUT summary text, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
	WITH lost AS MATERIALIZED (
		SELECT l.type, array_agg(l.id) AS ids, min(l.state_time) AS since FROM twtasks_internal.lost_tasks l GROUP BY l.type),
	share AS MATERIALIZED (SELECT greatest(1, 10000 / greatest(1, count(*))) AS tasks FROM lost),
	unknown AS (
		SELECT l.type, c.tasks, c.tasks = s.tasks AND cardinality(l.ids) > s.tasks AS capped,
			   CASE WHEN cardinality(l.ids) > s.tasks THEN least(c.lost_at, l.since) ELSE c.lost_at END AS lost_at
		FROM share s CROSS JOIN lost l
		-- OFFSET makes it look for one task after the other, until the share is reached.
		CROSS JOIN LATERAL (
			SELECT count(*) AS tasks, min(u.lost_at) AS lost_at
			FROM (SELECT v.lost_at FROM unnest(l.ids) i(id)
				  CROSS JOIN LATERAL (SELECT o.lost_at FROM twtasks.unknown_outcomes o WHERE o.id = i.id OFFSET 0) v
				  LIMIT s.tasks) u) c
		WHERE c.tasks > 0)
	SELECT 'error', e.type, e.tasks,
		   format(twtasks_internal.plural(e.tasks, '%s%s task of type "%s" is in ERROR', '%s%s tasks of type "%s" are in ERROR'),
				  CASE WHEN e.capped THEN 'at least ' END, e.tasks, e.type),
		   format('the first one since %s', e.oldest),
		   format('SELECT * FROM twtasks.error_tasks WHERE type = %L shows them; twtasks.change_tasks() resumes or ends them', e.type)
	FROM (SELECT m.type, sum(m.tasks)::bigint AS tasks, bool_or(m.capped) AS capped, min(m.oldest) AS oldest
		  FROM twtasks.monitor_type m WHERE m.status = 'ERROR' GROUP BY m.type) e
	UNION ALL
	-- many HELD tasks hide them from the count of types
	SELECT 'error', '*', l.errors, format(twtasks_internal.plural(l.errors, 'at least %s task is in ERROR', 'at least %s tasks are in ERROR'), l.errors),
		   'more tasks are HELD than are counted by type',
		   'SELECT * FROM twtasks.error_tasks shows them; twtasks.change_tasks() resumes or ends them'
	FROM twtasks.monitor_look l
	WHERE l.errors > 0 AND NOT EXISTS (SELECT FROM twtasks.monitor_type m WHERE m.status = 'ERROR')
	UNION ALL
	SELECT 'unknown', u.type, u.tasks,
		   format(twtasks_internal.plural(u.tasks, '%s%s task of type "%s" has an unknown outcome', '%s%s tasks of type "%s" have an unknown outcome'),
				  CASE WHEN u.capped THEN 'at least ' END, u.tasks, u.type),
		   format(twtasks_internal.plural(u.tasks, 'it was lost at %s', 'the first one was lost at %s'), u.lost_at),
		   format('SELECT * FROM twtasks.unknown_outcomes WHERE type = %L shows them, with what to type', u.type)
	FROM unknown u
	UNION ALL
	SELECT 'old', o.type, o.tasks,
		   format(twtasks_internal.plural(o.tasks, '%s%s task of type "%s" waits since %s', '%s%s tasks of type "%s" wait, the oldest since %s'),
				  CASE WHEN o.capped THEN 'at least ' END, o.tasks, o.type, o.oldest),
		   format('its queue_time is %s', o.queue_time),
		   format('SELECT why, count(*) FROM twtasks.find_stuck(20) WHERE type = %L GROUP BY why says why', o.type)
	FROM (SELECT m.type, sum(m.tasks)::bigint AS tasks, bool_or(m.capped) AS capped, min(m.oldest) AS oldest,
				 twtasks_internal.queue_time(m.type) AS queue_time
		  FROM twtasks.monitor_type m
		  -- policies allow no queue_time below 1 s
		  WHERE m.status = 'SUBMITTED' AND m.oldest < counted_incidents.moment - interval '0.5 s' AND NOT twtasks.is_paused(m.type, m.bucket)
		  GROUP BY m.type) o
	WHERE o.oldest < counted_incidents.moment - o.queue_time
	   OR o.oldest < counted_incidents.moment - o.queue_time / 2
		  AND EXISTS (SELECT FROM twtasks.incident i WHERE i.key = 'old/' || o.type AND i.resolved IS NULL)
$$;

/*
 * twtasks_internal.still_incidents(moment)
 *
 *		Incidents of what stands still: tasks that should have moved on 5 minutes ago,
 *		but for those in the queue, and buckets in which no task starts although a task
 *		that nothing holds up waits.  Looks for them only if the last count shows that
 *		there can be some.  The first count after an outage may see tasks between their
 *		promotion and their grab, so it opens no stall.  Nor does any count where a sidecar
 *		works that does not tell what it starts.
 *
 * Returns
 *		as find_incidents()
 */
CREATE FUNCTION twtasks_internal.still_incidents(
	moment timestamptz,
	OUT kind text, OUT object text, OUT count bigint, OUT summary text, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
	WITH late AS (
		SELECT n.type, n.status, n.next_event_time FROM twtasks_internal.late_not_queued(1000, still_incidents.moment - interval '5 min') n
		UNION ALL
		SELECT q.type, q.status, q.next_event_time
		FROM twtasks_internal.late_queued(1000, still_incidents.moment - interval '5 min', 1000) q
		WHERE q.status = 'PROCESSING'
		  AND EXISTS (SELECT FROM twtasks.monitor_look l WHERE l.stuck > 0)
		  AND EXISTS (SELECT FROM twtasks.monitor_type m WHERE m.status = 'PROCESSING' AND m.oldest < still_incidents.moment - interval '5 min')),
	idle AS (
		SELECT m.bucket, sum(m.tasks)::bigint AS tasks, min(m.oldest) AS oldest, array_agg(m.type ORDER BY m.oldest) AS types
		FROM (SELECT s.bucket, s.type, s.tasks, s.oldest, row_number() OVER (PARTITION BY s.bucket ORDER BY s.oldest) AS place
			  FROM twtasks.monitor_type s WHERE s.status = 'SUBMITTED' AND s.oldest < still_incidents.moment - interval '2 min') m
		WHERE m.place <= 20 AND twtasks_internal.works_for(m.bucket)
		  AND NOT EXISTS (SELECT FROM twtasks.monitor_type p WHERE p.bucket = m.bucket AND p.status = 'PROCESSING')
		  AND NOT EXISTS (SELECT FROM twtasks_internal.living_nodes() n
						  WHERE m.bucket = ANY (n.buckets) IS NOT FALSE AND NOT n.notes_flow)
		  AND (EXISTS (SELECT FROM twtasks.monitor_look l WHERE l.counted_since < still_incidents.moment - interval '30 s')
			   OR EXISTS (SELECT FROM twtasks.incident i WHERE i.key = 'stall/' || m.bucket AND i.resolved IS NULL))
		  -- a row is about the minute after its time
		  AND NOT EXISTS (SELECT FROM twtasks.flow f WHERE f.at > still_incidents.moment - interval '3 min' AND f.bucket = m.bucket AND f.started > 0)
		GROUP BY m.bucket)
	SELECT 'stuck', l.type, count(*), format(twtasks_internal.plural(count(*), '%s task of type "%s" should have moved on', '%s tasks of type "%s" should have moved on'),
				  count(*), l.type),
		   format('the first one at %s: %s', min(l.next_event_time),
				  CASE WHEN bool_or(l.status = 'PROCESSING') THEN 'its deadline passed without a result'
					   ELSE 'it is due and nobody promotes it' END),
		   format('SELECT * FROM twtasks.find_stuck(20) WHERE type = %L shows them', l.type)
	FROM late l GROUP BY l.type
	UNION ALL
	SELECT 'stall', b.bucket, b.tasks, format('no task starts in bucket "%s", the oldest waits since %s', b.bucket, b.oldest),
		   format(twtasks_internal.plural(b.tasks, '%s task of type "%s" could run', '%s tasks could run, such as some of type "%s"'), b.tasks, w.type),
		   format('look at the logs and /health of the sidecars that work for bucket "%s"', b.bucket)
	FROM idle b
	CROSS JOIN LATERAL (
		SELECT q.type FROM twtasks_internal.why_queued(b.types, array_fill(b.bucket, ARRAY[cardinality(b.types)])) q
		WHERE q.why ^@ 'nobody grabs it' ORDER BY q.type LIMIT 1) w
$$;

/*
 * twtasks_internal.named_incidents(moment)
 *
 *		Incidents that happen at a time, and stay for an hour after it: occurrences of
 *		schedules that were left out, and triggers that found their queue full.  Also
 *		missing partitions of the history.
 *
 * Returns
 *		as find_incidents()
 */
CREATE FUNCTION twtasks_internal.named_incidents(
	moment timestamptz,
	OUT kind text, OUT object text, OUT count bigint, OUT summary text, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
	SELECT 'missed', s.name, 1::bigint, format('schedule "%s" left out occurrences, the last one of %s', s.name, s.last_missed),
		   'nobody ran schedules at that time', format('SELECT twtasks.run_schedule_now(%L) adds its task now', s.name)
	FROM twtasks.schedule s
	WHERE s.last_missed > named_incidents.moment - interval '1 day'
	  AND NOT EXISTS (SELECT FROM twtasks.incident i
					  WHERE i.key = 'missed/' || s.name AND i.opened >= s.last_missed
						AND (i.resolved IS NOT NULL OR i.opened < named_incidents.moment - interval '1 hour'))
	UNION ALL
	SELECT 'dropped', '', l.dropped - b.known, format(twtasks_internal.plural(l.dropped - b.known, '%s trigger found its queue in shared memory full',
														   '%s triggers found their queue in shared memory full'), l.dropped - b.known),
		   'their tasks start later, by the sweep', 'increase twtasks.queue_size, or start more sidecars'
	FROM twtasks.monitor_look l
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(i.count), 0)::bigint AS known FROM twtasks.incident i
		WHERE i.key = 'dropped/' AND i.opened > pg_postmaster_start_time() AND i.opened >= coalesce(l.dropped_since, '-infinity')
		  AND (i.resolved IS NOT NULL OR i.opened < named_incidents.moment - interval '1 hour')) b
	WHERE l.dropped > b.known
	UNION ALL
	SELECT 'partitions', '', 1, format('the history has partitions for less than two days ahead, the last one until %s', coalesce(p.past::text, 'now')),
		   'without a partition tasks finish in finished_task_other',
		   'SELECT twtasks_internal.make_partitions() makes them, or says what keeps the leader from it'
	FROM (SELECT max(h.past) AS past FROM twtasks_internal.history_parts() h) p
	WHERE to_regclass('twtasks.finished_task_other') IS NOT NULL
	  AND coalesce(p.past, '-infinity') < (SELECT clock_timestamp())::date + 2
$$;

/*
 * twtasks_internal.find_incidents(moment)
 *
 *		All that is wrong now.  Reads what the leader has just counted, and
 *		twtasks.warnings.  It returns, of each kind, all that is open, and the 200 with the
 *		highest count: note_incidents() keeps no more.
 *
 * Returns
 *		key, kind, object	see twtasks.incident
 *		count			how many tasks or other things are concerned
 *		summary, detail, hint
 */
CREATE FUNCTION twtasks_internal.find_incidents(
	moment timestamptz,
	OUT key text, OUT kind text, OUT object text, OUT count bigint, OUT summary text, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT p.key, p.kind, p.object, p.count, p.summary, p.detail, p.hint
	FROM (SELECT f.*, o.key IS NOT NULL AS is_open, row_number() OVER (PARTITION BY f.kind ORDER BY f.count DESC, f.object) AS place
		  FROM (SELECT 'warning/' || w.kind || '/' || w.object AS key, w.* FROM twtasks_internal.warned_incidents() w
				UNION ALL
				SELECT e.kind || '/' || e.object, e.*
				FROM (SELECT c.* FROM twtasks_internal.counted_incidents(moment) c
					  UNION ALL
					  SELECT s.* FROM twtasks_internal.still_incidents(moment) s
					  UNION ALL
					  SELECT n.* FROM twtasks_internal.named_incidents(moment) n) e) f
		  LEFT JOIN twtasks.incident o ON o.key = f.key AND o.resolved IS NULL) p
	WHERE p.place <= 200 OR p.is_open
$$;
