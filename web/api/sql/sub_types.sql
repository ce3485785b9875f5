WITH listed AS MATERIALIZED (
	SELECT l.* FROM twtasks.list_tasks(type => $1, max_tasks => 2000, budget => 5000) l)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.tasks DESC, r.sub_type), '[]')
		FROM (SELECT l.sub_type, count(*) AS tasks FROM listed l WHERE l.id IS NOT NULL GROUP BY l.sub_type ORDER BY 2 DESC, 1 LIMIT 200) r),
	'looked_at', p.looked_at, 'looked_back_to', p.looked_back_to, 'is_complete', p.is_complete)::text AS body
FROM listed p WHERE p.id IS NULL
