--
-- Nothing that a task carried is left in any table once the task is deleted, cleared or
-- too old: not in its row, not beside it, and not in the storage of large values.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(22);
SET LOCAL bytea_output = 'escape';

CREATE FUNCTION pg_temp.own_tables() RETURNS SETOF pg_class LANGUAGE sql
AS $$ SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname ~ '^twtasks' AND c.relkind IN ('r', 'm') $$;

CREATE FUNCTION pg_temp.count_rows(relation regclass, condition text) RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE
	found bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM ONLY %s r WHERE %s', relation, condition) INTO found;
	RETURN found;
END $$;

-- How many rows of all tables have a word in any column.
CREATE FUNCTION pg_temp.rows_with(word text) RETURNS bigint LANGUAGE sql
AS $$ SELECT sum(pg_temp.count_rows(oid, format('strpos(r::text, %L) > 0', word)))::bigint FROM pg_temp.own_tables() $$;

-- How many pieces of large values all tables have.
CREATE FUNCTION pg_temp.pieces() RETURNS bigint LANGUAGE sql
AS $$ SELECT sum(pg_temp.count_rows(reltoastrelid, 'true'))::bigint FROM pg_temp.own_tables() WHERE reltoastrelid <> 0 $$;

-- Adds a task that carries a word in all places, twice in so many bytes that they are
-- stored apart.
CREATE FUNCTION pg_temp.add_carrier(n integer, type text) RETURNS uuid LANGUAGE sql
AS $$
	SELECT a.task_id
	FROM (SELECT string_agg(md5(i::text), '') AS noise FROM generate_series(1, 1000) i) l
	CROSS JOIN LATERAL twtasks.add_task(type, jsonb_build_object('d', 'canary-of-data ' || noise), key => 'canary-of-key ' || n,
										task_id => pg_temp.id(n), context => '{"c": "canary-of-context"}', payload => convert_to('canary-of-payload ' || noise, 'UTF8')) a
$$;
SELECT twtasks.configure_type('DELETE', when_done => 'delete'), twtasks.configure_type('CLEAR', when_done => 'clear') \g /dev/null
SELECT is(pg_temp.rows_with('canary'), 0::bigint, 'no table has the word yet');
SELECT pg_temp.pieces() AS before \gset

-- ---- deleted ----
SELECT pg_temp.add_carrier(1, 'DELETE') \g /dev/null
SELECT cmp_ok(pg_temp.rows_with('canary-of-data'), '>', 0::bigint, 'a task carries it');
SELECT cmp_ok(pg_temp.rows_with('canary-of-payload'), '>', 0::bigint, 'its payload is found');
SELECT cmp_ok(pg_temp.pieces(), '>', :'before'::bigint, 'large values are stored apart');
SELECT pg_temp.grab(pg_temp.id(1)), pg_temp.finish(pg_temp.id(1), 'done') \g /dev/null
SELECT is(pg_temp.rows_with('canary'), 0::bigint, 'a task that is deleted when it is done leaves nothing in any table');
SELECT is(pg_temp.pieces(), :'before'::bigint, 'its large values are gone');
SELECT pg_temp.add_carrier(2, 'KEPT') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(2)), pg_temp.finish(pg_temp.id(2), 'delete') \g /dev/null
SELECT is(pg_temp.rows_with('canary'), 0::bigint, 'nor does one whose handler deletes it');
SELECT is(pg_temp.pieces(), :'before'::bigint, 'its large values are gone as well');

-- ---- cleared ----
SELECT pg_temp.add_carrier(3, 'CLEAR') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(3)), pg_temp.finish(pg_temp.id(3), 'done') \g /dev/null
SELECT is(pg_temp.rows_with('canary-of-data'), 0::bigint, 'a task that is cleared leaves no data in any table');
SELECT is(pg_temp.rows_with('canary-of-payload'), 0::bigint, 'nor a payload');
SELECT is(pg_temp.pieces(), :'before'::bigint, 'nor their large values');
SELECT cmp_ok(pg_temp.rows_with('canary-of-context'), '>', 0::bigint, 'its context stays');

-- ---- too old ----
SELECT pg_temp.add_carrier(4, 'KEPT'), pg_temp.add_carrier(5, 'KEPT'), pg_temp.add_carrier(6, 'KEPT') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(4)), pg_temp.finish(pg_temp.id(4), 'done') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(5)), pg_temp.finish(pg_temp.id(5), 'error', message => 'away') \g /dev/null
SELECT pg_temp.change('fail', pg_temp.id(5), 2), pg_temp.change('cancel', pg_temp.id(6), 0) \g /dev/null
SELECT is((SELECT string_agg(status::text, ' ' ORDER BY id) FROM twtasks.finished_task), 'DONE DONE FAILED CANCELLED', 'tasks end in each way');
SELECT cmp_ok(pg_temp.rows_with('canary-of-payload'), '>=', 3::bigint, 'the history keeps what they carried');
UPDATE twtasks.finished_task SET state_time = state_time - interval '2 days';
SELECT twtasks_internal.clean_older('1 day') FROM generate_series(1, 3) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.finished_task), 0::bigint, 'the history is clean');
SELECT is(pg_temp.rows_with('canary-of-data') + pg_temp.rows_with('canary-of-payload') + pg_temp.rows_with('canary-of-context'), 0::bigint, 'no table has what they carried');
SELECT is(pg_temp.rows_with('canary-of-key'), 0::bigint, 'no table has their keys');
SELECT is(pg_temp.pieces(), :'before'::bigint, 'their large values are gone');

-- ---- too old, in a partition of their own, which is dropped ----
SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - 4 AS day \gset
SELECT twtasks_internal.make_part(:'day', :'day'::date + 1) \g /dev/null
SELECT pg_temp.add_carrier(7, 'KEPT'), pg_temp.add_carrier(8, 'KEPT') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(7)), pg_temp.finish(pg_temp.id(7), 'done'), pg_temp.change('cancel', pg_temp.id(8), 0) \g /dev/null
UPDATE twtasks.finished_task SET state_time = (:'day'::date + time '12:00') AT TIME ZONE 'UTC';
SELECT 'finished_task_' || to_char(:'day'::date, 'YYYYMMDD') AS part \gset
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE tableoid = ('twtasks.' || :'part')::regclass), 2::bigint, 'two tasks are in the partition of a day');
SELECT is(twtasks_internal.clean_older('1 day'), :'part', 'the day is dropped');
SELECT is(pg_temp.rows_with('canary'), 0::bigint, 'no table has what they carried, or their keys');
SELECT is(pg_temp.pieces(), :'before'::bigint, 'nor has the storage of large values');
SELECT * FROM finish();
ROLLBACK;
