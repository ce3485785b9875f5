SELECT json_build_object('id', p.task_id, 'version', p.version::text, 'type', p.type,
	'data', CASE $3::text WHEN 'text' THEN to_json(p.data::text)
						  WHEN 'base64' THEN to_json(translate(encode(convert_to(p.data::text, 'UTF8'), 'base64'), E'\n', ''))
						  ELSE p.data::json END,
	'payload', CASE $3::text WHEN 'text' THEN convert_from(p.payload, 'UTF8') ELSE translate(encode(p.payload, 'base64'), E'\n', '') END,
	'context', p.context,
	'outcome', CASE WHEN $3::text IN ('text', 'base64') THEN to_json(p.outcome::text) ELSE p.outcome::json END)::text AS body
FROM twtasks.read_payload($4::int8) p
