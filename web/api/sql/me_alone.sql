-- As me.sql, for roles that may not read the environment.
-- $1 name, $2 roles, $3 version, $4 trace_url: see api_self.c
SELECT json_build_object(
	'name', $1,
	'roles', $2::text[],
	'environment', NULL,
	'database', current_database(),
	'extension_version', (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'twtasks'),
	'version', $3,
	'extensions', (SELECT coalesce(json_agg(e.extname ORDER BY e.extname), '[]') FROM pg_extension e WHERE e.extname ^@ 'twtasks'),
	'trace_url', $4)::text AS body
