WITH of_key AS MATERIALIZED (
	SELECT i.id, i.key, i.kind, i.object, i.severity, i.state, i.opened, i.refreshed, i.acknowledged, i.acknowledged_by, i.resolved, i.count,
		i.summary, i.detail, i.hint, i.silenced_until
	FROM twtasks.incidents i WHERE i.key = $1 ORDER BY i.id DESC LIMIT 21),
newest AS (SELECT max(k.id) AS id FROM of_key k)
SELECT json_build_object(
	'incident', (SELECT to_json(r) FROM (
		SELECT k.id::text, k.key, k.kind, k.object, k.severity, k.state, k.opened, k.refreshed, k.acknowledged, k.acknowledged_by, k.resolved, k.count,
			k.summary, k.detail, k.hint, k.silenced_until) r),
	'messages', (SELECT coalesce(json_agg(m ORDER BY m.at), '[]') FROM (
		SELECT s.target, s.state, s.repeat, s.at, s.status, s.answer FROM twtasks.incident_sent s
		WHERE s.incident = k.id ORDER BY s.at DESC LIMIT 200) m),
	'earlier', (SELECT coalesce(json_agg(r), '[]') FROM (
		SELECT e.id::text, e.key, e.kind, e.object, e.severity, e.state, e.opened, e.refreshed, e.acknowledged, e.acknowledged_by, e.resolved, e.count,
			left(e.summary, 1000) AS summary, left(e.detail, 1000) AS detail, left(e.hint, 1000) AS hint, e.silenced_until
		FROM of_key e WHERE e.id < k.id ORDER BY e.id DESC LIMIT 20) r))::text AS body
FROM of_key k JOIN newest n ON n.id = k.id
