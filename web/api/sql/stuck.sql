WITH found AS MATERIALIZED (
	SELECT s.* FROM twtasks.find_stuck(coalesce($2::integer, 20)) s
	WHERE $1::text IS NULL OR CASE WHEN right($1, 1) = '*' THEN starts_with(s.type, left($1, -1)) ELSE s.type = $1 END
	ORDER BY s.since, s.id LIMIT 201)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.since, r.id), '[]')
		FROM (SELECT f.id, f.version::text, f.type, f.sub_type, f.bucket, f.priority, f.status, f.created, f.state_time, f.tries, f.node, f.why, f.since
			FROM found f ORDER BY f.since, f.id LIMIT 200) r),
	'more', (SELECT count(*) > 200 FROM found))::text AS body
