--
-- Refusals: their messages and SQLSTATEs.  They leave nothing behind.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all
\pset tuples_only on
\pset format unaligned

CREATE FUNCTION pg_temp.rows_in_all() RETURNS bigint
LANGUAGE sql
AS $$
	SELECT (SELECT count(*) FROM twtasks.task) + (SELECT count(*) FROM twtasks.finished_task)
		+ (SELECT count(*) FROM twtasks.unique_key) + (SELECT count(*) FROM twtasks.audit)
$$;

-- Tries a statement that must fail; what the user is told.
CREATE FUNCTION pg_temp.refused(statement text, VARIADIC arguments text[] DEFAULT '{}')
RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	before bigint := pg_temp.rows_in_all();
	detail text;
	hint text;
	context text;
BEGIN
	BEGIN
		EXECUTE statement USING arguments;
		RETURN NEXT 'not refused: ' || statement;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
			context = PG_EXCEPTION_CONTEXT;
		RETURN NEXT SQLSTATE || ': ' || SQLERRM;
		RETURN QUERY SELECT '       DETAIL: ' || detail WHERE detail <> '';
		RETURN QUERY SELECT '       HINT: ' || hint WHERE hint <> '';
		RETURN QUERY SELECT '       CONTEXT: ' || line
			FROM regexp_split_to_table(context, '\n') line WHERE line ~ '^task \d+';
	END;
	IF pg_temp.rows_in_all() <> before THEN
		RETURN NEXT 'and it left something behind';
	END IF;
END $$;

-- add_task: the type
SELECT pg_temp.refused('SELECT twtasks.add_task(NULL)');
SELECT pg_temp.refused('SELECT twtasks.add_task('''')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''SEND EMAIL'')');
-- A message quotes the value, but not in a way that could forge a line of the log.
SELECT line ~ '^22023: ' AND line !~ '[[:cntrl:]]'
FROM pg_temp.refused('SELECT twtasks.add_task($1[1])', E'SEND\nLOG:  forged') line LIMIT 1;
SELECT line ~ '^22023: ' AND line !~ '[[:cntrl:]]'
FROM pg_temp.refused('SELECT twtasks.add_task(''A'', bucket => $1[1])', E'a\x1b[31m') line LIMIT 1;
SELECT pg_temp.refused('SELECT twtasks.add_task($1[1])', 'POST_' || U&'\00E4');
SELECT pg_temp.refused('SELECT twtasks.add_task($1[1])', repeat('A', 121));
SELECT pg_temp.refused('SELECT twtasks.add_task($1[1])', repeat('A', 1024 * 1024));
SELECT result FROM twtasks.add_task(repeat('A', 120));
SELECT result FROM twtasks.add_task('aZ09_.:|/-');

-- add_task: bucket, sub_type, key
SELECT result FROM twtasks.add_task('A', bucket => NULL);
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', bucket => '''')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', bucket => ''a.b'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', bucket => $1[1])', repeat('b', 49));
SELECT twtasks.configure_bucket(repeat('b', 48));
SELECT result FROM twtasks.add_task('A', bucket => repeat('b', 48));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', bucket => ''nowhere'')');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A"}, {"type": "A", "bucket": "nowhere"}]''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', sub_type => $1[1])', repeat('s', 251));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', sub_type => $1[1])', E'a\x07b');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', sub_type => $1[1])', E'a\nb');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', sub_type => $1[1])', E'a\x7fb');
SELECT result FROM twtasks.add_task('A', sub_type => repeat(U&'\00E4', 250));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', key => '''')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', key => $1[1])', E'a\tb');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', key => $1[1])', repeat('k', 1001));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', key => $1[1])', repeat(U&'\00E4', 501));
SELECT result FROM twtasks.add_task('A', key => repeat('k', 1000));

-- add_task: priority and times
SELECT result FROM twtasks.add_task('A', priority => NULL);
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', priority => 10)');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', priority => -1)');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', priority => 2147483647)');
SELECT result FROM twtasks.add_task('A', priority => 0);
SELECT result FROM twtasks.add_task('A', priority => 9);
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', run_after => ''infinity'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', run_after => ''-infinity'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', expires => ''infinity'')');

-- A time that has passed means at once, and is no reason for alarm.
SELECT task_id AS late FROM twtasks.add_task('A', run_after => clock_timestamp() - interval '1 s') \gset
SELECT task_id AS ancient FROM twtasks.add_task('A', run_after => '4713-01-01 BC') \gset
SELECT task_id AS last FROM twtasks.add_task('A', run_after => '294276-12-30') \gset
SELECT pg_temp.state(:'late'), pg_temp.state(:'ancient'), pg_temp.state(:'last');
SELECT count(*) FROM twtasks.stuck_tasks;

-- add_task: JSON, and how much it may be
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', ''{"to": '')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', ''{"to": "\u0000"}'')');
SET twtasks.max_payload = 1024;
SELECT result FROM twtasks.add_task('A', payload => decode(repeat('00', 1024), 'hex'));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', payload => decode(repeat(''00'', 1025), ''hex''))');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', payload => decode(repeat(''00'', 500), ''hex''),
	data => to_jsonb(repeat(''d'', 300)), context => to_jsonb(repeat(''c'', 300)))');
SELECT result FROM twtasks.add_task('A', payload => '');
-- A value that is stored compressed counts with its full size.
CREATE TEMPORARY TABLE large AS SELECT repeat('x', 100000)::bytea AS payload;
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', payload => payload) FROM large');
-- Numbers count with all of their digits, wherever they are.
SELECT result FROM twtasks.add_task('A', '[1e900, {"a": -0.5, "b": "1e9000"}]');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', ''1e1100'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', ''{"a": [true, "x", {"b": -1e-1100}]}'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', context => ''{"a": 1e600, "b": [1e600]}'')');
RESET twtasks.max_payload;
CREATE TEMPORARY TABLE added AS SELECT number, task_id
	FROM unnest('{7, -0.1, 12345678901234567890, 1e20, 1e-20, 1e250, 1e259, 1e-63, 1e-64, 1e100000, -1e-16000}'::numeric[]) number,
	twtasks.add_task('A', to_jsonb(number));
SELECT count(*), count(*) FILTER (WHERE size < length(number::text)) AS too_small,
	count(*) FILTER (WHERE size > greatest(pg_column_size(to_jsonb(number)) - 4, length(number::text) + 20)) AS too_large
	FROM added JOIN twtasks.task ON id = task_id;
SET twtasks.max_payload = '129MB';
\set VERBOSITY sqlstate
SET twtasks.max_payload = 1023;
\set VERBOSITY default
SET twtasks.enabled = off;
SET twtasks.no_such_setting = 1;

-- The same id with another key is a mistake of the caller; so is an id that
-- is there with its own key when the new key is somebody else's.
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(1), key => 'one');
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(2), key => 'two');
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(3));
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', task_id => pg_temp.id(1), key => ''other'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', task_id => pg_temp.id(3), key => ''other'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', task_id => pg_temp.id(1), key => ''two'')');
SELECT pg_temp.refused('SELECT twtasks.add_task(''A'', task_id => pg_temp.id(2), key => ''one'')');

-- add_tasks: one bad task refuses all, and the context says which
SELECT pg_temp.refused('SELECT twtasks.add_tasks(ARRAY[
	(''A'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
	(''B'',NULL,NULL,NULL,NULL,12,NULL,NULL,NULL,NULL,NULL)]::twtasks.new_task[])');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(ARRAY[NULL]::twtasks.new_task[])');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A"}, {"sub_type": "B"}]''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''{"type": "A"}''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''"A"''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A", "prio": 1}]''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A", "priority": "high"}]''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A", "run_after": "someday"}]''::jsonb)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''[{"type": "A", "key": "k1"}, {"type": "A", "key": ""}]''::jsonb)');
SELECT count(*) FROM twtasks.add_tasks('[]'::jsonb);
SELECT count(*) FROM twtasks.add_tasks('{}'::twtasks.new_task[]);
SELECT count(*) FROM twtasks.add_tasks(NULL::jsonb);
-- Many of one type: the same.
SELECT pg_temp.refused('SELECT twtasks.add_tasks(NULL, ''{1}''::jsonb[])');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''A'', NULL)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''no type'', ''{1,2}'')');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''A'', ''{1,2}'', priority => 10)');
SELECT pg_temp.refused('SELECT twtasks.add_tasks(''A'', ''{1,2}'', bucket => ''nowhere'')');
SELECT count(*) FROM twtasks.add_tasks('no type', '{}');
-- Elements that are no objects: refused by the SQLSTATE for bad values.
SELECT left(line, 6) FROM (VALUES ('[1]'), ('[null]'), ('[[]]'), ('["A"]'), ('[{"type": "A"}, 2]')) bad(tasks),
	pg_temp.refused('SELECT twtasks.add_tasks($1[1]::jsonb)', bad.tasks) line WHERE line ~ '^\w{5}:';

-- finish_tasks: what it takes
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(10)) IS NOT NULL AS made;
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{finished}'', ''{0}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{NULL}'', ''{0}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{"a b"}'', ''{0}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1,1}'', ''{done}'', ''{0}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{done,done}'', ''{0}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{done,error}'', ''{0,0}'', ''{NULL,NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{retry}'', ''{}'', ''{NULL}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', ''{done}'', ''{0}'', ''{}'', 1, 1)');
SELECT pg_temp.refused('SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(10)], ''{1}'', NULL, ''{0}'', ''{NULL}'', 1, 1)');
SELECT left(line, 6) FROM pg_temp.refused('SELECT twtasks_internal.finish_tasks(NULL, NULL, NULL, NULL, NULL, 1, 1)') line;
-- An id, or a version, that is not there is a lost race: no row, no error.
SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(99), pg_temp.id(10), NULL], '{1,7,1}', '{done,error,done}', '{0,0,0}', '{NULL,NULL,NULL}', 1, 1);
SELECT count(*) FROM twtasks_internal.finish_tasks('{}', '{}', '{}', '{}', '{}', 1, 1);
SELECT pg_temp.state(pg_temp.id(10));

-- grab_tasks: what it takes
SELECT pg_temp.refused('SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1)], ''{0,0}'', 1, 1, ''{1000}'', ''{error}'')');
SELECT pg_temp.refused('SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1)], ''{0}'', 1, 1, ''{}'', ''{error}'')');
SELECT pg_temp.refused('SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1)], ''{0}'', 1, 1, ''{1000}'', ''{error,retry}'')');
SELECT pg_temp.refused('SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1)], ''{0}'', 1, 1, ''{1000}'', ''{later}'')');
SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1)], NULL, 1, 1, '{1000}', '{error}');
SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(99), NULL], '{0,0}', pg_temp.node(), 1, '{1000,1000}', '{error,error}');

-- changes by hand
SELECT pg_temp.refused('SELECT twtasks.cancel_task(NULL, 0)');
SELECT pg_temp.refused('SELECT twtasks.reschedule_task(pg_temp.id(1), 0, NULL)');
SELECT pg_temp.refused('SELECT twtasks.reschedule_task(pg_temp.id(1), 0, ''infinity'')');
SELECT pg_temp.refused('SELECT twtasks.release_task(pg_temp.id(1), 0, ''-infinity'')');
SELECT r.* FROM twtasks.hold_task(pg_temp.id(99), 0) r;

-- duties
SELECT pg_temp.refused('SELECT twtasks_internal.make_partitions(-1)');
SELECT pg_temp.refused('SELECT twtasks_internal.make_partitions(367)');
SELECT pg_temp.refused('SELECT twtasks_internal.clean_older(''-1 day'')');
SELECT twtasks_internal.heartbeat(0), twtasks_internal.heartbeat(-1);
-- An import without tasks is a mistake, and not an import of none.
SELECT pg_temp.refused('SELECT twtasks.import_tasks(''import'', NULL)');
SELECT pg_temp.refused('SELECT twtasks.import_tasks(NULL, ''[]'')');
SELECT pg_temp.refused('SELECT twtasks.compare_import(NULL)');
SELECT pg_temp.refused(format('SELECT twtasks.compare_import(%L)', t)) FROM unnest(ARRAY['{}', '3', '"x"', 'null', '[{"id": null}, null]']) t;
SELECT pg_temp.refused('SELECT twtasks.import_tasks(''import'', ''[3]'', dry_run => true)');

-- As psql shows it.
\set SHOW_CONTEXT never
SELECT * FROM twtasks.add_task('SEND EMAIL', '{"to": 7}');
SELECT * FROM twtasks.add_tasks('[{"type": "A"}, {"type": "B", "priority": 12}]'::jsonb);
