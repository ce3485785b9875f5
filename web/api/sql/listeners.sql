WITH cursor AS (SELECT (c.value ->> 0) AS listener, (c.value ->> 1) AS topic, (c.value ->> 2)::integer AS partition
	FROM (SELECT $1::jsonb AS value) c WHERE $1 IS NOT NULL),
listed AS MATERIALIZED (
	SELECT l.*, row_number() OVER (ORDER BY l.listener, l.topic, l.partition) AS place FROM twtasks.listeners l
	WHERE $1 IS NULL OR (l.listener, l.topic, l.partition) > (SELECT c.listener, c.topic, c.partition FROM cursor c)
	ORDER BY l.listener, l.topic, l.partition LIMIT coalesce($2::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('listener', l.listener, 'topic', l.topic, 'partition', l.partition, 'next_offset', l.next_offset::text,
			'role', l.role, 'moved', l.moved, 'problem', left(l.problem, 1000), 'problem_since', l.problem_since) ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($2::integer, 50)),
	'cursor', (SELECT jsonb_build_array(l.listener, l.topic, l.partition)::text FROM listed l
		WHERE l.place = coalesce($2::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
