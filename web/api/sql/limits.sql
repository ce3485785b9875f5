WITH cursor AS (SELECT (c.value ->> 0) AS pattern, (c.value ->> 1)::twtasks.limit_scope AS scope, (c.value ->> 2) AS name
	FROM (SELECT $2::jsonb AS value) c WHERE $2 IS NOT NULL),
listed AS MATERIALIZED (
	SELECT l.*, row_number() OVER (ORDER BY l.pattern, l.scope, coalesce(l.name, '')) AS place FROM twtasks.limits l
	WHERE ($1 IS NULL OR twtasks.limit_name(l.pattern, $1) = coalesce(l.name, twtasks.limit_name(l.pattern, $1)))
	  AND ($2 IS NULL OR (l.pattern, l.scope, coalesce(l.name, '')) > (SELECT c.pattern, c.scope, c.name FROM cursor c))
	ORDER BY l.pattern, l.scope, coalesce(l.name, '') LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('pattern', l.pattern, 'scope', l.scope, 'concurrency', l.concurrency, 'stretch', l.stretch,
			'stretch_priority', l.stretch_priority, 'rate', l.rate, 'per', l.per, 'burst', l.burst, 'name', l.name, 'used', l.used, 'waiting', l.waiting,
			'changed_at', l.changed_at, 'changed_by', l.changed_by) ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($3::integer, 50)),
	'cursor', (SELECT jsonb_build_array(l.pattern, l.scope, coalesce(l.name, ''))::text FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
