-- No index has lost_at, so each page reads all of them, once.
WITH cursor(lost_at, id) AS (SELECT split_part($2, '/', 1)::timestamptz, split_part($2, '/', 2)::uuid WHERE $2 IS NOT NULL),
found AS MATERIALIZED (
	SELECT u.id, u.lost_at FROM twtasks.unknown_outcomes u
	WHERE $1::text IS NULL OR CASE WHEN right($1, 1) = '*' THEN starts_with(u.type, left($1, -1)) ELSE u.type = $1 END),
counted AS (SELECT count(*) AS tasks FROM (SELECT FROM found LIMIT 5001) f),
page AS (
	SELECT f.id, f.lost_at FROM found f
	WHERE $2 IS NULL OR (f.lost_at, f.id) < (SELECT c.lost_at, c.id FROM cursor c)
	ORDER BY f.lost_at DESC, f.id DESC LIMIT coalesce($3::integer, 50) + 1),
-- OFFSET makes it look for each task of the page alone.
listed AS MATERIALIZED (
	SELECT u.*, row_number() OVER (ORDER BY p.lost_at DESC, p.id DESC) AS place
	FROM page p CROSS JOIN LATERAL (SELECT v.* FROM twtasks.unknown_outcomes v WHERE v.id = p.id OFFSET 0) u)
SELECT json_build_object(
	'total', (SELECT least(c.tasks, 5000) FROM counted c),
	'total_capped', (SELECT c.tasks > 5000 FROM counted c),
	'items', (SELECT coalesce(json_agg(r ORDER BY r.lost_at DESC, r.id DESC), '[]')
		FROM (SELECT l.id, l.version::text, l.type, l.bucket, l.status, l.key, l.tries, l.node, l.lost_at, left(l.why, 500) AS why,
				left(l.late_result, 500) AS late_result, l.late_at, l.if_not_done, l.if_done
			FROM listed l WHERE l.place <= coalesce($3::integer, 50)) r),
	'cursor', (SELECT to_char(l.lost_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '/' || l.id FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
