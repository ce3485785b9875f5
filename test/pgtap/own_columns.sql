--
-- Columns that users add to our tables get what a statement would give them, in
-- every way that a row is written.  Attributes that they add to our types are
-- null.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/statements.sql
SELECT plan(33);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;

-- Adds a task in each way.
CREATE FUNCTION pg_temp.add_all() RETURNS void
LANGUAGE sql
AS $$
	SELECT twtasks.add_task('ALONE', sub_type => 'x'), twtasks.add_task('NAMED', task_id => gen_random_uuid(), sub_type => 'x');
	SELECT count(*) FROM twtasks.add_tasks(ARRAY(SELECT jsonb_populate_record(NULL::twtasks.new_task, '{"type": "MANY", "sub_type": "x"}') FROM generate_series(1, 3)));
$$;

-- ---- The live table ----
SELECT pg_temp.add_all() \g /dev/null
CREATE SEQUENCE app.numbers;
GRANT USAGE ON SEQUENCE app.numbers TO twtasks_owner;	-- as for INSERT by our functions
CREATE DOMAIN app.small AS integer DEFAULT 3 CHECK (VALUE < 1000);
ALTER TABLE twtasks.task
	ADD note text,
	ADD must text NOT NULL DEFAULT 'given',
	ADD doubled integer GENERATED ALWAYS AS (tries * 2 + priority) STORED,
	ADD home boolean GENERATED ALWAYS AS (tableoid = 'twtasks.task'::regclass) STORED,
	ADD n bigint GENERATED ALWAYS AS IDENTITY,
	ADD turn bigint NOT NULL DEFAULT nextval('app.numbers'),
	ADD small app.small,
	ADD gone integer NOT NULL DEFAULT 1;
ALTER TABLE twtasks.task DROP gone;
SELECT pg_temp.add_all() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task WHERE note IS NULL AND must = 'given' AND doubled = 5 AND home AND n IS NOT NULL AND turn IS NOT NULL AND small = 3),
	10::bigint, 'each way to add fills foreign columns');
SELECT is((SELECT count(DISTINCT n) || ' ' || count(DISTINCT turn) FROM twtasks.task), '10 10', 'each row has its own number');
UPDATE twtasks.task SET note = 'kept' WHERE type = 'ALONE';
SELECT is(pg_temp.grab_all(), 10::bigint, 'all are grabbed');
SELECT is((SELECT array_agg(DISTINCT doubled) FROM twtasks.task WHERE home), '{7}', 'a grab computes a generated column');
SELECT is((SELECT array_agg(DISTINCT note || doubled) FROM twtasks.task WHERE type = 'ALONE'), '{kept7}', 'a foreign value stays');
SELECT is(pg_temp.finish_all('done'), 10::bigint, 'all are done');
SELECT is((SELECT count(*) FROM twtasks.finished_task), 10::bigint, 'the history has them');
ALTER TABLE twtasks.task DROP note, DROP must, DROP doubled, DROP home, DROP n, DROP turn, DROP small;
SELECT pg_temp.add_all() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task), 5::bigint, 'dropped columns are no trouble');
SELECT is(pg_temp.grab_all(), 5::bigint, 'nor for a grab');
SELECT is(pg_temp.finish_all('done'), 5::bigint, 'nor for a finish');

-- A value that INSERT refuses is refused.
CREATE DOMAIN app.never_null AS integer CHECK (VALUE IS NOT NULL);
CREATE FUNCTION pg_temp.refusals(change text) RETURNS SETOF text
LANGUAGE sql
AS $$
	SELECT pg_temp.said('TRUNCATE twtasks.task; ' || change || $x$; SELECT twtasks.add_task('A')$x$) UNION ALL
	SELECT pg_temp.said('TRUNCATE twtasks.task; ' || change || $x$; SELECT twtasks.add_task('A', task_id => gen_random_uuid())$x$) UNION ALL
	SELECT pg_temp.said('TRUNCATE twtasks.task; ' || change || $x$; SELECT count(*) FROM twtasks.add_tasks('[{"type": "A"}, {"type": "A"}]'::jsonb)$x$)
$$;
SELECT is((SELECT array_agg(DISTINCT x) FROM pg_temp.refusals('ALTER TABLE twtasks.task ADD must text NOT NULL') x),
	'{"23502 null value in column \"must\" of relation \"task\" violates not-null constraint"}', 'a column NOT NULL without a default is obeyed');
SELECT is((SELECT array_agg(DISTINCT x) FROM pg_temp.refusals('ALTER TABLE twtasks.task ALTER sub_type SET NOT NULL') x),
	'{"23502 null value in column \"sub_type\" of relation \"task\" violates not-null constraint"}', 'so is NOT NULL on a column of ours');
SELECT is((SELECT array_agg(DISTINCT x) FROM pg_temp.refusals('ALTER TABLE twtasks.task ADD never app.never_null') x),
	'{"23514 value for domain app.never_null violates check constraint \"never_null_check\""}', 'so is the check of a domain');
SELECT is((SELECT array_agg(DISTINCT x) FROM pg_temp.refusals('ALTER TABLE twtasks.task ADD ratio integer GENERATED ALWAYS AS (1 / tries) STORED') x),
	'{"22012 division by zero"}', 'so is an error of a generated column');
SELECT is(pg_temp.said($$
	SELECT twtasks.add_task('A');
	ALTER TABLE twtasks.task ADD ratio integer GENERATED ALWAYS AS (1 / (1 - tries)) STORED;
	SELECT pg_temp.grab_all()$$), '22012 division by zero', 'also by a grab');
SELECT is(pg_temp.said($$ALTER TABLE twtasks.task ALTER sub_type SET NOT NULL; SELECT twtasks.add_task('A', sub_type => 'x'), pg_temp.grab_all()$$), 'ok', 'a value passes');

-- ---- The history ----
-- Its columns come after a foreign one, as in a part that was attached.
CREATE FUNCTION pg_temp.finish_one() RETURNS uuid
LANGUAGE sql
AS $$ SELECT pg_temp.task_in('DONE') $$;
SELECT twtasks_internal.make_partitions(1) \g /dev/null
SELECT lives_ok('SELECT pg_temp.finish_one()', 'a task is done');
ALTER TABLE twtasks.finished_task ADD note text;
SELECT lives_ok('SELECT pg_temp.finish_one()', 'a foreign column of the history is no trouble');
SELECT is((SELECT count(note) FROM twtasks.finished_task), 0::bigint, 'it is null');
ALTER TABLE twtasks.finished_task
	ADD grade integer NOT NULL DEFAULT 7,
	ADD doubled bigint GENERATED ALWAYS AS (version * 2) STORED,
	ADD turn bigint DEFAULT nextval('app.numbers'),
	ADD small app.small;
CREATE TEMPORARY TABLE done AS SELECT pg_temp.finish_one() AS id FROM generate_series(1, 3);
INSERT INTO done SELECT pg_temp.task_in('FAILED') FROM generate_series(1, 2);
SELECT is((SELECT count(*) FROM twtasks.finished_task JOIN done USING (id) WHERE grade = 7 AND doubled = version * 2 AND turn IS NOT NULL AND small = 3),
	5::bigint, 'each way to end a task fills foreign columns');
SELECT is((SELECT count(DISTINCT turn) FROM twtasks.finished_task JOIN done USING (id)), 5::bigint, 'each row has its own value');
SELECT is((SELECT array_agg(DISTINCT message IS NULL) FROM twtasks.finished_task WHERE type = 'TEST'), '{t}', 'our columns are in their places');
ALTER TABLE twtasks.finished_task DROP note, DROP doubled, DROP small;
SELECT lives_ok('SELECT pg_temp.finish_one()', 'dropped columns are no trouble');

-- A part whose columns have another order.
DO $$
DECLARE
	part name := (SELECT tableoid::regclass FROM twtasks.finished_task WHERE type = 'TEST' LIMIT 1);
	bounds text := (SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = part::regclass);
	columns text := (SELECT string_agg(format('%I %s %s %s', attname, format_type(atttypid, atttypmod), CASE WHEN attcollation = '"C"'::regcollation THEN 'COLLATE "C"' END,
		CASE WHEN attnotnull THEN 'NOT NULL' END), ', ' ORDER BY attname DESC)
		FROM pg_attribute WHERE attrelid = 'twtasks.finished_task'::regclass AND attnum > 0 AND NOT attisdropped);
BEGIN
	EXECUTE format('CREATE TABLE app.part (%s)', columns);
	EXECUTE format('ALTER TABLE twtasks.finished_task DETACH PARTITION %s', part);
	EXECUTE format('ALTER TABLE twtasks.finished_task ATTACH PARTITION app.part %s', bounds);
END $$;
SELECT lives_ok('SELECT pg_temp.finish_one()', 'a part may have another order');
SELECT is((SELECT (type, status, grade, tries, turn IS NOT NULL)::text FROM app.part), '(TEST,DONE,7,1,t)', 'each value is in its column, with the defaults of the whole');
TRUNCATE twtasks.finished_task;
ALTER TABLE twtasks.finished_task DROP grade;
SELECT pg_temp.finish_one() \g /dev/null
SELECT is((SELECT turn IS NOT NULL FROM app.part), true, '... also where the part itself wants nothing');
TRUNCATE twtasks.finished_task;
ALTER TABLE twtasks.finished_task ALTER message SET NOT NULL;
SELECT throws_ok('SELECT pg_temp.finish_one()', '23502', NULL, 'NOT NULL is obeyed');
ALTER TABLE twtasks.finished_task ALTER message DROP NOT NULL;

-- ---- Our columns ----
ALTER TABLE twtasks.pause ADD note text NOT NULL DEFAULT 'x';
ALTER TABLE twtasks.node ADD note text NOT NULL DEFAULT 'x';
SELECT lives_ok('SELECT pg_temp.finish_one()', 'further columns there are no trouble');

-- ---- Our types ----
CREATE FUNCTION app.works(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql SECURITY DEFINER
AS $$
DECLARE
	answer twtasks.task_result;
BEGIN
	answer.message := task.type || coalesce(to_jsonb(task)->>'note', ' nothing');
	RETURN answer;
END $$;
CREATE FUNCTION app.changes(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	task.sub_type := 'changed';
	RETURN task;
END $$;
CREATE TABLE app.heard (task jsonb);
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO app.heard SELECT to_jsonb(t) FROM unnest(tasks) t $$;
SELECT twtasks.configure_type('SQL', intercept => 'app.changes', on_end => 'app.hears') \g /dev/null
CREATE FUNCTION pg_temp.run_one() RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT task_id FROM twtasks.add_tasks(ARRAY[jsonb_populate_record(NULL::twtasks.new_task, '{"type": "SQL"}')]));
BEGIN
	ids := ids || (twtasks.add_task('SQL')).task_id;
	PERFORM twtasks_internal.execute_tasks('app.works', NULL, ids, '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}');
	RETURN (SELECT string_agg(concat_ws(' ', sub_type, message, status, error), ',') FROM twtasks.tasks WHERE id = ANY (ids));
END $$;
SELECT is(pg_temp.run_one(), 'changed SQL nothing DONE,changed SQL nothing DONE', 'tasks run');
ALTER TYPE twtasks.task_input ADD ATTRIBUTE note text;
ALTER TYPE twtasks.new_task ADD ATTRIBUTE note text;
ALTER TYPE twtasks.added_task ADD ATTRIBUTE note text;
ALTER TYPE twtasks.task_result ADD ATTRIBUTE note text;
ALTER TYPE twtasks.ended_task ADD ATTRIBUTE note text;
SELECT is(pg_temp.run_one(), 'changed SQL nothing DONE,changed SQL nothing DONE', 'tasks run with further attributes of all types');
SELECT is((SELECT count(*) || ' ' || count(task->>'note') FROM app.heard), '4 0', 'the functions for the end heard of them, with null');
ALTER TYPE twtasks.task_input DROP ATTRIBUTE note;
ALTER TYPE twtasks.new_task DROP ATTRIBUTE note;
ALTER TYPE twtasks.added_task DROP ATTRIBUTE note;
ALTER TYPE twtasks.task_result DROP ATTRIBUTE note;
ALTER TYPE twtasks.ended_task DROP ATTRIBUTE note;
SELECT is(pg_temp.run_one(), 'changed SQL nothing DONE,changed SQL nothing DONE', 'tasks run after these attributes were dropped');
SELECT is(pg_temp.said('ALTER TYPE twtasks.added_task ADD ATTRIBUTE place tid; SELECT twtasks.add_task($$A$$, task_id => gen_random_uuid())'), 'ok', 'add_task() answers');

SELECT * FROM finish();
ROLLBACK;
