WITH listed AS MATERIALIZED (
	SELECT s.* FROM twtasks.silence s
	WHERE (coalesce($1::boolean, false) OR s.until > (SELECT twtasks.clock())) AND ($2 IS NULL OR s.id < $2::bigint)
	ORDER BY s.id DESC LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.kind, l.pattern, l.until, l.reason, l.actor, l.at FROM listed l ORDER BY l.id DESC LIMIT coalesce($3::integer, 50)) r),
	'cursor', (SELECT CASE WHEN count(*) > coalesce($3::integer, 50) THEN (array_agg(l.id ORDER BY l.id))[2]::text END FROM listed l))::text AS body
