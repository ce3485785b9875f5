-- The ids ascend nearly with the time, and no index has the time: each call looks at 20,000 rows at most.
WITH looked AS MATERIALIZED (
	(SELECT p.id, p.at, p.actor, p.role, p.on_behalf_of, p.application, p.task_id, p.version, p.type, p.reason, p.was_denied
	 FROM twtasks.payload_read p WHERE $6 IS NULL AND p.id < coalesce($4::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)
	UNION ALL
	(SELECT p.id, p.at, p.actor, p.role, p.on_behalf_of, p.application, p.task_id, p.version, p.type, p.reason, p.was_denied
	 FROM twtasks.payload_read p
	 WHERE $6 IS NOT NULL AND p.task_id = $6::uuid AND p.id < coalesce($4::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)),
asked AS (SELECT k.* FROM looked k WHERE (k.task_id IS NULL) = (coalesce($7, 'tasks') = 'searches')),
-- include walk.part
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.at, l.actor, l.role, l.on_behalf_of, l.application, l.task_id, l.version::text, l.type, l.reason, l.was_denied FROM listed l) r),
	'looked_at', w.rows, 'looked_back_to', w.oldest, 'cursor', w.cursor, 'is_complete', NOT w.is_more)::text AS body
FROM walked w
