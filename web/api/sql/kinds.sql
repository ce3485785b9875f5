WITH listed AS MATERIALIZED (
	SELECT k.*, row_number() OVER (ORDER BY k.name) AS place FROM twtasks.kinds k
	WHERE $1 IS NULL OR k.name > $1 ORDER BY k.name LIMIT coalesce($2::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.name), '[]') FROM (
		SELECT l.name, l.kind, l.type, l.identifier, l.expires, l.still_needed, l.on_expiry, l.attempts, l.delay, l.retry_function, l.on_fault,
			l.on_uncertain, l.read_model, l.contract, l.decide, coalesce(l.readers, '{}') AS readers, coalesce(l.answerers, '{}') AS answerers, l.changed_at, l.changed_by,
			least(u.n, 1000) AS undecided, u.n > 1000 AS undecided_capped,
			(SELECT coalesce(json_agg(a), '[]') FROM (
				SELECT x.decision, x.then_kind, x.event_function FROM twtasks.reactions x
				WHERE x.kind = l.name ORDER BY x.decision, x.then_kind LIMIT 200) a) AS reactions
		FROM listed l
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
			SELECT FROM twtasks.outcomes o WHERE o.kind = l.name AND o.decided IS NULL LIMIT 1001) c) u
		WHERE l.place <= coalesce($2::integer, 50)) r),
	'cursor', (SELECT l.name FROM listed l
		WHERE l.place = coalesce($2::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
