--
-- attempts.sql -- see attempts, which runs it.
--
SET client_min_messages = error;
SELECT twtasks_internal.start_node('bench') AS node \gset
SELECT set_config('bench.node', :'node', false), set_config('bench.tasks', :'tasks', false),
	set_config('bench.rounds', :'rounds', false) \g /dev/null
CREATE TEMPORARY SEQUENCE token;
SELECT twtasks.configure_type('A', retry => '[{"delay": "1h", "max_tries": 1000}]') \g /dev/null

-- Nanoseconds of this process on a processor.
CREATE FUNCTION pg_temp.spent() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

-- Tries of fresh tasks; the last one ends with that result, those before with retry.
CREATE PROCEDURE pg_temp.measure(name text, result text, tries integer)
LANGUAGE plpgsql
AS $$
DECLARE
	batch CONSTANT integer := 200;
	node CONSTANT bigint := current_setting('bench.node');
	ids uuid[];
	part uuid[];
	since bigint;
	grabs bigint;
	finishes bigint;
	asked text;
BEGIN
	TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
	SELECT array_agg(a.task_id) INTO ids
	FROM twtasks.add_tasks('A', array_fill('{}'::jsonb, ARRAY[current_setting('bench.tasks')::integer])) a;
	COMMIT;
	FOR try IN 1 .. tries LOOP
		grabs := 0;
		finishes := 0;
		asked := CASE try WHEN tries THEN result ELSE 'retry' END;
		FOR lower IN 1 .. cardinality(ids) BY batch LOOP
			part := ids[lower : lower + batch - 1];
			since := pg_temp.spent();
			PERFORM twtasks_internal.grab_tasks(part, array_fill(((try - 1) * 3)::bigint, ARRAY[cardinality(part)]), node, nextval('token'), '{60000}', '{error}');
			COMMIT;
			grabs := grabs + pg_temp.spent() - since;
			since := pg_temp.spent();
			PERFORM twtasks_internal.finish_tasks(part, array_fill(((try - 1) * 3 + 1)::bigint, ARRAY[cardinality(part)]),
				array_fill(asked, ARRAY[cardinality(part)]), array_fill(3600000::bigint, ARRAY[cardinality(part)]),
				array_fill(CASE asked WHEN 'done' THEN NULL ELSE 'the bank does not answer' END, ARRAY[cardinality(part)]), node, nextval('token'));
			COMMIT;
			finishes := finishes + pg_temp.spent() - since;
		END LOOP;
		ASSERT (SELECT count(*) FROM twtasks.tasks t WHERE t.version = try * 3 - 1) = cardinality(ids), 'all tries have ended';
		IF try < tries THEN
			UPDATE twtasks.task t SET status = 'SUBMITTED', version = t.version + 1, queued = true;
			COMMIT;
		END IF;
	END LOOP;
	RAISE NOTICE '%: grab % us, finish % us', name,
		round(grabs / 1000.0 / cardinality(ids), 3), round(finishes / 1000.0 / cardinality(ids), 3);
END $$;

SET client_min_messages = notice;
SELECT format('CALL pg_temp.measure(%L, %L, %s);', w.name, w.result, w.tries)
FROM generate_series(1, current_setting('bench.rounds')::integer) r,
	(VALUES (1, 'done', 'done', 1), (2, 'error', 'error', 1), (3, 'retry', 'retry', 1), (4, 'again', 'retry', 4)) w(place, name, result, tries)
ORDER BY r, w.place \gexec
