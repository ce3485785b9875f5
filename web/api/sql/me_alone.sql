-- As me.sql, for roles that may not read the environment.
-- $1 name, $2 roles, $3 version, $4 trace_url: see api_self.c
SELECT json_build_object(
	'name', $1,
	'roles', $2::text[],
	'environment', NULL,
	'database', current_database(),
	'edition', e.edition,
	'extension_version', e.version,
	'version', $3,
	'extensions', (SELECT json_agg(x.name ORDER BY x.name) FROM (SELECT 'twtasks' UNION ALL SELECT jsonb_object_keys(e.extensions)) x(name)),
	'trace_url', $4)::text AS body
FROM twtasks.edition() e
