-- A list of ids, or a page of all tasks that the other parameters choose.
WITH listed AS MATERIALIZED (
	SELECT l.* FROM twtasks.list_tasks(
		status => $2::text[]::twtasks.task_status[], type => $3, bucket => $4, priority => $5::integer, key => $6, key_prefix => $7, sub_type => $8,
		node => $9, error => $10, added_by => $11, since => $12::timestamptz, until => $13::timestamptz, after => $14,
		max_tasks => coalesce($15::integer, 50),
		budget => coalesce($16::integer, CASE WHEN $2::text[] <@ '{ERROR,HELD}' THEN 100000 ELSE 20000 END)) l
	WHERE $1 IS NULL),
page AS (SELECT l.cursor, l.looked_at, l.looked_back_to, l.is_complete FROM listed l WHERE l.id IS NULL),
named AS MATERIALIZED (
	SELECT DISTINCT ON (t.id) t.* FROM twtasks.tasks t WHERE t.id = ANY ($1::text[]::uuid[]) ORDER BY t.id DESC, t.state_time DESC),
item AS (
	SELECT l.id, l.version, l.type, l.sub_type, l.bucket, l.priority, l.status, l.created, l.state_time, l.next_event_time, l.deadline, l.expires,
		l.tries, l.key, l.error, l.node, l.added_by, l.message
	FROM listed l WHERE l.id IS NOT NULL
	UNION ALL
	SELECT n.id, n.version, n.type, n.sub_type, n.bucket, n.priority, n.status, n.created, n.state_time, n.next_event_time, n.deadline, n.expires,
		n.tries, n.key, n.error, (SELECT k.name FROM twtasks.nodes k WHERE k.incarnation = n.incarnation), n.added_by, n.message
	FROM named n)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id DESC), '[]')
		FROM (SELECT i.id, i.version::text, i.type, i.sub_type, i.bucket, i.priority, i.status, i.created, i.state_time,
				nullif(i.next_event_time, 'infinity') AS next_event_time, nullif(i.deadline, 'infinity') AS deadline, nullif(i.expires, 'infinity') AS expires,
				i.tries, i.key, left(i.error, 500) AS error, i.node, i.added_by, left(i.message, 500) AS message
			FROM item i) r),
	'cursor', p.cursor,
	'looked_at', coalesce(p.looked_at, (SELECT count(*) FROM named)),
	'looked_back_to', coalesce(p.looked_back_to, (SELECT min(n.created) FROM named n)),
	'is_complete', coalesce(p.is_complete, true))::text AS body
FROM (VALUES (1)) one LEFT JOIN page p ON true
