--
-- The first commands of a new user show names, parameters and comments.
--
-- \dx has other columns in later versions of psql, and \dv another title.
SELECT e.extname, e.extversion, e.extnamespace::regnamespace, obj_description(e.oid, 'pg_extension')
FROM pg_extension e WHERE e.extname = 'twtasks';
\t on
\dv twtasks.*
\t off
\x on
\df twtasks.add_task
\df twtasks.resume_task
\x off
\d twtasks.tasks
\dT+ twtasks.task_status

SELECT * FROM twtasks.tasks WHERE false;
SELECT * FROM twtasks.error_tasks WHERE false;
SELECT * FROM twtasks.stuck_tasks WHERE false;
SELECT * FROM twtasks.stats WHERE false;
SELECT * FROM twtasks.nodes WHERE false;

-- A first task.
SELECT result FROM twtasks.add_task('SEND_EMAIL', '{"to": 7}', key => 'help');
SELECT type, status, version, tries FROM twtasks.tasks WHERE key = 'help';
SELECT result, r.status FROM twtasks.tasks t, twtasks.cancel_task(t.id, t.version, 'only looking') r
WHERE t.key = 'help';

-- The settings, with their units and who may change them.
SELECT name, setting, unit, context, short_desc FROM pg_settings
WHERE name LIKE 'twtasks.%' AND context <> 'postmaster' ORDER BY name;

-- Every column and every view says what it is.
SELECT c.relname, a.attname
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition AND col_description(c.oid, a.attnum) IS NULL
ORDER BY 1, 2;
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p', 'v')
  AND NOT c.relispartition AND obj_description(c.oid, 'pg_class') IS NULL
ORDER BY 1;

-- So does every function that somebody may be given: \df+ shows it.
SELECT p.proname FROM pg_proc p
WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND obj_description(p.oid, 'pg_proc') IS NULL
  AND EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner)
ORDER BY 1;
