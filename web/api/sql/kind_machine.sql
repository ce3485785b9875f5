SELECT json_build_object(
	'kind', k.kind,
	'states', (SELECT json_agg(json_build_object('name', s.name, 'what', CASE s.name WHEN 'start' THEN 'start' WHEN 'decided' THEN 'end' ELSE 'step' END)
			ORDER BY s.name <> 'start', s.name = 'decided', s.name)
		FROM (SELECT r.step AS name FROM twtasks.kind_machines r WHERE r.kind = k.kind UNION SELECT 'decided') s),
	'transitions', (SELECT json_agg(json_build_object('from', r.step, 'answer', r.answer, 'does', r.does, 'to', coalesce(r.next, 'decided')) ORDER BY r.step, r.answer)
		FROM twtasks.kind_machines r WHERE r.kind = k.kind))::text AS body
FROM twtasks.kinds k WHERE k.name = $1
