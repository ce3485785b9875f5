--
-- The room of finished tasks serves new ones before any VACUUM, so that the table
-- of a busy queue stays small.
--
\ir ../lib/tasks.sql
SELECT plan(4);

ALTER TABLE twtasks.task SET (autovacuum_enabled = off);
SELECT pg_temp.node() \g /dev/null
VACUUM FULL twtasks.task;

-- As often as told, a thousand tasks are added, grabbed and finished.
CREATE PROCEDURE pg_temp.pass(times integer) LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[];
BEGIN
	FOR i IN 1 .. times LOOP
		ids := ARRAY(SELECT t.task_id FROM generate_series(1, 1000) n CROSS JOIN LATERAL twtasks.add_task('V', jsonb_build_object('n', n, 'text', repeat('x', 100))) t);
		COMMIT;
		PERFORM twtasks_internal.grab_tasks(ids, array_fill(0::bigint, ARRAY[1000]), pg_temp.node(), pg_temp.token(), array_fill(60000::bigint, ARRAY[1000]),
			array_fill('error'::twtasks.stuck_rule, ARRAY[1000]));
		COMMIT;
		PERFORM twtasks_internal.finish_tasks(ids, array_fill(1::bigint, ARRAY[1000]), array_fill('done'::text, ARRAY[1000]), array_fill(0::bigint, ARRAY[1000]),
			array_fill(NULL::text, ARRAY[1000]), pg_temp.node(), pg_temp.token());
		COMMIT;
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.pages() RETURNS bigint LANGUAGE sql AS $$ SELECT pg_relation_size('twtasks.task') / current_setting('block_size')::integer $$;

CALL pg_temp.pass(1);
CREATE TEMPORARY TABLE size AS SELECT pg_temp.pages() AS of_one;
CALL pg_temp.pass(20);
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE type = 'V'), 21000::bigint, 'all tasks have passed');
SELECT is((SELECT count(*) FROM twtasks.task), 0::bigint, 'none is left');
SELECT CASE (twtasks.edition()).edition WHEN 'c' THEN cmp_ok(pg_temp.pages(), '<', 6 * of_one, 'twenty times as many tasks take no twenty times as many pages')
	ELSE skip('only the library tells where rows have left', 1) END FROM size;

-- The table ends before pages that the session has noted.
TRUNCATE twtasks.task;
CALL pg_temp.pass(1);
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE type = 'V'), 22000::bigint, 'tasks pass through a table that was emptied');

ALTER TABLE twtasks.task RESET (autovacuum_enabled);
SELECT * FROM finish();
