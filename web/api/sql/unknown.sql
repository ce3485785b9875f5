WITH cursor(lost_at, id) AS (SELECT split_part($2, '/', 1)::timestamptz, split_part($2, '/', 2)::uuid WHERE $2 IS NOT NULL),
found AS MATERIALIZED (
	SELECT u.* FROM twtasks.unknown_outcomes u
	WHERE $1::text IS NULL OR CASE WHEN right($1, 1) = '*' THEN starts_with(u.type, left($1, -1)) ELSE u.type = $1 END
	LIMIT 5001),
listed AS MATERIALIZED (
	SELECT f.*, row_number() OVER (ORDER BY f.lost_at DESC, f.id DESC) AS place FROM found f
	WHERE $2 IS NULL OR (f.lost_at, f.id) < (SELECT c.lost_at, c.id FROM cursor c)
	ORDER BY f.lost_at DESC, f.id DESC LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'total', (SELECT least(count(*), 5000) FROM found),
	'total_capped', (SELECT count(*) > 5000 FROM found),
	'items', (SELECT coalesce(json_agg(r ORDER BY r.lost_at DESC, r.id DESC), '[]')
		FROM (SELECT l.id, l.version::text, l.type, l.bucket, l.status, l.key, l.tries, l.node, l.lost_at, left(l.why, 500) AS why,
				left(l.late_result, 500) AS late_result, l.late_at, l.if_not_done, l.if_done
			FROM listed l WHERE l.place <= coalesce($3::integer, 50)) r),
	'cursor', (SELECT to_char(l.lost_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '/' || l.id FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
