-- Undecided identifiers in the order of their start, all others in the order of their names: there are indexes for that.
WITH place AS (
	SELECT coalesce(($4::jsonb ->> 0)::timestamptz, '-infinity') AS started, coalesce($4::jsonb ->> 1, '') AS identifier),
budget AS (
	SELECT CASE WHEN $2 IN ('problem', 'decided') OR $3 IS NOT NULL THEN 20000 ELSE coalesce($5::integer, 50) + 1 END AS rows),
looked AS MATERIALIZED (
	(SELECT o.* FROM twtasks.outcomes o
	 WHERE coalesce($2, 'undecided') IN ('undecided', 'problem') AND o.kind = $1 AND o.decided IS NULL
	   AND o.started >= (SELECT p.started FROM place p) AND (o.started, o.identifier) > (SELECT p.started, p.identifier FROM place p)
	 ORDER BY o.started, o.identifier LIMIT (SELECT b.rows FROM budget b))
	UNION ALL
	(SELECT o.* FROM twtasks.outcomes o
	 WHERE $2 IN ('decided', 'all') AND o.kind = $1 AND o.identifier > (SELECT p.identifier FROM place p) AND o.identifier >= coalesce($3, '')
	 ORDER BY o.identifier LIMIT (SELECT b.rows FROM budget b))),
numbered AS MATERIALIZED (
	SELECT l.*, row_number() OVER (ORDER BY CASE WHEN coalesce($2, 'undecided') IN ('undecided', 'problem') THEN l.started END, l.identifier) AS n FROM looked l),
listed AS MATERIALIZED (
	SELECT l.* FROM numbered l
	WHERE ($3 IS NULL OR starts_with(l.identifier, $3))
	  AND CASE $2 WHEN 'problem' THEN l.problem IS NOT NULL WHEN 'decided' THEN l.decided IS NOT NULL ELSE true END
	ORDER BY l.n LIMIT coalesce($5::integer, 50)),
page AS (
	SELECT CASE WHEN (SELECT count(*) FROM listed) = coalesce($5::integer, 50) THEN (SELECT max(l.n) FROM listed l) ELSE count(*) END AS last, count(*) AS rows
	FROM numbered)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('kind', l.kind, 'identifier', l.identifier, 'step', l.step, 'attempt', l.attempt, 'task', l.task,
			'status', l.status, 'due', nullif(l.due, 'infinity'), 'started', l.started, 'expires', l.expires, 'decided', l.decided, 'decision', l.decision,
			'decided_by', l.decided_by, 'uncertain', l.uncertain, 'fault', left(l.fault, 500), 'problem', left(l.problem, 500), 'error', left(l.error, 500))
			ORDER BY l.n), '[]')
		FROM listed l),
	'looked_at', p.last,
	'cursor', CASE WHEN p.rows > p.last OR p.rows = b.rows THEN (
		SELECT jsonb_build_array(CASE WHEN coalesce($2, 'undecided') IN ('undecided', 'problem') THEN l.started END, l.identifier)::text
		FROM numbered l WHERE l.n = p.last) END,
	'is_complete', NOT (p.rows > p.last OR p.rows = b.rows))::text AS body
FROM page p CROSS JOIN budget b
WHERE EXISTS (SELECT FROM twtasks.kinds k WHERE k.name = $1) OR p.rows > 0
