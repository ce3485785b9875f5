-- The ids ascend nearly with the time, and no index has the time: each call looks at 20,000 rows at most.
WITH looked AS MATERIALIZED (
	(SELECT a.id, a.at, a.actor, a.on_behalf_of, a.role, a.application, a.action, 'task' AS kind, a.task_id::text AS name, a.from_version, a.to_version,
		a.from_status, a.to_status, a.reason, a.before, a.after
	 FROM twtasks.audit a
	 WHERE coalesce($7, 'tasks') = 'tasks' AND $6 IS NULL AND a.id < coalesce($4::bigint, 9223372036854775807) ORDER BY a.id DESC LIMIT 20000)
	UNION ALL
	(SELECT a.id, a.at, a.actor, a.on_behalf_of, a.role, a.application, a.action, 'task', a.task_id::text, a.from_version, a.to_version,
		a.from_status, a.to_status, a.reason, a.before, a.after
	 FROM twtasks.audit a
	 WHERE coalesce($7, 'tasks') = 'tasks' AND $6 IS NOT NULL AND a.task_id = $6::uuid AND a.id < coalesce($4::bigint, 9223372036854775807)
	 ORDER BY a.id DESC LIMIT 20000)
	UNION ALL
	(SELECT s.id, s.at, s.actor, s.on_behalf_of, NULL, NULL, s.action, 'schedule', s.name, NULL, NULL, NULL, NULL, s.reason, s.before, s.after
	 FROM twtasks.schedule_audit s
	 WHERE $7 = 'schedules' AND s.id < coalesce($4::bigint, 9223372036854775807) ORDER BY s.id DESC LIMIT 20000)
	UNION ALL
	(SELECT p.id, p.at, p.actor, p.on_behalf_of, NULL, NULL, CASE WHEN p.before IS NULL THEN 'add' WHEN p.after IS NULL THEN 'remove' ELSE 'change' END,
		p.kind, p.name, NULL, NULL, NULL, NULL, p.reason, p.before, p.after
	 FROM twtasks.policy_audit p
	 WHERE $7 = 'policies' AND p.id < coalesce($4::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)),
asked AS (SELECT k.* FROM looked k WHERE $8 IS NULL OR k.name = $8),
-- include walk.part
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.at, l.actor, l.on_behalf_of, l.role, l.application, l.action, l.kind, l.name, l.from_version::text, l.to_version::text,
			l.from_status, l.to_status, l.reason, l.before, l.after FROM listed l) r),
	'looked_at', w.rows, 'looked_back_to', w.oldest, 'cursor', w.cursor, 'is_complete', NOT w.is_more)::text AS body
FROM walked w
