WITH listed AS MATERIALIZED (
	SELECT i.* FROM twtasks.incidents i
	WHERE CASE coalesce($1, 'open') WHEN 'open' THEN i.resolved IS NULL WHEN 'resolved' THEN i.resolved IS NOT NULL ELSE true END
	  AND ($2 IS NULL OR i.severity = $2) AND ($3 IS NULL OR i.kind = $3) AND ($4 IS NULL OR i.id < $4::bigint)
	ORDER BY i.id DESC LIMIT coalesce($5::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id::bigint DESC), '[]') FROM (
		SELECT l.id::text, l.key, l.kind, l.object, l.severity, l.state, l.opened, l.refreshed, l.acknowledged, l.acknowledged_by, l.resolved, l.count,
			left(l.summary, 1000) AS summary, left(l.detail, 1000) AS detail, left(l.hint, 1000) AS hint, l.silenced_until
		FROM listed l ORDER BY l.id DESC LIMIT coalesce($5::integer, 50)) r),
	'cursor', (SELECT CASE WHEN count(*) > coalesce($5::integer, 50) THEN (array_agg(l.id ORDER BY l.id))[2]::text END FROM listed l))::text AS body
