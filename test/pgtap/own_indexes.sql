--
-- add_task() writes the indexes of twtasks.task itself, and the indexes that an
-- administrator adds.  It has no SET search_path, so it pins the path where
-- other code runs.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(18);

-- The tasks of one type that a scan of one index finds, by their sub_type.
CREATE FUNCTION pg_temp.found(condition text) RETURNS text
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
	found text;
BEGIN
	EXECUTE 'SELECT string_agg(sub_type, '','' ORDER BY sub_type) FROM twtasks.task WHERE type = ''INDEXED'' AND ' || condition INTO found;
	RETURN found;
END $$;
CREATE FUNCTION pg_temp.plan_of(condition text) RETURNS SETOF text
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN SELECT sub_type FROM twtasks.task WHERE type = ''INDEXED'' AND ' || condition;
END $$;

SELECT twtasks.add_task('INDEXED', sub_type => 'a') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'INDEXED'), 1::bigint, 'the session has learned the indexes');

-- An index that came afterwards.
CREATE INDEX later ON twtasks.task (sub_type) WHERE sub_type IS NOT NULL;
SELECT twtasks.add_task('INDEXED', sub_type => 'b'), twtasks.add_task('INDEXED', sub_type => 'c', run_after => now() + interval '1 day') \g /dev/null
SELECT alike((SELECT string_agg(p, ' ') FROM pg_temp.plan_of($$sub_type IN ('a', 'b', 'c')$$) p), '%later%', 'the new index is used');
SELECT is(pg_temp.found($$sub_type IN ('a', 'b', 'c')$$), 'a,b,c', 'an index that came later has the new rows');
DROP INDEX twtasks.later;

-- Indexes that only the executor can write.
CREATE INDEX by_expression ON twtasks.task (lower(sub_type));
SELECT twtasks.add_task('INDEXED', sub_type => 'D') \g /dev/null
SELECT is(pg_temp.found($$lower(sub_type) = 'd'$$), 'D', 'an index of an expression has the new row');
DROP INDEX twtasks.by_expression;
CREATE INDEX by_condition ON twtasks.task (sub_type) WHERE priority < 3 AND queued;
SELECT twtasks.add_task('INDEXED', sub_type => 'e', priority => 1), twtasks.add_task('INDEXED', sub_type => 'f', priority => 4) \g /dev/null
SELECT is(pg_temp.found($$sub_type IN ('e', 'f') AND priority < 3 AND queued$$), 'e', 'an index with another condition has the new row');
DROP INDEX twtasks.by_condition;
CREATE INDEX in_json ON twtasks.task USING gin (data);
SELECT twtasks.add_task('INDEXED', '{"x": 1}', sub_type => 'g') \g /dev/null
SET LOCAL enable_seqscan = off;
SELECT is((SELECT sub_type FROM twtasks.task WHERE data @> '{"x": 1}' AND type = 'INDEXED'), 'g', 'a GIN index has the new row');
RESET enable_seqscan;
DROP INDEX twtasks.in_json;
CREATE UNIQUE INDEX only_once ON twtasks.task (sub_type) WHERE sub_type IS NOT NULL;
SELECT throws_ok($$SELECT twtasks.add_task('INDEXED', sub_type => 'g')$$, '23505', NULL, 'a unique index refuses a second row');
SELECT throws_ok($$SELECT count(*) FROM twtasks.add_tasks(jsonb_build_array(jsonb_build_object('type', 'INDEXED', 'sub_type', 'h'), jsonb_build_object('type', 'INDEXED', 'sub_type', 'h')))$$,
	'23505', NULL, '... also within a batch');
DROP INDEX twtasks.only_once;

-- Our own indexes, each by its condition.
SELECT twtasks.add_task('INDEXED', sub_type => 'i', expires => now() + interval '100 years') \g /dev/null
SELECT is(pg_temp.found($$expires > now() + interval '99 years'$$), 'i', 'the index of expiry has the task that expires');
SELECT is(pg_temp.found($$NOT queued AND next_event_time > now() + interval '1 hour'$$), 'c', 'the index of times has the task that waits');
SELECT is(pg_temp.found($$queued AND bucket = 'default'$$), 'D,a,b,e,f,g,i', 'the index of the queue has all others');

-- The path.
CREATE TABLE pg_temp.seen (path text);
CREATE FUNCTION pg_temp.note_path() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
	EXECUTE format('INSERT INTO pg_temp.seen VALUES (%L)', pg_catalog.current_setting('search_path'));
	RETURN NULL;
END $$;
GRANT ALL ON pg_temp.seen TO PUBLIC;
CREATE TRIGGER note AFTER INSERT ON twtasks.task FOR EACH ROW EXECUTE FUNCTION pg_temp.note_path();
SET LOCAL search_path = twtasks, public;
SELECT add_task('INDEXED') \g /dev/null
SELECT count(*) FROM add_tasks('INDEXED', ARRAY['{}'::jsonb]) \g /dev/null
SELECT pg_catalog.set_config('search_path', 'public', true) \g /dev/null
SELECT is((SELECT string_agg(DISTINCT path, ';') FROM pg_temp.seen), 'pg_catalog, pg_temp', 'a trigger runs with a pinned search_path');
SELECT is((SELECT count(*) FROM pg_temp.seen), 2::bigint, '... for each task');
SELECT is(current_setting('search_path'), 'public', 'the caller keeps its own path');
DROP TRIGGER note ON twtasks.task;
CREATE TRIGGER note AFTER INSERT ON twtasks.unique_key FOR EACH ROW EXECUTE FUNCTION pg_temp.note_path();
TRUNCATE pg_temp.seen;
SELECT twtasks.add_task('INDEXED', key => 'own_indexes') \g /dev/null
SELECT is((SELECT string_agg(path, ';') FROM pg_temp.seen), 'pg_catalog, pg_temp', 'so does a trigger on the keys');
SELECT is(current_setting('search_path'), 'public', '... and the caller keeps its own path');
DROP TRIGGER note ON twtasks.unique_key;
CREATE FUNCTION pg_temp.path_of(sub_type text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
	IF sub_type = 'looks' THEN
		PERFORM pg_catalog.set_config('test.path', pg_catalog.current_setting('search_path'), true);
	END IF;
	RETURN sub_type;
END $$;
CREATE INDEX by_function ON twtasks.task (pg_temp.path_of(sub_type));
SELECT twtasks.add_task('INDEXED', sub_type => 'looks') \g /dev/null
SELECT is(current_setting('test.path'), 'pg_catalog, pg_temp', 'so does a function of an index');
DROP INDEX twtasks.by_function;
CREATE TRIGGER note AFTER INSERT ON twtasks.task FOR EACH ROW
	WHEN (NEW.sub_type = pg_temp.path_of(NEW.sub_type)) EXECUTE FUNCTION pg_temp.note_path();
SELECT set_config('test.path', '', true) \g /dev/null
SELECT twtasks.add_task('INDEXED', sub_type => 'looks') \g /dev/null
SELECT is(current_setting('test.path'), 'pg_catalog, pg_temp', 'so does a function of the condition of a trigger');
SELECT * FROM finish();
ROLLBACK;
