WITH grouped AS MATERIALIZED (
	SELECT g.*, row_number() OVER () AS place FROM twtasks.error_groups(coalesce($1, '*'), coalesce($2::integer, 50) + 1) g)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('shape', g.shape, 'tasks', g.tasks, 'capped', g.capped, 'types', g.types, 'first_seen', g.first_seen,
			'last_seen', g.last_seen, 'example', g.example, 'example_error', g.example_error, 'step', g.step, 'counts', g.counts, 'node_started', (
				SELECT json_build_object('node', n.name, 'at', n.started) FROM twtasks.nodes n
				WHERE n.started BETWEEN g.first_seen - interval '10 minutes' AND g.first_seen ORDER BY n.started DESC LIMIT 1)) ORDER BY g.place), '[]')
		FROM grouped g WHERE g.place <= coalesce($2::integer, 50)),
	'more', (SELECT count(*) > coalesce($2::integer, 50) FROM grouped))::text AS body
