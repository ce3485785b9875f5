WITH listed AS MATERIALIZED (
	SELECT r.*, row_number() OVER (ORDER BY r.occurrence DESC) AS place FROM twtasks.schedule_runs r
	WHERE r.name = $1 AND ($2 IS NULL OR r.occurrence < $2::timestamptz)
	ORDER BY r.occurrence DESC LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('name', l.name, 'occurrence', l.occurrence, 'added', l.added, 'task_id', l.task_id,
			'status', l.status, 'state_time', l.state_time, 'error', left(l.error, 500)) ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($3::integer, 50)),
	'cursor', (SELECT to_char(l.occurrence, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
WHERE EXISTS (SELECT FROM listed) OR EXISTS (SELECT FROM twtasks.schedules s WHERE s.name = $1)
