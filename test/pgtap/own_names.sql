--
-- Columns that users add to our tables may have any name that our functions use, of a
-- variable, a parameter or an alias: no function reads such a column in its place.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(24);

CREATE TEMPORARY TABLE home AS SELECT n.oid FROM pg_namespace n WHERE n.nspname IN ('twtasks', 'twtasks_internal');
CREATE TEMPORARY TABLE function AS
SELECT p.*, l.lanname AS language FROM pg_proc p JOIN home h ON h.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang;
SELECT is_empty($$
	SELECT f.oid::regprocedure FROM pg_temp.function f
	WHERE f.language = 'plpgsql' AND f.prosrc !~ '^ #variable_conflict use_variable\n'
	  AND (f.prosrc ~ '#variable_conflict'
		   OR EXISTS (SELECT FROM pg_class c JOIN pg_temp.home h ON h.oid = c.relnamespace
					  WHERE c.relkind IN ('r', 'p') AND f.prosrc ~ ('\mtwtasks(_internal)?\.' || c.relname || '\M[^(]')))$$,
	'a variable goes before a column in each function of PL/pgSQL that names a table');

-- ---- All names, in each table that has no such column ----
CREATE TEMPORARY TABLE own AS
SELECT c.oid, a.attname AS name FROM pg_class c JOIN home h ON h.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'p');
DO $$
DECLARE
	change text;
BEGIN
	FOR change IN
		WITH name AS (
			SELECT f.prosrc, unnest(f.proargnames) AS name FROM pg_temp.function f WHERE f.language <> 'c'
			UNION SELECT f.prosrc, m[1] FROM pg_temp.function f, regexp_matches(f.prosrc, '^\t([a-z_]+)(?: CONSTANT)? [a-z]', 'gn') m
			UNION SELECT f.prosrc, m[1] FROM pg_temp.function f, regexp_matches(f.prosrc, '(?:twtasks\w*\.[a-z_]+|\)) (?:AS )?([a-z]+)\M', 'g') m)
		SELECT format('ALTER TABLE %s %s', o.oid::regclass, string_agg(DISTINCT format('ADD %I text', n.name), ', '))
		FROM (SELECT DISTINCT w.oid FROM pg_temp.own w) o JOIN pg_class c ON c.oid = o.oid AND NOT c.relispartition
		JOIN name n ON n.prosrc ~ ('\m' || c.relname || '\M')
		WHERE n.name <> '' AND NOT EXISTS (SELECT FROM pg_temp.own w WHERE w.oid = o.oid AND w.name = n.name)
		GROUP BY o.oid
	LOOP
		EXECUTE change;
	END LOOP;
END $$;
SELECT is((SELECT count(*) FROM pg_attribute WHERE attrelid = 'twtasks.task'::regclass AND attname IN ('t', 'f', 'now', 'moment', 'most', 'entry')),
	6::bigint, 'there are columns with names of variables, parameters and aliases');

CREATE TEMPORARY TABLE added AS
SELECT a.attrelid::regclass AS relation, a.attname AS name, a.attnum AS place, count(*) OVER (PARTITION BY a.attrelid) AS number
FROM pg_attribute a JOIN (SELECT DISTINCT w.oid FROM own w) r ON r.oid = a.attrelid
WHERE a.attnum > 0 AND NOT EXISTS (SELECT FROM own w WHERE w.oid = a.attrelid AND w.name = a.attname);

-- ---- Functions in SQL, where a column goes before a parameter ----
-- The server notes what a body reads if the body is parsed with the function.
CREATE TEMPORARY TABLE misread (function text, reads text);
CREATE FUNCTION pg_temp.parse_all() RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	body record;
	parsed bigint := 0;
BEGIN
	CREATE SCHEMA parsed_twtasks;
	CREATE SCHEMA parsed_twtasks_internal;
	FOR body IN SELECT f.*, pg_get_function_arguments(f.oid) AS arguments, pg_get_function_result(f.oid) AS result
				FROM pg_temp.function f WHERE f.language = 'sql' AND f.prosqlbody IS NULL LOOP
		BEGIN
			EXECUTE format(E'CREATE FUNCTION parsed_%s.%I(%s) RETURNS %s LANGUAGE sql BEGIN ATOMIC %s\n; END', body.pronamespace::regnamespace,
				body.proname, body.arguments, body.result, rtrim(body.prosrc, E'; \n'));
			parsed := parsed + 1;
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO pg_temp.misread VALUES (body.oid::regproc, SQLERRM);
		END;
	END LOOP;
	RETURN parsed;
END $$;
SELECT cmp_ok(pg_temp.parse_all(), '>', 100::bigint, 'the server parses them beside such columns');
-- A body that reads all columns of a table names none.
INSERT INTO misread
SELECT r.function, r.reads FROM (
	SELECT p.proname AS function, a.relation || '.' || a.name AS reads, count(*) OVER (PARTITION BY p.oid, a.relation) AS read, a.number
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname LIKE 'parsed\_twtasks%'
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass
	JOIN pg_temp.added a ON a.relation = d.refobjid AND a.place = d.refobjsubid) r
WHERE r.read < r.number;
SELECT is_empty('SELECT * FROM pg_temp.misread ORDER BY 1, 2', '... and none of them reads one');

-- ---- The main paths ----
CREATE FUNCTION public.regress_handle(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT ROW(task.sub_type, CASE task.sub_type WHEN 'retry' THEN interval '1 hour' END, 'said')::twtasks.task_result $$;
CREATE FUNCTION pg_temp.results(pattern text) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(concat_ws(' ', r.type, r.result, r.status), ', ' ORDER BY r.type) FROM twtasks.run_inline('public.regress_handle', pattern) r $$;
SELECT lives_ok($$
	SELECT twtasks.configure_type('T|*', retry => '{"delay": "1 h"}'), twtasks.configure_bucket('default', 'all', 100),
		twtasks.configure_limit('T|*', 9, scope => 'cluster', rate => 1000, per => '1 min'), twtasks.configure_limit('T|*', 9, scope => 'cluster')$$, 'options and limits');
SELECT twtasks.add_task('T|' || r, sub_type => r, task_id => pg_temp.id(n::integer)) FROM unnest('{done,delete,error,retry}'::text[]) WITH ORDINALITY u(r, n) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.add_tasks('U|many', ARRAY['1', '2']::jsonb[])), 2::bigint, 'tasks are added in an array');
SELECT is((SELECT string_agg((twtasks.put_task('U|put', 'k', jsonb_build_object('n', n))).result, ' ') FROM generate_series(1, 2) n), 'added replaced', '... and put');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 100)), 7::bigint, 'a sweep finds them');
SELECT is(pg_temp.results('T|*'), 'T|delete finished, T|done finished DONE, T|error finished ERROR, T|retry finished WAITING', 'a handler in SQL has each result');

SELECT is((SELECT array_agg(pg_temp.state(pg_temp.task_in(w)) ORDER BY w) FROM unnest(enum_range(NULL::twtasks.task_status)) w),
	'{WAITING 0,SUBMITTED 0,PROCESSING 1,ERROR 2,HELD 1,DONE 2,FAILED 3,CANCELLED 1}', 'a sidecar grabs and finishes, people change');
SELECT is((SELECT array_agg(c.result) FROM twtasks.change_tasks('cancel', 'U|*', 'test') c), '{changed,changed,changed}', 'people change many');
SELECT is(twtasks.take_messages('l', 't', 0, n, n + 1, '{}'), n + 1, 'messages are taken') FROM generate_series(5, 6::bigint) n;
SELECT is(twtasks.reset_listener('l', 't', 0, 3), 7::bigint, '... and their offset is set');
SELECT is((SELECT string_agg((twtasks.schedule('nightly', '30 2 * * *', 'T|due', missed => m)).result, ' ' ORDER BY m) FROM unnest('{all,once}'::text[]) m), 'added changed', 'schedules');
SELECT is((SELECT string_agg(l.event, ', ' ORDER BY l.at, l.version) FROM twtasks.life(pg_temp.id(3)) l WHERE l.at >= now()), 'add, start, error', 'the life of a task');
SELECT is((SELECT count(l.id) FROM twtasks.list_tasks('{ERROR}') l), 2::bigint, 'tasks are listed');
SELECT isnt((SELECT w.sentence FROM twtasks.why(pg_temp.id(4)) w), NULL, '... and it is said why one waits');
SELECT lives_ok(statement, statement) FROM unnest(ARRAY[
	'SELECT twtasks_internal.note_flow(pg_temp.node(), clock_timestamp(), 60000, ''{default}'', ''{T|done}'', ''{1,1,0,0,0,0,0}'', array_fill(1::bigint, ARRAY[21]), array_fill(1::bigint, ARRAY[21]))',
	'SELECT twtasks_internal.monitor_tasks(), twtasks_internal.judge_incidents(), twtasks_internal.recover_tasks(), twtasks_internal.run_schedules(), twtasks_internal.run_duties()',
	'SELECT twtasks_internal.make_partitions(), twtasks_internal.clean_tasks()',
	'SELECT (twtasks.type_loads()).type, (twtasks.what_if_limit(''T|done'', 5)).sentence, (twtasks.find_stuck()).id, (twtasks.error_groups()).shape',
	'SELECT count(*) FROM twtasks.warnings', 'SELECT twtasks.adopt(NULL, hold => true)']) statement;
SELECT * FROM finish();
ROLLBACK;
