-- $1 name, $2 roles, $3 version, $4 trace_url: see api_self.c
SELECT json_build_object(
	'name', $1,
	'roles', $2::text[],
	'environment', (SELECT a.environment FROM twtasks.adoption_state a),
	'database', current_database(),
	'edition', e.edition,
	'extension_version', e.version,
	'version', $3,
	'extensions', (SELECT json_agg(x.name ORDER BY x.name) FROM (SELECT 'twtasks' UNION ALL SELECT jsonb_object_keys(e.extensions)) x(name)),
	'trace_url', $4)::text AS body
FROM twtasks.edition() e
