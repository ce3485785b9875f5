-- The ids ascend nearly with the time, and no index has the time: each call looks at 20,000 rows at most.
WITH looked AS MATERIALIZED (
	(SELECT p.id, p.at, p.actor, p.role, p.on_behalf_of, p.application, p.task_id, p.version, p.type, p.reason, p.was_denied
	 FROM twtasks.payload_read p WHERE $1 IS NULL AND p.id < coalesce($5::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)
	UNION ALL
	(SELECT p.id, p.at, p.actor, p.role, p.on_behalf_of, p.application, p.task_id, p.version, p.type, p.reason, p.was_denied
	 FROM twtasks.payload_read p
	 WHERE $1 IS NOT NULL AND p.task_id = $1::uuid AND p.id < coalesce($5::bigint, 9223372036854775807) ORDER BY p.id DESC LIMIT 20000)),
listed AS MATERIALIZED (
	SELECT l.* FROM looked l
	WHERE (l.task_id IS NULL) = (coalesce($7, 'tasks') = 'searches') AND ($2 IS NULL OR $2 IN (l.actor, l.on_behalf_of)) AND ($3 IS NULL OR l.at >= $3::timestamptz) AND ($4 IS NULL OR l.at < $4::timestamptz)
	ORDER BY l.id DESC LIMIT coalesce($6::integer, 50)),
page AS (
	SELECT CASE WHEN count(*) = coalesce($6::integer, 50) THEN min(l.id) ELSE (SELECT min(a.id) FROM looked a) END AS last FROM listed l),
seen AS (
	SELECT count(*) AS rows, min(a.at) AS oldest FROM looked a WHERE a.id >= (SELECT p.last FROM page p)),
-- Rows before the time that was asked for end the walk; a transaction that was long open may have a row among them.
more AS (
	SELECT ((SELECT count(*) FROM looked) = 20000 OR EXISTS (SELECT FROM looked a WHERE a.id < (SELECT p.last FROM page p)))
		AND NOT coalesce((SELECT max(k.at) FROM (SELECT a.at FROM looked a WHERE a.id >= (SELECT p.last FROM page p) ORDER BY a.id LIMIT 100) k)
			< $3::timestamptz, false) AS is_more)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.at, l.actor, l.role, l.on_behalf_of, l.application, l.task_id, l.version::text, l.type, l.reason, l.was_denied FROM listed l) r),
	'looked_at', s.rows, 'looked_back_to', s.oldest,
	'cursor', CASE WHEN m.is_more THEN (SELECT p.last::text FROM page p) END,
	'is_complete', NOT m.is_more)::text AS body
FROM seen s CROSS JOIN more m
