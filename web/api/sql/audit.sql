-- The ids ascend nearly with the time, and no index has the time: each call looks at 20,000 rows at most.
WITH looked AS MATERIALIZED (
	(SELECT a.id, a.at, a.actor, a.on_behalf_of, a.role, a.application, a.action, 'task' AS kind, a.task_id::text AS name, a.from_version, a.to_version,
		a.from_status, a.to_status, a.reason, a.before, a.after
	 FROM twtasks.audit a
	 WHERE coalesce($1, 'tasks') = 'tasks' AND $2 IS NULL AND a.id < coalesce($7::bigint, 9223372036854775807) ORDER BY a.id DESC LIMIT 20000)
	UNION ALL
	(SELECT a.id, a.at, a.actor, a.on_behalf_of, a.role, a.application, a.action, 'task', a.task_id::text, a.from_version, a.to_version,
		a.from_status, a.to_status, a.reason, a.before, a.after
	 FROM twtasks.audit a
	 WHERE coalesce($1, 'tasks') = 'tasks' AND $2 IS NOT NULL AND a.task_id = $2::uuid AND a.id < coalesce($7::bigint, 9223372036854775807)
	 ORDER BY a.id DESC LIMIT 20000)
	UNION ALL
	(SELECT s.id, s.at, s.actor, s.on_behalf_of, NULL, NULL, s.action, 'schedule', s.name, NULL, NULL, NULL, NULL, s.reason, s.before, s.after
	 FROM twtasks.schedule_audit s
	 WHERE $1 = 'schedules' AND s.id < coalesce($7::bigint, 9223372036854775807) ORDER BY s.id DESC LIMIT 20000)
	UNION ALL
	(SELECT p.id, p.at, p.actor, p.on_behalf_of, NULL, NULL, CASE WHEN p.before IS NULL THEN 'add' WHEN p.after IS NULL THEN 'remove' ELSE 'change' END,
		p.kind, p.name, NULL, NULL, NULL, NULL, p.reason, p.before, p.after
	 FROM twtasks.policy_audit p
	 WHERE $1 = 'policies' AND p.id < coalesce($7::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)),
listed AS MATERIALIZED (
	SELECT l.* FROM looked l
	WHERE ($3 IS NULL OR $3 IN (l.actor, l.on_behalf_of)) AND ($4 IS NULL OR l.name = $4)
	  AND ($5 IS NULL OR l.at >= $5::timestamptz) AND ($6 IS NULL OR l.at < $6::timestamptz)
	ORDER BY l.id DESC LIMIT coalesce($8::integer, 50)),
page AS (
	SELECT CASE WHEN count(*) = coalesce($8::integer, 50) THEN min(l.id) ELSE (SELECT min(a.id) FROM looked a) END AS last FROM listed l),
seen AS (
	SELECT count(*) AS rows, min(a.at) AS oldest FROM looked a WHERE a.id >= (SELECT p.last FROM page p)),
-- Rows before the time that was asked for end the walk; a transaction that was long open may have a row among them.
more AS (
	SELECT ((SELECT count(*) FROM looked) = 20000 OR EXISTS (SELECT FROM looked a WHERE a.id < (SELECT p.last FROM page p)))
		AND NOT coalesce((SELECT max(k.at) FROM (SELECT a.at FROM looked a WHERE a.id >= (SELECT p.last FROM page p) ORDER BY a.id LIMIT 100) k)
			< $5::timestamptz, false) AS is_more)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.at, l.actor, l.on_behalf_of, l.role, l.application, l.action, l.kind, l.name, l.from_version::text, l.to_version::text,
			l.from_status, l.to_status, l.reason, l.before, l.after FROM listed l) r),
	'looked_at', s.rows, 'looked_back_to', s.oldest,
	'cursor', CASE WHEN m.is_more THEN (SELECT p.last::text FROM page p) END,
	'is_complete', NOT m.is_more)::text AS body
FROM seen s CROSS JOIN more m
