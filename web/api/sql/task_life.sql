-- Events are added at the end, so the number of an event stays the same.
WITH event AS MATERIALIZED (
	SELECT l.*, row_number() OVER () AS n FROM twtasks.life($1::uuid) l),
shown AS MATERIALIZED (
	SELECT e.* FROM event e WHERE e.n < coalesce($2::bigint, 9223372036854775807) ORDER BY e.n DESC LIMIT coalesce($3::integer, 200))
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.n), '[]')
		FROM (SELECT s.n, s.at, s.event, s.version::text, s.status, s.actor, s.node, s.detail FROM shown s) r),
	'cursor', (SELECT min(s.n)::text FROM shown s HAVING min(s.n) > 1))::text AS body
WHERE EXISTS (SELECT FROM event)
