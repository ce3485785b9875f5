WITH moment AS (SELECT clock_timestamp() AS now),
known AS (
	SELECT n.*, n.ended IS NULL AND n.heartbeat > (SELECT m.now FROM moment m) - n.lease AS is_alive FROM twtasks.nodes n),
listed AS MATERIALIZED (
	SELECT k.* FROM known k
	WHERE CASE coalesce($1, 'all') WHEN 'alive' THEN k.is_alive WHEN 'gone' THEN NOT k.is_alive ELSE true END
	  AND ($2 IS NULL OR (k.is_alive::integer, k.incarnation) < (split_part($2, '/', 1)::integer, split_part($2, '/', 2)::bigint))
	ORDER BY k.is_alive DESC, k.incarnation DESC LIMIT coalesce($3::integer, 50) + 1),
numbered AS (SELECT l.*, row_number() OVER (ORDER BY l.is_alive DESC, l.incarnation DESC) AS place FROM listed l)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('incarnation', l.incarnation::text, 'name', l.name, 'started', l.started, 'heartbeat', l.heartbeat,
			'lease', l.lease, 'ended', l.ended, 'is_alive', l.is_alive, 'leads', l.leads, 'buckets', l.buckets[1:200], 'types', l.types[1:200],
			'types_count', cardinality(l.types), 'faults', l.faults[1:50]) ORDER BY l.place), '[]')
		FROM numbered l WHERE l.place <= coalesce($3::integer, 50)),
	'cursor', (SELECT l.is_alive::integer || '/' || l.incarnation FROM numbered l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM numbered m WHERE m.place > l.place)))::text AS body
