-- Items of the kinds that name a role of this person as a reader: their read models are made for readers.
WITH known AS MATERIALIZED (
	SELECT k.name, coalesce(k.answerers, '{}') AS answerers, least(u.n, 1000) AS open, u.n > 1000 AS open_capped,
		EXISTS (SELECT FROM pg_roles r WHERE r.rolname = ANY (k.readers) AND pg_has_role(r.oid, 'USAGE')) AS may_read
	FROM twtasks.kinds k
	CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
		SELECT FROM twtasks.outcomes o WHERE o.kind = k.name AND o.decided IS NULL LIMIT 1001) c) u
	WHERE k.kind = 'to_do' ORDER BY k.name LIMIT 200),
place AS (
	SELECT coalesce(($2::jsonb ->> 0)::timestamptz, '-infinity') AS started, coalesce($2::jsonb ->> 1, '') AS kind, coalesce($2::jsonb ->> 2, '') AS identifier),
listed AS MATERIALIZED (
	SELECT n.kind, n.identifier, n.started, row_number() OVER (ORDER BY n.started, n.kind, n.identifier) AS place
	FROM known k
	CROSS JOIN LATERAL (
		SELECT o.kind, o.identifier, o.started FROM twtasks.outcomes o
		WHERE o.kind = k.name AND o.decided IS NULL AND o.started >= (SELECT p.started FROM place p)
		  AND (o.started, o.kind, o.identifier) > (SELECT p.started, p.kind, p.identifier FROM place p)
		ORDER BY o.started, o.identifier LIMIT coalesce($3::integer, 50) + 1) n
	WHERE k.may_read AND ($1 IS NULL OR k.name = $1)
	ORDER BY n.started, n.kind, n.identifier LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'kinds', (SELECT coalesce(json_agg(json_build_object('name', k.name, 'open', k.open, 'open_capped', k.open_capped, 'may_read', k.may_read,
			'answerers', k.answerers) ORDER BY k.name), '[]') FROM known k),
	'items', (SELECT coalesce(json_agg(json_build_object('kind', l.kind, 'identifier', i.identifier, 'read_model', i.read_model,
			'read_model_text', jsonb_pretty(i.read_model), 'started', i.started,
			'expires', i.expires) ORDER BY l.place), '[]')
		FROM listed l CROSS JOIN LATERAL twtasks.read_to_do(l.kind, l.identifier) i WHERE l.place <= coalesce($3::integer, 50)),
	'cursor', (SELECT jsonb_build_array(l.started, l.kind, l.identifier)::text FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
