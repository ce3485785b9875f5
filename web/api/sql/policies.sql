WITH listed AS MATERIALIZED (
	SELECT p.*, row_number() OVER (ORDER BY p.pattern) AS place FROM twtasks.type_policies p
	WHERE ($1 IS NULL OR p.pattern = $1 OR p.pattern = ANY (SELECT unnest(o.patterns) FROM twtasks.policy_of($1) o))
	  AND ($2 IS NULL OR p.pattern > $2)
	ORDER BY p.pattern LIMIT coalesce($3::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.pattern), '[]') FROM (
		SELECT l.pattern, l.bucket, l.priority, l.timeout, l.queue_time, l.expires_after, l.stuck, l.stuck_function, l.when_done, l.nodes, l.intercept,
			l.retry, l.retry_function, l.reset_tries, l.aging, l.on_end, l.takeover, l.changed_at, l.changed_by
		FROM listed l WHERE l.place <= coalesce($3::integer, 50)) r),
	'cursor', (SELECT l.pattern FROM listed l
		WHERE l.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
