--
-- Partitions of the history: how many days each of them has, so that there are never
-- too many, and when one of several days is dropped.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(41);
SET LOCAL timezone = 'Asia/Tokyo';
SET LOCAL datestyle = 'SQL, DMY';

CREATE FUNCTION pg_temp.keep(days integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION twtasks_internal.keep_finished() RETURNS interval
		LANGUAGE sql STABLE STRICT PARALLEL SAFE AS ''SELECT make_interval(hours => %s)''', days * 24);
END $$;
CREATE FUNCTION pg_temp.today() RETURNS date LANGUAGE sql AS $$ SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date $$;
-- Days from today on, and how many each partition has.
CREATE FUNCTION pg_temp.parts() RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(p.first - pg_temp.today() || '+' || p.past - p.first, ' ' ORDER BY p.first) FROM twtasks_internal.history_parts() p $$;
SELECT format('DROP TABLE twtasks.%I', name) FROM twtasks_internal.history_parts() \gexec

-- For how long one is made.
SAVEPOINT kept;
CREATE FUNCTION pg_temp.days_kept(days integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.keep(days);
	EXECUTE 'SELECT twtasks_internal.end_of_part(''2000-01-01'') - date ''2000-01-01''' INTO days;
	RETURN days;
END $$;
SELECT is(pg_temp.days_kept(x.kept), x.days, format('history that is kept for %s days has partitions of %s', x.kept, x.days))
FROM (VALUES (30, 1), (400, 1), (401, 7), (2800, 7), (2801, 28)) x(kept, days);
SELECT cmp_ok(x.kept / pg_temp.days_kept(x.kept), '<=', 400, format('so there are at most 400 for %s days', x.kept))
FROM unnest('{400,2800,11000}'::integer[]) x(kept);

-- Weeks follow the days that are there, and fill gaps.
SELECT pg_temp.keep(30);
SELECT is(twtasks_internal.make_partitions(3), 4, 'days are made');
SELECT pg_temp.keep(1000);
SELECT is(twtasks_internal.make_partitions(3), 0, 'none is missing when history is kept for longer');
SELECT is(twtasks_internal.make_partitions(13), 2, 'weeks follow');
SELECT is(pg_temp.parts(), '0+1 1+1 2+1 3+1 4+7 11+7', 'one after the other');
SELECT format('DROP TABLE twtasks.%I, twtasks.%I', max(name) FILTER (WHERE first = pg_temp.today() + 1), max(name) FILTER (WHERE first = pg_temp.today() + 2))
FROM twtasks_internal.history_parts() \gexec
SELECT is(twtasks_internal.make_partitions(13), 1, 'a gap is filled');
SELECT is(pg_temp.parts(), '0+1 1+2 3+1 4+7 11+7', 'up to the next partition');

ROLLBACK TO kept;

-- A week is dropped when its last day is old, with the keys of all of its days.
SELECT twtasks_internal.make_part('2020-01-01', '2020-01-08') \g /dev/null
SELECT pg_temp.task_in('DONE', pg_temp.id(1)) \g /dev/null
UPDATE twtasks.finished_task SET state_time = '2020-01-07 23:59:59+00' WHERE id = pg_temp.id(1);
INSERT INTO twtasks.unique_key (task_id) VALUES (pg_temp.id(1)) ON CONFLICT DO NOTHING;
CREATE FUNCTION pg_temp.clean(at timestamptz) RETURNS text LANGUAGE sql
AS $$ SELECT twtasks_internal.clean_older(twtasks.clock() - at) $$;
SELECT is(pg_temp.clean('2020-01-07 23:00+00'), NULL, 'a week stays until its last day is old');
SELECT is(pg_temp.clean('2020-01-08 00:01+00'), 'finished_task_20200101_7', 'then it is dropped');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(1)), 0::bigint, 'with the keys of its last day');
SELECT is((SELECT count(*) FROM twtasks_internal.history_parts() WHERE first = '2020-01-01'), 0::bigint, 'and is gone');

-- A large default partition becomes the partition of its days, once they are past.
SAVEPOINT small;
SELECT format('DROP TABLE twtasks.%I', name) FROM twtasks_internal.history_parts() \gexec
CREATE FUNCTION pg_temp.finish_in_default(n integer, days_ago integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.task_in('DONE', pg_temp.id(n));
	UPDATE twtasks.finished_task SET state_time = (pg_temp.today()::timestamp + interval '12 h') AT TIME ZONE 'UTC' - make_interval(days => days_ago) WHERE id = pg_temp.id(n);
END $$;
CREATE FUNCTION pg_temp.make_large() RETURNS void LANGUAGE sql AS $$ UPDATE pg_class SET relpages = 12801 WHERE oid = 'twtasks.finished_task_other'::regclass $$;
CREATE FUNCTION pg_temp.place_of(n integer) RETURNS text LANGUAGE sql
AS $$ SELECT regexp_replace(f.tableoid::regclass::text, '[0-9]{8}', 'DAY') FROM twtasks.finished_task f WHERE f.id = pg_temp.id(n) $$;
CREATE FUNCTION pg_temp.large() RETURNS SETOF text LANGUAGE sql AS $$ SELECT w.detail FROM twtasks.warnings w WHERE w.warning = 'large default partition' $$;
SELECT pg_temp.finish_in_default(11, 5), pg_temp.finish_in_default(12, 2) \g /dev/null
SELECT is(twtasks_internal.make_partitions(3), 4, 'beside a small one all days are made');
SELECT is(pg_temp.place_of(11), 'twtasks.finished_task_other', '... and its rows stay in it');
SELECT is_empty('SELECT pg_temp.large()', '... and nobody warns');
SELECT format('DROP TABLE twtasks.%I', name) FROM twtasks_internal.history_parts() \gexec
SELECT pg_temp.make_large();
SELECT matches(pg_temp.large(), '^twtasks.finished_task_other has 100 MB, ', 'a large one is in the warnings');
SELECT pg_temp.finish_in_default(13, 0) \g /dev/null
SELECT is(twtasks_internal.make_partitions(3), 1, 'beside a large one with a row of today, one call makes one');
SELECT is(pg_temp.parts(), '1+1', '... of the next day');
DELETE FROM twtasks.finished_task WHERE id = pg_temp.id(13);
SELECT is(twtasks_internal.make_partitions(3), 3, 'when its days are past, all that are missing are made');
SELECT is(pg_temp.parts(), '-5+4 0+1 1+1 2+1 3+1', '... and it has its days');
SELECT is(pg_temp.place_of(11) || ' ' || pg_temp.place_of(12), 'twtasks.finished_task_DAY_4 twtasks.finished_task_DAY_4', '... with its rows');
SELECT is_empty('SELECT pg_temp.large()', '... and the warning is gone');
SELECT pg_temp.finish_in_default(16, 7), pg_temp.make_large() \g /dev/null
SELECT is(twtasks_internal.make_partitions(3), 0, 'while no day is missing, nobody reads a large one');
SELECT is(pg_temp.place_of(16), 'twtasks.finished_task_other', '... and it stays as it is');
SELECT pg_temp.finish_in_default(14, 40), pg_temp.make_large() \g /dev/null
SELECT is(twtasks_internal.make_partitions(4), 1, 'more than 28 days keep it as it is');
SELECT is(pg_temp.place_of(14), 'twtasks.finished_task_other', '... with its rows');
DELETE FROM twtasks.finished_task WHERE id = pg_temp.id(14);
SELECT pg_temp.finish_in_default(15, 1), pg_temp.make_large() \g /dev/null
SELECT is(twtasks_internal.make_partitions(5), 1, 'so does a day in between that has a partition');
SELECT is(pg_temp.place_of(16), 'twtasks.finished_task_other', '... with its rows');
ROLLBACK TO small;

-- A restore without owners gives the parts to the role that restores.
CREATE ROLE regress_restorer;
GRANT CREATE ON SCHEMA twtasks TO regress_restorer;
SELECT twtasks_internal.make_partitions(0) \g /dev/null
SELECT format('ALTER TABLE %s OWNER TO regress_restorer', inhrelid::regclass) FROM pg_inherits WHERE inhparent = 'twtasks.finished_task'::regclass \gexec
SELECT cmp_ok(twtasks_internal.make_partitions(30), '>', 0, 'partitions are made beside those of another owner');
UPDATE pg_class SET relpages = 12801 WHERE oid = 'twtasks.finished_task_other'::regclass;
SELECT cmp_ok(twtasks_internal.make_partitions(31), '>', 0, '... also beside a large default one');
SELECT twtasks_internal.make_part('2020-01-01', '2020-01-08') \g /dev/null
SELECT format('ALTER TABLE %s OWNER TO regress_restorer', 'twtasks.finished_task_20200101_7') \gexec
SELECT pg_temp.task_in('DONE', pg_temp.id(3)) \g /dev/null
UPDATE twtasks.finished_task SET state_time = '2019-01-01 00:00+00' WHERE id = pg_temp.id(3);
SELECT is(pg_temp.clean('2020-01-08 00:01+00'), 'finished_task_20200101_7', 'their days are dropped');
SELECT is(pg_temp.clean('2020-01-08 00:01+00'), NULL, 'and no more days are old');
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE id = pg_temp.id(3)), 0::bigint, 'so is what has no day');

-- A dump of version 1.0 brings days, and perhaps neither today nor a default partition.
SELECT format('DROP TABLE %s', inhrelid::regclass) FROM pg_inherits WHERE inhparent = 'twtasks.finished_task'::regclass \gexec
SELECT twtasks_internal.make_part('2020-01-01', '2020-01-02') \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(2)) \g /dev/null
SELECT is((twtasks.finish_task(pg_temp.id(2), pg_temp.version_of(pg_temp.id(2)))).result, 'changed', 'a task finishes without a partition for it');
SELECT is((SELECT tableoid::regclass::text ~ '_other$' FROM twtasks.finished_task WHERE id = pg_temp.id(2)), false, 'in the partition of its day');
SELECT * FROM finish();
ROLLBACK;
