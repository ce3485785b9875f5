/*
 * A stuck rule leaves its reason as the error, and notes an attempt "unknown".  The
 * error alone decides if no attempt is kept: before an update from version 1.0, after
 * twtasks.keep_attempts, or without a partition.  A later try that ended has an attempt
 * of its own, so an error that it kept does not count.
 */
CREATE VIEW twtasks.unknown_outcomes AS
	SELECT t.id, t.version, t.type, t.bucket, t.status, t.key, t.tries, a.node,
		   coalesce(a.ended, t.state_time) AS lost_at, t.error AS why,
		   l.error AS late_result, l.ended AS late_at,
		   format(CASE t.status WHEN 'HELD' THEN 'SELECT * FROM twtasks.release_task(%L, %s, now(), ''...'')'
				  ELSE 'SELECT * FROM twtasks.resume_task(%L, %s, ''...'')' END, t.id, t.version) AS if_not_done,
		   format('SELECT * FROM twtasks.confirm_task(%L, %s, ''...'')', t.id, t.version) AS if_done
	FROM twtasks.task t
	LEFT JOIN LATERAL (
		SELECT b.version, b.result, b.node, b.ended FROM twtasks.task_attempt b
		WHERE b.task_id = t.id AND b.result <> 'late' ORDER BY b.version DESC LIMIT 1) a ON true
	LEFT JOIN LATERAL (
		SELECT c.error, c.ended FROM twtasks.task_attempt c
		WHERE c.task_id = t.id AND c.version = a.version AND c.result = 'late' LIMIT 1) l ON true
	WHERE NOT t.queued AND t.next_event_time = 'infinity'
	  AND (t.status = 'ERROR' OR t.status = 'HELD' AND t.planned = 'infinity')
	  AND t.error ^@ ANY ('{the node that ran it is gone,its deadline passed without a result}'::text[])
	  AND coalesce(a.result, 'unknown') = 'unknown';
COMMENT ON VIEW twtasks.unknown_outcomes IS 'Tasks that may have had their effect, although nobody reported it, and that wait for a person to decide';
