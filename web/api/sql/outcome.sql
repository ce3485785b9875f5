WITH step AS MATERIALIZED (
	SELECT a.*, row_number() OVER (ORDER BY a.started DESC, a.number DESC, a.task DESC) AS place FROM twtasks.attempts a
	WHERE a.kind = $1 AND a.identifier = $2 ORDER BY a.started DESC, a.number DESC, a.task DESC LIMIT 201)
SELECT json_build_object(
	'outcome', json_build_object('kind', o.kind, 'identifier', o.identifier, 'step', o.step, 'attempt', o.attempt, 'task', o.task,
		'status', o.status, 'due', nullif(o.due, 'infinity'), 'started', o.started, 'expires', o.expires, 'decided', o.decided, 'decision', o.decision,
		'decided_by', o.decided_by, 'uncertain', o.uncertain, 'fault', o.fault, 'problem', o.problem, 'error', o.error),
	'state', CASE WHEN o.decided IS NULL THEN o.step ELSE 'decided' END,
	'attempts', (SELECT coalesce(json_agg(json_build_object('number', s.number, 'step', s.step, 'task', s.task, 'started', s.started, 'expires', s.expires,
			'ended', s.ended, 'answer', s.answer, 'fault', left(s.fault, 1000)) ORDER BY s.place DESC), '[]') FROM step s WHERE s.place <= 200),
	'more', (SELECT count(*) > 200 FROM step),
	'anomalies', (SELECT coalesce(json_agg(a), '[]') FROM (
		SELECT n.seen, n.number, n.step, n.task, n.what, n.result, n.decision, n.closed, n.closed_by, n.reason FROM twtasks.anomalies n
		WHERE n.kind = $1 AND n.identifier = $2 ORDER BY n.seen DESC LIMIT 50) a),
	'machine', json_build_object(
		'kind', k.kind,
		'states', (SELECT json_agg(json_build_object('name', s.name, 'what', CASE s.name WHEN 'start' THEN 'start' WHEN 'decided' THEN 'end' ELSE 'step' END)
				ORDER BY s.name <> 'start', s.name = 'decided', s.name)
			FROM (SELECT r.step AS name FROM twtasks.kind_machines r WHERE r.kind = k.kind UNION SELECT 'decided') s),
		'transitions', (SELECT json_agg(json_build_object('from', r.step, 'answer', r.answer, 'does', r.does, 'to', coalesce(r.next, 'decided')) ORDER BY r.step, r.answer)
			FROM twtasks.kind_machines r WHERE r.kind = k.kind)))::text AS body
FROM twtasks.outcomes o JOIN twtasks.kinds k ON k.name = o.kind
WHERE o.kind = $1 AND o.identifier = $2
