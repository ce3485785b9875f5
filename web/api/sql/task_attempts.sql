WITH attempt AS MATERIALIZED (
	SELECT a.*, row_number() OVER (ORDER BY a.version, a.result = 'late', a.ended) AS n
	FROM twtasks.task_attempts a WHERE a.task_id = $1::uuid),
shown AS MATERIALIZED (
	SELECT a.* FROM attempt a WHERE a.n < coalesce($2::bigint, 9223372036854775807) ORDER BY a.n DESC LIMIT coalesce($3::integer, 50))
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('version', s.version::text, 'try', s.try, 'runnable', s.runnable, 'started', s.started, 'ended', s.ended,
			'node', s.node, 'result', s.result, 'error', s.error, 'next', nullif(s.next, 'infinity')) ORDER BY s.n DESC), '[]') FROM shown s),
	'cursor', (SELECT min(s.n)::text FROM shown s HAVING min(s.n) > 1))::text AS body
WHERE EXISTS (SELECT FROM attempt) OR EXISTS (SELECT FROM twtasks.tasks t WHERE t.id = $1::uuid)
