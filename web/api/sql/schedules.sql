WITH listed AS MATERIALIZED (
	SELECT s.*, row_number() OVER (ORDER BY s.name) AS place FROM twtasks.schedules s
	WHERE ($1 IS NULL OR s.type = $1) AND ($2 IS NULL OR s.name > $2)
	ORDER BY s.name LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.name), '[]') FROM (
		SELECT l.name, l.cron, l.time_zone, l.missed, l.missed_limit, l.type, l.sub_type, l.bucket, l.priority, l.expires_after, l.is_paused,
			l.next_run, l.problem, l.last_missed, l.last_run, l.last_task, l.last_status, l.last_state_time, left(l.last_error, 500) AS last_error,
			(SELECT coalesce(json_agg(json_build_object('occurrence', c.occurrence, 'local_time', c.local_time) ORDER BY c.occurrence), '[]')
			 FROM twtasks.cron_preview(l.cron, (SELECT twtasks.clock()), l.time_zone, 5) c
			 WHERE l.next_run IS NOT NULL AND l.problem IS NULL) AS next,
			coalesce((SELECT max(a.at) FROM twtasks.schedule_audit a WHERE a.name = l.name), 'epoch') AS changed_at
		FROM listed l WHERE l.place <= coalesce($3::integer, 50)) r),
	'cursor', (SELECT l.name FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
