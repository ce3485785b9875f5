--
-- ANALYZE reads few rows of the tables that grow with the history, since its snapshot
-- keeps the table of live tasks from reusing its room.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(8);

-- The targets of a partition: of how many columns each is, -1 for the server's default.
CREATE FUNCTION pg_temp.targets(part text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(target || ': ' || array_to_string(columns, ' '), '; ' ORDER BY target)
	FROM (SELECT coalesce(a.attstattarget, -1)::integer,
				CASE WHEN a.attstattarget = 10 THEN '{the others}' ELSE array_agg(a.attname::text ORDER BY a.attname) END
		  FROM pg_attribute a
		  WHERE a.attrelid = ('twtasks.' || part)::regclass AND a.attnum > 0 AND NOT a.attisdropped
		  GROUP BY a.attstattarget) x(target, columns)
$$;
CREATE FUNCTION pg_temp.make(first date, past date, whole text) RETURNS void LANGUAGE sql
AS $$ SELECT twtasks_internal.make_part(first, past, whole) $$;

SELECT is(pg_temp.targets('unique_key'), '10: the others', 'keys have small samples');
SELECT pg_temp.make('2020-01-01', '2020-01-02', whole) FROM unnest('{finished_task,task_attempt}'::text[]) whole \g /dev/null
SELECT is(pg_temp.targets(whole || '_20200101'), '10: the others', format('a partition of %s has small samples', whole))
FROM unnest('{finished_task,task_attempt}'::text[]) whole;

-- An administrator's target of the whole counts for all partitions.
ALTER TABLE twtasks.finished_task ALTER COLUMN type SET STATISTICS 300, ALTER COLUMN data SET STATISTICS 0;
SELECT pg_temp.make('2020-01-02', '2020-01-03', 'finished_task') \g /dev/null
SELECT is(pg_temp.targets('finished_task_' || day), '0: data; 10: the others; 300: type', format('targets of the whole count in %s', day))
FROM unnest('{20200101,20200102}'::text[]) day;
ALTER TABLE twtasks.finished_task ALTER COLUMN type SET STATISTICS -1, ALTER COLUMN data SET STATISTICS -1;
SELECT pg_temp.make('2020-01-03', '2020-01-04', 'finished_task') \g /dev/null
SELECT is(pg_temp.targets('finished_task_20200103'), '10: the others', 'without them new partitions have small samples again');

-- A histogram has one value more than the target.
INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket)
SELECT md5(n::text)::uuid, 2, timestamptz '2020-01-03 00:00Z' + n * interval '1 second', '2020-01-03 00:00Z', 'DONE', 1, 5, 'T', 'a'
FROM generate_series(1, 4000) n;
ANALYZE twtasks.finished_task_20200103;
SELECT is(array_length(histogram_bounds::text::timestamptz[], 1), 11, 'ANALYZE obeys')
FROM pg_stats WHERE schemaname = 'twtasks' AND tablename = 'finished_task_20200103' AND attname = 'state_time';
SELECT is((SELECT n_distinct FROM pg_stats WHERE tablename = 'finished_task_20200103' AND attname = 'id'), -1::real, '... and knows that ids are unique');

ROLLBACK;
